#include "engine/quant/encode/encode.h"

#include <assert.h>
#include <math.h>

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

static row_encoder *encoder_of(enum ks_type type)
{
    switch (type) {
    case KS_F32:
        return encode_f32;
    case KS_F16:
        return encode_f16;
    case KS_BF16:
        return encode_bf16;
    case KS_Q8_0:
        return ks_encode_q8_0;
    case KS_Q4_0:
        return ks_encode_q4_0;
    case KS_Q4_1:
        return ks_encode_q4_1;
    case KS_Q5_0:
        return ks_encode_q5_0;
    case KS_Q5_1:
        return ks_encode_q5_1;
    case KS_Q2_K:
        return ks_encode_q2_k;
    case KS_Q3_K:
        return ks_encode_q3_k;
    case KS_Q4_K:
        return ks_encode_q4_k;
    case KS_Q5_K:
        return ks_encode_q5_k;
    case KS_Q6_K:
        return ks_encode_q6_k;
    default:
        return NULL;
    }
}

void ks_encode_rows(enum ks_type type, const float *src, size_t rows, size_t cols,
                    const float *importance, void *dst)
{
    row_encoder *encode = encoder_of(type);
    uint64_t row_bytes = 0;
    bool whole = ks_type_row_bytes(type, cols, &row_bytes);
    assert(encode && whole);
    (void)whole;
    uint8_t *out = dst;
    for (size_t r = 0; r < rows; r++)
        encode(src + r * cols, cols, importance, out + r * row_bytes);
}
