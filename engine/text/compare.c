/* What makes two tokenizers the same, or different. */
#include <stdio.h>
#include <string.h>

#include "engine/text/object.h"

static struct ks_hash hash_str(struct ks_hash h, const char *bytes, size_t len)
{
    return ks_hash_join(h, ks_hash_bytes(bytes, len));
}

/* BPE's ids do not depend on scores, which some files have and others leave out. */
struct ks_hash ks_tokenizer_hash(const struct ks_tokenizer *t)
{
    const struct ks_vocab *v = &t->v;
    int32_t ids[] = {v->bos, v->eos, v->unk, v->add_bos, v->add_eos, v->add_space_prefix};
    struct ks_hash h = ks_hash_bytes(t->kind, strlen(t->kind));
    for (size_t i = 0; i < v->n; i++)
        h = hash_str(h, v->text[i].bytes, v->text[i].len);
    h = hash_str(h, (const char *)v->types, v->n * sizeof *v->types);
    h = hash_str(h, (const char *)v->flags, v->n);
    if (v->model == KS_VOCAB_SPM)
        h = hash_str(h, (const char *)v->scores, v->n * sizeof *v->scores);
    h = ks_hash_join(h, v->merges_hash);
    return hash_str(h, (const char *)ids, sizeof ids);
}

/* ------------------------------------------------------------------ differences */

typedef void warn_fn(void *ctx, const char *text);

static bool equal_bytes(const struct ks_vocab *a, const struct ks_vocab *b, size_t i)
{
    return a->bytes[i].len == b->bytes[i].len &&
           memcmp(a->bytes[i].bytes, b->bytes[i].bytes, a->bytes[i].len) == 0;
}

static const char *type_name(int32_t type)
{
    static const char *const names[] = {"normal",       "unknown", "control",
                                        "user-defined", "unused",  "byte"};
    return type >= 1 && type <= 6 ? names[type - 1] : "undefined";
}

static void warn_types(const struct ks_vocab *a, const struct ks_vocab *b, warn_fn *warn, void *ctx)
{
    size_t n = 0, first = 0;
    for (size_t i = a->n; i-- > 0;) {
        if (a->types[i] != b->types[i]) {
            n++;
            first = i;
        }
    }
    if (!n)
        return;
    char text[256], shown[KS_VOCAB_SHOWN];
    snprintf(text, sizeof text,
             "the types of %zu tokens differ, first that of token %zu, %s: %s in the reference, %s "
             "in the arm",
             n, first, ks_vocab_show(a->text[first], shown), type_name(a->types[first]),
             type_name(b->types[first]));
    warn(ctx, text);
}

static void warn_scores(const struct ks_vocab *a, const struct ks_vocab *b, warn_fn *warn,
                        void *ctx)
{
    size_t n = 0, first = 0;
    for (size_t i = a->n; i-- > 0;) {
        if (a->scores[i] != b->scores[i]) {
            n++;
            first = i;
        }
    }
    if (!n)
        return;
    char text[256], shown[KS_VOCAB_SHOWN];
    snprintf(text, sizeof text,
             "the scores of %zu tokens differ, first that of token %zu, %s: %g in the reference, "
             "%g in the arm",
             n, first, ks_vocab_show(a->text[first], shown), (double)a->scores[first],
             (double)b->scores[first]);
    warn(ctx, text);
}

static void warn_merges(const struct ks_vocab *a, const struct ks_vocab *b, warn_fn *warn,
                        void *ctx)
{
    char text[160];
    if (a->n_merges != b->n_merges)
        snprintf(text, sizeof text, "the reference has %llu merges, the arm %llu",
                 (unsigned long long)a->n_merges, (unsigned long long)b->n_merges);
    else if (!ks_hash_equal(a->merges_hash, b->merges_hash))
        snprintf(text, sizeof text, "the merges differ");
    else
        return;
    warn(ctx, text);
}

static void append_id(char *text, size_t size, const char *what, int32_t a, int32_t b)
{
    size_t n = strlen(text);
    if (a != b)
        snprintf(text + n, size - n, "%s%s is %d in the reference, %d in the arm", n ? "; " : "",
                 what, a, b);
}

static void warn_specials(const struct ks_vocab *a, const struct ks_vocab *b, warn_fn *warn,
                          void *ctx)
{
    char text[512] = "";
    append_id(text, sizeof text, "the BOS token", a->bos, b->bos);
    append_id(text, sizeof text, "the EOS token", a->eos, b->eos);
    append_id(text, sizeof text, "the unknown token", a->unk, b->unk);
    append_id(text, sizeof text, "adding a BOS", a->add_bos, b->add_bos);
    append_id(text, sizeof text, "adding an EOS", a->add_eos, b->add_eos);
    append_id(text, sizeof text, "a space before the text", a->add_space_prefix,
              b->add_space_prefix);
    if (text[0])
        warn(ctx, text);
}

int ks_tokenizer_compare(const struct ks_tokenizer *reference, const struct ks_tokenizer *arm,
                         void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err)
{
    const struct ks_vocab *a = &reference->v, *b = &arm->v;
    if (a->n != b->n)
        return ks_fail(err, KS_BAD_INPUT,
                       "the reference has %zu tokens, the arm %zu; only models of one vocabulary "
                       "can be compared",
                       a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        char x[KS_VOCAB_SHOWN], y[KS_VOCAB_SHOWN];
        if (!equal_bytes(a, b, i))
            return ks_fail(err, KS_BAD_INPUT,
                           "token %zu is %s in the reference, %s in the arm; only models of one "
                           "vocabulary can be compared",
                           i, ks_vocab_show(a->bytes[i], x), ks_vocab_show(b->bytes[i], y));
    }
    if (!warn)
        return 0;
    char text[256];
    if (strcmp(reference->kind, arm->kind) != 0) {
        snprintf(text, sizeof text, "the tokenizer is \"%s\" in the reference, \"%s\" in the arm",
                 reference->kind, arm->kind);
        warn(ctx, text);
    }
    warn_types(a, b, warn, ctx);
    warn_scores(a, b, warn, ctx);
    warn_merges(a, b, warn, ctx);
    warn_specials(a, b, warn, ctx);
    return 0;
}
