/*
 * Recoding: a matrix of one type as another, on all cores. Rows are independent, so the bytes are
 * the same for any number of threads.
 *
 * One caller a pool at a time.
 */
#ifndef KS_ENGINE_QUANT_RECODE_H
#define KS_ENGINE_QUANT_RECODE_H

#include "engine/base/pool.h"
#include "engine/quant/encode/encode.h"

/* Column weights of an importance matrix for one tensor. */
struct ks_importance {
    const float *weights; /* (slices, cols) */
    size_t slices;        /* each for rows / slices rows in turn: the experts of a layer */
};

struct ks_recode {
    struct ks_pool *pool;
    struct ks_encoders *encoders;
    const struct ks_importance *importance; /* NULL where the type can do without */
};

/*
 * Decodes source (rows, cols) and encodes it to dest, which has rows * row bytes of `type`; cols is
 * a whole number of both types' blocks. A weight that the type cannot hold (a NaN, an infinity, for
 * F16 also what rounds to one) is an error with the row and column of the first; the tensor's name
 * is the caller's to put in front, and what dest holds then is undefined.
 */
int ks_recode(const struct ks_recode *how, const struct ks_matrix *source, enum ks_type type,
              uint8_t *dest, struct ks_error *err);

#endif
