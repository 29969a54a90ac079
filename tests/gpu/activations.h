/*
 * Made-up rows of activations of many kinds, and the halves that their twin splits them into.
 */
#ifndef KS_TESTS_GPU_ACTIVATIONS_H
#define KS_TESTS_GPU_ACTIVATIONS_H

#include "tests/gpu/product.h"

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum kind { ANY_BITS, PLAIN, OUTLIERS, WIDE_RANGE, TINY, HUGE_ELEMENTS, SPARSE, ZERO, KINDS };

/* All of them finite. */
static inline float element(enum kind kind, size_t k, uint64_t *seed)
{
    uint64_t r = ks_random_next(seed);
    uint32_t bits = (uint32_t)(r >> 32);
    float plain = ((float)(bits >> 8) - 0x1p23f) * 0x1p-22f;
    switch (kind) {
    case ANY_BITS:
        return float_of((bits & 0x7f800000) == 0x7f800000 ? bits & 0xbfffffff : bits);
    case OUTLIERS:
        return k % 61 == 7 ? plain * 3000 : plain;
    case WIDE_RANGE:
        return ldexpf(plain, -(int)(r % 50));
    case TINY:
        return ldexpf(plain, -125 - (int)(r % 30));
    case HUGE_ELEMENTS:
        return ldexpf(plain, 126);
    case SPARSE:
        return k % 37 == 5 ? plain : 0;
    case ZERO:
        return r % 2 ? 0.0f : -0.0f;
    default:
        return plain;
    }
}

struct halves {
    struct ks_gpu_twin_halves twin;
    size_t cols;
};

static inline struct halves make_halves(size_t cols)
{
    return (struct halves){
        .twin = {must(malloc(cols * sizeof(uint16_t))), must(malloc(cols * sizeof(uint16_t))),
                 must(malloc(cols * sizeof(float))), 0},
        .cols = cols,
    };
}

static inline void free_halves(struct halves *h)
{
    free(h->twin.high);
    free(h->twin.low);
    free(h->twin.sums);
}

#endif
