/*
 * The form in GGUF: for each tensor NAME of a model, NAME.in_sum2 (cols, matrices), the sums of
 * squares of what its columns were multiplied by, and NAME.counts (1, matrices), over how many
 * tokens. Other tensors are of no use here.
 */
#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/imatrix/object.h"
#include "engine/quant/type.h"

#define SUMS   ".in_sum2"
#define COUNTS ".counts"

static int check_kind(const struct ks_imatrix *m, const struct ks_gguf *g, struct ks_error *err)
{
    struct ks_str type = {"", 0};
    int found = ks_gguf_get_str(g, "general.type", &type, err);
    if (found < 0)
        return -1;
    if (found > 0 && (type.len != 7 || memcmp(type.bytes, "imatrix", 7) != 0)) {
        char shown[KS_SHOWN_SIZE];
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: general.type is \"%s\", not \"imatrix\": it is no "
                       "importance matrix",
                       m->shown, ks_shown(type.bytes, type.len, shown));
    }
    return 0;
}

static int check_pair(const struct ks_imatrix *m, const struct ks_gguf_tensor *sums,
                      const struct ks_gguf_tensor *counts, struct ks_error *err)
{
    if (!counts)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s has no " COUNTS " beside it", m->shown,
                       sums->name);
    if (sums->type != KS_F32 || counts->type != KS_F32)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s is not F32", m->shown,
                       sums->type != KS_F32 ? sums->name : counts->name);
    if (counts->bytes / sizeof(float) != sums->bytes / sizeof(float) / sums->dims[0])
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s has %llu counts for %llu rows", m->shown,
                       sums->name, (unsigned long long)(counts->bytes / sizeof(float)),
                       (unsigned long long)(sums->bytes / sizeof(float) / sums->dims[0]));
    return 0;
}

static float float_at(const struct ks_gguf_tensor *t, uint64_t i)
{
    return ks_f32_of_bits(ks_le32(t->data + i * sizeof(float)));
}

/* 0 stands where no token met a matrix. */
static int check_counts(const struct ks_imatrix *m, const struct ks_gguf_tensor *counts,
                        struct ks_error *err)
{
    for (uint64_t i = 0; i < counts->bytes / sizeof(float); i++) {
        float tokens = float_at(counts, i);
        if (!(isfinite(tokens) && tokens >= 0))
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: tensor %s: item %llu is %g, no number of tokens; make the "
                           "importance matrix anew",
                           m->shown, counts->name, (unsigned long long)i, (double)tokens);
    }
    return 0;
}

/* Means, or ones for a matrix that no token met. */
static void fill(const struct ks_gguf_tensor *sums, const struct ks_gguf_tensor *counts,
                 struct ks_imatrix_entry *e)
{
    for (uint64_t i = 0; i < e->n; i++) {
        float tokens = float_at(counts, i / sums->dims[0]);
        e->weights[i] = tokens > 0 ? float_at(sums, i) / tokens : 1.0f;
    }
}

static int add_pair(struct ks_imatrix *m, const struct ks_gguf *g,
                    const struct ks_gguf_tensor *sums, struct ks_error *err)
{
    char name[256];
    size_t len = strlen(sums->name) - strlen(SUMS);
    if (len == 0 || len + sizeof COUNTS > sizeof name)
        return ks_fail(err, KS_BAD_INPUT, "%s: tensor %s names no tensor of a model", m->shown,
                       sums->name);
    memcpy(name, sums->name, len);
    memcpy(name + len, COUNTS, sizeof COUNTS);
    const struct ks_gguf_tensor *counts = ks_gguf_find_tensor(g, name);
    if (check_pair(m, sums, counts, err) || check_counts(m, counts, err))
        return -1;
    name[len] = '\0';
    struct ks_imatrix_entry *e = ks_imatrix_add(m, name, sums->bytes / sizeof(float), err);
    if (!e)
        return -1;
    fill(sums, counts, e);
    return 0;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name), n = strlen(suffix);
    return len >= n && strcmp(name + len - n, suffix) == 0;
}

static int read_text(struct ks_imatrix *m, const struct ks_gguf *g, struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, "imatrix.datasets");
    struct ks_str dataset = {"", 0};
    uint32_t chunks = 0;
    if (v && v->type == KS_GGUF_ARRAY && v->array.type == KS_GGUF_STRING && v->array.count > 0)
        dataset = v->array.strings[0];
    if (ks_gguf_get_u32(g, "imatrix.chunk_count", &chunks, err) < 0)
        return -1;
    return ks_imatrix_tell(m, dataset, chunks, err);
}

int ks_imatrix_read_gguf(struct ks_imatrix *m, const struct ks_gguf *g, struct ks_error *err)
{
    if (check_kind(m, g, err) || read_text(m, g, err))
        return -1;
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        if (ends_in(t->name, SUMS) && add_pair(m, g, t, err))
            return -1;
    }
    return 0;
}
