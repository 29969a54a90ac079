/*
 * Sums over a row, in the one order that every path keeps: 16 lanes, lane i adds elements i, i+16,
 * i+32, ... in order, starting at 0; then lanes l and l+8 are added, l and l+4, l and l+2, l and
 * l+1. Maxima run in the same lanes (their order shows only for NaN, which loses, and the sign of
 * zero).
 *
 * This header is the scalar definition; vec.h has the same for vectors. Pure functions.
 */
#ifndef KS_ENGINE_KERNELS_LANES_H
#define KS_ENGINE_KERNELS_LANES_H

#include <stddef.h>

#define KS_LANES 16

/* The tree. lane is used up. */
static inline float ks_lanes_sum_f32(float lane[KS_LANES])
{
    for (int half = KS_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static inline double ks_lanes_sum_f64(double lane[KS_LANES])
{
    for (int half = KS_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/* A maximum is a > b ? a : b everywhere: a NaN in a loses, one in b stays. */
static inline float ks_lanes_max_f32(float lane[KS_LANES])
{
    for (int half = KS_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    return lane[0];
}

#endif
