/*
 * A codebook of the IQ types as encoding needs it: for every way to round the digits of a point,
 * which member that is or, where it is none, the members nearest to it. Which of these fits best
 * depends on the weights, and is up to the encoder.
 *
 * Immutable once made; any thread. Private to engine/quant.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_CODEBOOK_H
#define KS_ENGINE_QUANT_ENCODE_CODEBOOK_H

#include <stdint.h>

#include "engine/base/error.h"

enum ks_codebook_id {
    KS_BOOK_NONE,
    KS_BOOK_IQ1,
    KS_BOOK_IQ2_XXS,
    KS_BOOK_IQ2_XS,
    KS_BOOK_IQ2_S,
    KS_BOOK_IQ3_XXS,
    KS_BOOK_IQ3_S,
    KS_BOOKS
};

struct ks_codebook {
    unsigned digits, width; /* of a point; bits of a digit in its code */
    unsigned top;           /* the greatest digit */
    unsigned n;             /* members, numbered as files do */
    const uint16_t *codes;  /* (n): the members' digits, each in width bits */
    float value_of[8];      /* a digit's: of IQ1 digit - 1, of the others 2 * digit + 1 */
    float *values;          /* (n, digits): of IQ1 digit - 1, of the others 2 * digit + 1 */
    int32_t *place;         /* (1 << digits * width) by code: a member's number, or -1 - the
                               place of its list in near */
    uint16_t *near;         /* lists: how many, then the members, from near to far and by number */
};

/* NULL when out of memory. */
struct ks_codebook *ks_codebook_create(enum ks_codebook_id id, struct ks_error *err);
void ks_codebook_destroy(struct ks_codebook *book); /* accepts NULL */

/*
 * The best of the members in the list at a negative place, the first of equals: with the least sum
 * of weight * (scale * (value + shift) - x)^2. x, weight: (digits).
 */
int32_t ks_codebook_nearest(const struct ks_codebook *book, int32_t place, const float *x,
                            const float *weight, float scale, float shift);

#endif
