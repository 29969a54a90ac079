/*
 * The summary object. Keys stand in the order of the command's documentation, and everything in it
 * follows from the scenario and the files alone, so that two runs that must agree can be compared
 * byte for byte.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/engine.h"
#include "engine/report/format.h"

/* ------------------------------------------------------------------ values */

/* JSON that is being built. What fails (only memory can) is remembered, not checked at each key. */
struct maker {
    bool failed;
};

static void put(struct maker *m, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value))
        m->failed = true;
}

static void append(struct maker *m, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        m->failed = true;
}

/* A path or name may be no UTF-8; JSON must be. Each byte that is not becomes U+FFFD. */
static json_t *repaired(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t len = strlen(text), at = 0;
    char *out = malloc(3 * len + 1);
    if (!out)
        return NULL;
    for (size_t i = 0; i < len;) {
        utf8proc_int32_t code;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(len - i), &code);
        const char *from = n > 0 ? text + i : replacement;
        size_t bytes = n > 0 ? (size_t)n : 3;
        memcpy(out + at, from, bytes);
        at += bytes;
        i += n > 0 ? (size_t)n : 1;
    }
    json_t *s = json_stringn(out, at);
    free(out);
    return s;
}

static json_t *text(const char *s)
{
    if (!s)
        return json_null();
    json_t *v = json_string(s);
    return v ? v : repaired(s);
}

/* A value that does not exist is null. */
static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* jansson's integers are signed; a seed above them is written as text rather than wrongly. */
static json_t *integer(uint64_t n)
{
    if (n <= INT64_MAX)
        return json_integer((json_int_t)n);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    return json_string(digits);
}

/* ------------------------------------------------------------------ what was run */

static json_t *program(struct maker *m)
{
    json_t *o = json_object();
    put(m, o, "name", text("kldscope"));
    put(m, o, "version", text(KS_VERSION));
    return o;
}

static json_t *reference(struct maker *m, const struct ks_facts *f)
{
    json_t *o = json_object();
    put(m, o, "file", text(f->reference_file));
    put(m, o, "architecture", text(f->architecture));
    put(m, o, "bytes", integer(f->reference_bytes));
    put(m, o, "hash", text(f->reference_hash));
    return o;
}

static json_t *backend(struct maker *m, const struct ks_snapshot *s)
{
    json_t *o = json_object();
    put(m, o, "head", text(s->facts->backend_head));
    put(m, o, "body", text(s->facts->backend_body));
    if (s->windows_on_cpu > 0) /* the device failed on the way: no two such runs are alike */
        put(m, o, "head_windows_on_cpu", integer(s->windows_on_cpu));
    return o;
}

static json_t *corpora(struct maker *m, const struct ks_facts *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->n_corpora; i++) {
        const struct ks_corpus_facts *c = &f->corpora[i];
        json_t *o = json_object();
        put(m, o, "name", text(c->name));
        put(m, o, "documents", integer(c->documents));
        put(m, o, "tokens", integer(c->tokens));
        put(m, o, "n", integer(c->n));
        append(m, list, o);
    }
    return list;
}

/* What must be equal for two runs to be comparable. */
static json_t *manifest(struct maker *m, const struct ks_snapshot *s)
{
    const struct ks_facts *f = s->facts;
    json_t *o = json_object(), *sets = json_array(), *arms = json_array();
    put(m, o, "numerics", json_integer(f->numerics));
    put(m, o, "reference_hash", text(f->reference_hash));
    put(m, o, "tokenizer_hash", text(f->tokenizer_hash));
    for (size_t i = 0; i < f->n_corpora; i++) {
        const struct ks_corpus_facts *c = &f->corpora[i];
        json_t *set = json_object();
        put(m, set, "name", text(c->name));
        put(m, set, "kind", text(c->kind));
        put(m, set, "documents", integer(c->documents));
        put(m, set, "skipped_short", integer(c->skipped_short));
        put(m, set, "hash", text(c->hash));
        append(m, sets, set);
    }
    put(m, o, "corpora", sets);
    put(m, o, "order", text(f->order));
    put(m, o, "seed", integer(f->seed));
    put(m, o, "window", integer(f->window));
    put(m, o, "context_min", integer(f->context_min));
    put(m, o, "scoring", text(f->scoring));
    put(m, o, "bos", json_boolean(f->bos));
    put(m, o, "top_k", json_integer(f->top_k));
    put(m, o, "backend", backend(m, s));
    for (size_t i = 0; i < f->n_arms; i++) {
        json_t *arm = json_object();
        put(m, arm, "name", text(f->arms[i].name));
        put(m, arm, "recipe", text(f->arms[i].recipe));
        put(m, arm, "hash", text(f->arms[i].hash));
        if (f->arms[i].imatrix_hash)
            put(m, arm, "imatrix", text(f->arms[i].imatrix_hash));
        append(m, arms, arm);
    }
    put(m, o, "arms", arms);
    return o;
}

/* ------------------------------------------------------------------ arms */

static void put_numbers(struct maker *m, json_t *o, const struct ks_numbers *s)
{
    put(m, o, "n", integer(s->n));
    put(m, o, "kld_mean", real(s->kld_mean));
    put(m, o, "kld_sem", real(s->kld_sem));
    put(m, o, "kld_median", real(s->kld_median));
    put(m, o, "kld_p90", real(s->kld_p90));
    put(m, o, "kld_p95", real(s->kld_p95));
    put(m, o, "kld_p99", real(s->kld_p99));
    put(m, o, "kld_p999", real(s->kld_p999));
    put(m, o, "kld_max", real(s->kld_max));
    put(m, o, "kld_reverse_mean", real(s->kld_reverse_mean));
    put(m, o, "top1_agreement", real(s->top1_agreement));
    put(m, o, "topk_overlap", real(s->topk_overlap));
    put(m, o, "ppl_ref", real(s->ppl_ref));
    put(m, o, "ppl_arm", real(s->ppl_arm));
    put(m, o, "ppl_arm_sem", real(s->ppl_arm_sem));
    put(m, o, "ln_ppl_ratio", real(s->ln_ppl_ratio));
    put(m, o, "delta_p_mean", real(s->delta_p_mean));
    put(m, o, "delta_p_rms", real(s->delta_p_rms));
    put(m, o, "nonfinite", integer(s->nonfinite));
    put(m, o, "infinite", integer(s->infinite));
}

static json_t *arm_corpora(struct maker *m, const struct ks_facts *f,
                           const struct ks_corpus_numbers *numbers)
{
    json_t *list = json_array();
    for (size_t i = 0; numbers && i < f->n_corpora; i++) {
        json_t *o = json_object();
        put(m, o, "name", text(f->corpora[i].name));
        put(m, o, "n", integer(numbers[i].n));
        put(m, o, "kld_mean", real(numbers[i].kld_mean));
        put(m, o, "kld_p99", real(numbers[i].kld_p99));
        put(m, o, "ppl_arm", real(numbers[i].ppl_arm));
        append(m, list, o);
    }
    return list;
}

static json_t *first_nonfinite(struct maker *m, const struct ks_facts *f,
                               const struct ks_numbers *s)
{
    json_t *o = json_object();
    const struct ks_document_facts *d = ks_report_document(f, s->first_nonfinite_document);
    put(m, o, "file", text(d ? d->file : NULL));
    put(m, o, "line", d && d->line > 0 ? integer(d->line) : json_null());
    put(m, o, "offset", integer(s->first_nonfinite_offset));
    return o;
}

/* A key more than the documented ones only where something went wrong. */
static json_t *arm(struct maker *m, const struct ks_facts *f, size_t i,
                   const struct ks_arm_snapshot *a)
{
    const struct ks_arm_facts *facts = &f->arms[i];
    char where[128];
    json_t *o = json_object();
    put(m, o, "name", text(facts->name));
    put(m, o, "recipe", text(facts->recipe));
    put(m, o, "file", text(facts->file));
    put(m, o, "bytes", integer(facts->bytes));
    put(m, o, "bits_per_weight", real(facts->bits_per_weight));
    put(m, o, "backend", text(ks_report_backend(f, where, sizeof where)));
    put_numbers(m, o, &a->numbers);
    put(m, o, "corpora", arm_corpora(m, f, a->numbers.corpora));
    if (a->numbers.nonfinite > 0)
        put(m, o, "first_nonfinite", first_nonfinite(m, f, &a->numbers));
    if (a->state == KS_ARM_FAILED)
        put(m, o, "error", text(a->why));
    if (a->state == KS_ARM_DROPPED)
        put(m, o, "dropped", text(a->why));
    return o;
}

/* ------------------------------------------------------------------ the whole */

static json_t *timing(struct maker *m, const struct ks_snapshot *s)
{
    double seconds = (double)s->elapsed_ns * 1e-9;
    json_t *o = json_object();
    put(m, o, "prepare_s", real((double)s->prepare_ns * 1e-9));
    put(m, o, "elapsed_s", real(seconds));
    put(m, o, "cpu_s", real((double)s->cpu_ns * 1e-9));
    put(m, o, "tokens", integer(s->tokens));
    put(m, o, "tokens_per_s", real((double)s->tokens / seconds));
    put(m, o, "gflops", real(s->flops * 1e-9 / seconds));
    put(m, o, "peak_gflops", real(s->facts->peak_flops * 1e-9));
    put(m, o, "threads", json_integer(s->facts->threads));
    put(m, o, "isa", text(s->facts->isa));
    put(m, o, "head_gain", real(s->facts->head_gain));
    put(m, o, "head_note", text(s->facts->head_note));
    return o;
}

static json_t *shard(struct maker *m, const struct ks_facts *f)
{
    json_t *o = json_object();
    put(m, o, "number", integer(f->shard.number));
    put(m, o, "of", integer(f->shard.of));
    put(m, o, "windows", integer(f->windows));
    put(m, o, "all_windows", integer(f->all_windows));
    return o;
}

static json_t *unfinished(struct maker *m, const struct ks_snapshot *s)
{
    json_t *o = json_object();
    put(m, o, "state", text(ks_report_state(s->state)));
    put(m, o, "windows", integer(s->windows));
    put(m, o, "of", integer(s->facts->windows));
    if (s->state == KS_RUN_FAILED)
        put(m, o, "error", text(s->failure));
    return o;
}

static json_t *summary(struct maker *m, const struct ks_snapshot *s, bool with_timing)
{
    const struct ks_facts *f = s->facts;
    json_t *o = json_object(), *arms = json_array();
    put(m, o, "program", program(m));
    put(m, o, "scenario", text(f->scenario));
    put(m, o, "reference", reference(m, f));
    put(m, o, "window", integer(f->window));
    put(m, o, "scoring", text(f->scoring));
    put(m, o, "top_k", json_integer(f->top_k));
    put(m, o, "backend", backend(m, s));
    put(m, o, "documents", integer(f->documents));
    put(m, o, "tokens", integer(f->tokens));
    if (ks_report_chunks(f))
        put(m, o, "left_over", integer(f->tokens % f->window));
    put(m, o, "n", integer(s->positions));
    put(m, o, "ppl_ref", real(s->reference.ppl_ref));
    put(m, o, "corpora", corpora(m, f));
    put(m, o, "manifest", manifest(m, s));
    for (size_t i = 0; i < f->n_arms; i++)
        append(m, arms, arm(m, f, i, &s->arms[i]));
    put(m, o, "arms", arms);
    if (f->shard.of > 1)
        put(m, o, "shard", shard(m, f));
    if (s->state != KS_RUN_DONE)
        put(m, o, "unfinished", unfinished(m, s));
    if (with_timing)
        put(m, o, "timing", timing(m, s));
    return o;
}

char *ks_report_json(const struct ks_snapshot *s, bool with_timing, struct ks_error *err)
{
    if (ks_report_ready(s, err))
        return NULL;
    struct maker m = {0};
    json_t *o = summary(&m, s, with_timing);
    char *out = m.failed
                    ? NULL
                    : json_dumps(o, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    json_decref(o);
    size_t len = out ? strlen(out) : 0;
    char *longer = out ? realloc(out, len + 2) : NULL;
    if (!longer) {
        free(out);
        ks_fail_memory(err, len + 2, "the summary");
        return NULL;
    }
    memcpy(longer + len, "\n", 2);
    return longer;
}
