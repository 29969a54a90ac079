/*
 * The loops over a vocabulary that the ruler is made of, once an ISA. rows_scalar.c is their
 * definition; the others give the same bits.
 *
 * Sums use 16 f64 lanes, lane l for the elements l, l + 16, ..., and the tree of kernels/lanes.h.
 */
#ifndef KS_ENGINE_RULER_ROWS_H
#define KS_ENGINE_RULER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/kernels/cpu.h"

/* With x = r - max_r and y = a - max_a. */
struct ks_reference_sums {
    double exp;   /* sum e^x */
    double exp_x; /* sum e^x x where e^x > 0 */
};

struct ks_arm_sums {
    double exp;     /* sum e^y */
    double forward; /* sum e^x (x - y) where e^x > 0 */
    double reverse; /* sum e^y (x - y) where e^y > 0 */
};

struct ks_rows {
    /* The first i in from..n-1 with row[i] > most, or a NaN; n if there is none. */
    size_t (*find_above)(const float *row, size_t from, size_t n, float most);
    /* How many of row[n] are > least, or >= least. */
    size_t (*count_above)(const float *row, size_t n, float least, bool or_equal);
    struct ks_reference_sums (*reference)(const float *row, size_t n, float max);
    struct ks_arm_sums (*arm)(const float *reference, float max_r, const float *arm, float max_a,
                              size_t n);
};

/* NULL for an ISA that is not built in. */
const struct ks_rows *ks_rows(enum ks_isa isa);

extern const struct ks_rows ks_rows_scalar, ks_rows_avx2, ks_rows_avx512;

#endif
