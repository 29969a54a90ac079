/*
 * Made-up rows of logits of many kinds, on the host and measured on a device.
 */
#ifndef KS_TESTS_GPU_ROWS_H
#define KS_TESTS_GPU_ROWS_H

#include <math.h>

#include "engine/base/bytes.h"
#include "gpu/head/head.h"

enum kind { PLAIN, PEAKED, FLAT, TIES, PADDED, HUGE_LOGITS, DENORMAL, KINDS };

static const char *const kind_names[KINDS] = {"plain",  "peaked", "flat",    "ties",
                                              "padded", "huge",   "denormal"};

/* Rows of a reference and an arm, (m, n) each, with what a device says of them. */
struct rows {
    size_t m, n;
    float *reference, *arm;
    uint32_t *targets;
    struct ks_gpu_reference_row *ref_rows;
    struct ks_gpu_arm_row *arm_rows;
};

/* About normal, of deviation 1. */
static inline double noise(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(ks_random_next(seed) >> 11) * 0x1p-53;
    return sum;
}

static inline float logit(enum kind kind, size_t i, size_t n, double normal)
{
    switch (kind) {
    case PEAKED:
        return (float)(i == n / 3 ? 30 + normal : 2 * normal);
    case FLAT:
        return -3.25f;
    case TIES:
        return (float)(round(2 * normal) / 2) * (i % 7 == 0 ? -0.0f : 1.0f);
    case PADDED:
        return i > 0 && i >= n - n / 5 ? -INFINITY : (float)(3 * normal);
    case HUGE_LOGITS:
        return (float)(4e3 * normal);
    case DENORMAL:
        return (float)(normal * 1e-40);
    default:
        return (float)(3 * normal);
    }
}

/* The arm is off by noise of that deviation, and by a constant. */
static inline void fill_row(enum kind kind, size_t n, double apart, uint64_t *seed,
                            float *reference, float *arm)
{
    for (size_t i = 0; i < n; i++) {
        double off = apart * noise(seed);
        reference[i] = logit(kind, i, n, noise(seed));
        if (kind == DENORMAL)
            off *= 1e-38;
        else if (kind == TIES)
            off = round(2 * off) / 2;
        else if (apart > 0)
            off += 0.375;
        arm[i] = (float)((double)reference[i] + off);
    }
}

static inline void *needed(void *p)
{
    assert_non_null(p);
    return p;
}

static inline struct rows make_rows(size_t m, size_t n)
{
    struct rows r = {.m = m, .n = n};
    r.reference = needed(calloc(m * n, sizeof(float)));
    r.arm = needed(calloc(m * n, sizeof(float)));
    r.targets = needed(calloc(m, sizeof *r.targets));
    r.ref_rows = needed(calloc(m, sizeof *r.ref_rows));
    r.arm_rows = needed(calloc(m, sizeof *r.arm_rows));
    return r;
}

static inline void free_rows(struct rows *r)
{
    free(r->reference);
    free(r->arm);
    free(r->targets);
    free(r->ref_rows);
    free(r->arm_rows);
}

static inline struct ks_gpu_tile *upload_rows(struct ks_gpu *gpu, const float *rows, size_t m,
                                              size_t n)
{
    struct ks_error err = {0};
    struct ks_gpu_tile *tile = ks_gpu_tile_create(gpu, m, n, &err);
    if (!tile || ks_gpu_tile_write(tile, 0, m, rows, &err) != 0)
        fail_msg("%s", err.text);
    return tile;
}

static inline void measure_rows(struct rows *r, struct ks_gpu *gpu, uint32_t top)
{
    struct ks_error err = {0};
    struct ks_gpu_tile *reference = upload_rows(gpu, r->reference, r->m, r->n);
    struct ks_gpu_tile *arm = upload_rows(gpu, r->arm, r->m, r->n);
    struct ks_gpu_ruler *ruler = ks_gpu_ruler_create(gpu, r->m, r->n, top, &err);
    if (!ruler ||
        ks_gpu_ruler_reference(ruler, reference, r->targets, r->m, &err) != 0 ||
        ks_gpu_ruler_arm(ruler, arm, &err) != 0 ||
        ks_gpu_ruler_collect(ruler, r->ref_rows, r->arm_rows, &err) != 0)
        fail_msg("%s", err.text);
    ks_gpu_ruler_destroy(ruler);
    ks_gpu_tile_destroy(arm);
    ks_gpu_tile_destroy(reference);
}

#endif
