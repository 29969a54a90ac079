/*
 * vec.h's functions as test_vec.c calls them; compiled once a path, like the sources that use it.
 */
#include "engine/kernels/vec/vec.h"

#include "tests/engine/kernels/vec_path.h"

static void exp_f64(const float *x, size_t n, double *out)
{
    size_t i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES)
        ks_f64x16_store(out + i, ks_f64x16_exp(ks_f64x16_widen(x + i)));
    double rest[KS_LANES];
    ks_f64x16_store(rest, ks_f64x16_exp(ks_f64x16_widen_part(x + i, n - i, 0.0f)));
    memcpy(out + i, rest, (n - i) * sizeof *out);
}

static void exp_f32(const float *x, size_t n, float *out)
{
    size_t i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES)
        ks_f32x16_store(out + i, ks_f32x16_exp(ks_f32x16_load(x + i)));
    ks_f32x16_store_part(out + i, n - i, ks_f32x16_exp(ks_f32x16_load_part(x + i, n - i, 0.0f)));
}

static double sum(const float *x, size_t n)
{
    ks_f64x16 lanes = ks_f64x16_set(0.0);
    size_t i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES)
        lanes = ks_f64x16_add(lanes, ks_f64x16_widen(x + i));
    lanes = ks_f64x16_add(lanes, ks_f64x16_widen_part(x + i, n - i, 0.0f));
    return ks_f64x16_sum(lanes);
}

const struct vec_path VEC_PATH = {exp_f64, exp_f32, sum};
