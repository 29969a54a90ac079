#ifndef KS_TESTS_VEC_PATH_H
#define KS_TESTS_VEC_PATH_H

#include <stddef.h>

struct vec_path {
    void (*exp_f64)(const float *x, size_t n, double *out);
    void (*exp_f32)(const float *x, size_t n, float *out);
    double (*sum)(const float *x, size_t n);
};

extern const struct vec_path vec_path_scalar, vec_path_avx2, vec_path_avx512;

#endif
