#include "engine/quant/encode/encode.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "engine/quant/encode/parts.h"

float ks_sum_of_squares(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

void ks_importance_weights(int n, const lanes *x, const lanes *importance, float spread, lanes *w)
{
    for (int i = 0; i < n; i++) {
        lanes size = spread + x[i] * x[i];
        for (int lane = 0; lane < LANES; lane++)
            size[lane] = sqrtf(size[lane]);
        w[i] = importance[i] * size;
    }
}

static void encode_f32(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    memcpy(out, x, cols * sizeof *x);
}

static void encode_f16(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    ks_f32_to_f16_row(x, out, cols);
}

static void encode_bf16(const float *x, size_t cols, const float *importance, uint8_t *out)
{
    (void)importance;
    for (size_t i = 0; i < cols; i++) {
        uint16_t bits = ks_f32_to_bf16(x[i]);
        memcpy(out + 2 * i, &bits, sizeof bits);
    }
}

/* ------------------------------------------------------------------ encoders */

struct ks_encoder {
    enum ks_type type;
    row_encoder *encode;       /* or */
    grid_encoder *encode_grid; /* with */
    enum ks_codebook_id id;
    const struct ks_codebook *book;
};

static const struct ks_encoder all[] = {
    {KS_F32, encode_f32, NULL, KS_BOOK_NONE, NULL},
    {KS_F16, encode_f16, NULL, KS_BOOK_NONE, NULL},
    {KS_BF16, encode_bf16, NULL, KS_BOOK_NONE, NULL},
    {KS_Q8_0, ks_encode_q8_0, NULL, KS_BOOK_NONE, NULL},
    {KS_Q4_0, ks_encode_q4_0, NULL, KS_BOOK_NONE, NULL},
    {KS_Q4_1, ks_encode_q4_1, NULL, KS_BOOK_NONE, NULL},
    {KS_Q5_0, ks_encode_q5_0, NULL, KS_BOOK_NONE, NULL},
    {KS_Q5_1, ks_encode_q5_1, NULL, KS_BOOK_NONE, NULL},
    {KS_Q2_K, ks_encode_q2_k, NULL, KS_BOOK_NONE, NULL},
    {KS_Q3_K, ks_encode_q3_k, NULL, KS_BOOK_NONE, NULL},
    {KS_Q4_K, ks_encode_q4_k, NULL, KS_BOOK_NONE, NULL},
    {KS_Q5_K, ks_encode_q5_k, NULL, KS_BOOK_NONE, NULL},
    {KS_Q6_K, ks_encode_q6_k, NULL, KS_BOOK_NONE, NULL},
    {KS_IQ4_NL, ks_encode_iq4_nl, NULL, KS_BOOK_NONE, NULL},
    {KS_IQ4_XS, ks_encode_iq4_xs, NULL, KS_BOOK_NONE, NULL},
    {KS_MXFP4, ks_encode_mxfp4, NULL, KS_BOOK_NONE, NULL},
    {KS_NVFP4, ks_encode_nvfp4, NULL, KS_BOOK_NONE, NULL},
    {KS_TQ1_0, ks_encode_tq1_0, NULL, KS_BOOK_NONE, NULL},
    {KS_TQ2_0, ks_encode_tq2_0, NULL, KS_BOOK_NONE, NULL},
    {KS_IQ1_S, NULL, ks_encode_iq1_s, KS_BOOK_IQ1, NULL},
    {KS_IQ1_M, NULL, ks_encode_iq1_m, KS_BOOK_IQ1, NULL},
    {KS_IQ2_XXS, NULL, ks_encode_iq2_xxs, KS_BOOK_IQ2_XXS, NULL},
    {KS_IQ2_XS, NULL, ks_encode_iq2_xs, KS_BOOK_IQ2_XS, NULL},
    {KS_IQ2_S, NULL, ks_encode_iq2_s, KS_BOOK_IQ2_S, NULL},
    {KS_IQ3_XXS, NULL, ks_encode_iq3_xxs, KS_BOOK_IQ3_XXS, NULL},
    {KS_IQ3_S, NULL, ks_encode_iq3_s, KS_BOOK_IQ3_S, NULL},
};

enum { ALL = sizeof all / sizeof *all };

struct ks_encoders {
    pthread_mutex_t lock; /* of what follows */
    struct ks_encoder encoders[ALL];
    struct ks_codebook *books[KS_BOOKS]; /* NULL until asked for */
};

struct ks_encoders *ks_encoders_create(struct ks_error *err)
{
    struct ks_encoders *e = calloc(1, sizeof *e);
    if (!e) {
        ks_fail_memory(err, sizeof *e, "encoders");
        return NULL;
    }
    pthread_mutex_init(&e->lock, NULL);
    memcpy(e->encoders, all, sizeof all);
    return e;
}

void ks_encoders_destroy(struct ks_encoders *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < KS_BOOKS; i++)
        ks_codebook_destroy(e->books[i]);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* With the lock held. */
static const struct ks_encoder *find(struct ks_encoders *e, enum ks_type type, struct ks_error *err)
{
    struct ks_encoder *found = e->encoders;
    while (found < e->encoders + ALL && found->type != type)
        found++;
    assert(found < e->encoders + ALL);
    if (found->id == KS_BOOK_NONE || found->book)
        return found;
    if (!e->books[found->id])
        e->books[found->id] = ks_codebook_create(found->id, err);
    found->book = e->books[found->id];
    return found->book ? found : NULL;
}

const struct ks_encoder *ks_encoders_get(struct ks_encoders *e, enum ks_type type,
                                         struct ks_error *err)
{
    pthread_mutex_lock(&e->lock);
    const struct ks_encoder *found = find(e, type, err);
    pthread_mutex_unlock(&e->lock);
    return found;
}

void ks_encode_rows(const struct ks_encoder *encoder, const float *src, size_t rows, size_t cols,
                    const float *importance, void *dst)
{
    uint64_t row_bytes = 0;
    bool whole = ks_type_row_bytes(encoder->type, cols, &row_bytes);
    assert(whole && (importance || ks_type_info(encoder->type)->weighing != KS_MUST_BE_WEIGHED));
    (void)whole;
    uint8_t *out = dst;
    for (size_t r = 0; r < rows; r++, src += cols, out += row_bytes) {
        if (encoder->encode)
            encoder->encode(src, cols, importance, out);
        else
            encoder->encode_grid(encoder->book, src, cols, importance, out);
    }
}
