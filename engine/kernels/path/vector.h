/*
 * Every file of this folder but scalar.c is compiled once a path, with KS_PATH_NAME the path's
 * name; KS_PATH(f) is f's name in it. Private to them.
 */
#ifndef KS_ENGINE_KERNELS_VECTOR_H
#define KS_ENGINE_KERNELS_VECTOR_H

#include "engine/kernels/path/ops.h"
#include "engine/kernels/vec/vec.h"

#define KS_PATH_JOIN(path, name)  ks_##path##_##name
#define KS_PATH_JOIN2(path, name) KS_PATH_JOIN(path, name)
#define KS_PATH(name)             KS_PATH_JOIN2(KS_PATH_NAME, name)

#define KS_PANEL (2 * KS_VF)

void KS_PATH(product)(const struct ks_product *p);
void KS_PATH(transpose)(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel);
void KS_PATH(decode)(enum ks_type type, const void *src, float *dst, size_t n);
void KS_PATH(silu_mul)(float *gate, const float *up, size_t n);
void KS_PATH(sigmoid_mul)(float *x, const float *gate, size_t n);
void KS_PATH(clamped_silu_mul)(float *gate, const float *up, size_t n);
void KS_PATH(gelu_mul)(float *gate, const float *up, size_t n);
void KS_PATH(gelu)(float *x, size_t n);
void KS_PATH(relu2)(float *x, size_t n);
void KS_PATH(softcap)(float *x, size_t n, float scale, float cap);

#endif
