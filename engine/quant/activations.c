#include "engine/quant/activations.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/quant/encode/parts.h"
#include "engine/quant/round.h"

enum { Q8_K = 256 };

static float extreme_of(const float *x, size_t n)
{
    float extreme = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        float a = fabsf(x[i]);
        extreme = a > size ? x[i] : extreme;
        size = a > size ? a : size;
    }
    return extreme;
}

static void round_block(const float *x, float *out)
{
    float extreme = extreme_of(x, Q8_K);
    float inverse = extreme != 0 ? -127.0f / extreme : 0.0f;
    float scale = inverse_or_zero(inverse);
    for (size_t i = 0; i < Q8_K; i++)
        out[i] = scale * nearest_level(inverse * x[i], -127, 127);
}

static void round_q8_k(const float *x, size_t n, float *out)
{
    assert(n % Q8_K == 0);
    for (size_t b = 0; b < n; b += Q8_K) {
        bool finite = all_finite(x + b, Q8_K);
        if (finite)
            round_block(x + b, out + b);
        for (size_t i = b; !finite && i < b + Q8_K; i++)
            out[i] = NAN;
    }
}

void ks_activations_round_row(enum ks_type weights, const float *x, size_t n, float *out)
{
    bool by_value = ks_type_info(weights)->block_elems == 1;
    if (ks_type_info(weights)->block_elems == Q8_K) {
        round_q8_k(x, n, out);
        return;
    }
    memmove(out, x, n * sizeof *x);
    ks_round_row(by_value ? weights : KS_Q8_0, out, n);
}
