/*
 * Fitting a block of 256 to the grid types whose points are magnitudes and whose signs are kept
 * apart: IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. What each makes of a fit in bytes is in grid.c.
 *
 * Private to engine/quant. Pure; any thread; any finite input.
 */
#ifndef KS_ENGINE_QUANT_ENCODE_GRID_FIT_H
#define KS_ENGINE_QUANT_ENCODE_GRID_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/quant/encode/codebook.h"

enum { GRID_BLOCK = 256, GRID_OCTETS = GRID_BLOCK / 8 };

/* Which points are looked for again once the best scale is known. */
enum grid_refine {
    REFINE_OFF_GRID, /* those whose rounded digits were no member */
    REFINE_IF_ANY,   /* all, where any was not */
    REFINE_ALL,
};

struct grid_format {
    int group;     /* elements that share a scale */
    bool even;     /* an even number of an octet's signs must be negative */
    bool searched; /* the range of scales is found by search, not by the largest element */
    float spread;  /* times the mean square: how evenly importance weighs elements */
    float plain;   /* without importance an element weighs its square and this much of that */
    float zero;    /* a group whose largest element is below counts as zero */
    int tries;     /* inverse scales to either side, ... */
    float step;    /* ... this far apart, in levels of the range's end */
    float stretch; /* of the stored d over the one that the scales are levelled by */
    enum grid_refine refine;
};

struct grid_fit {
    float d;           /* as to be stored, in f32; 0: the whole block is zero */
    uint8_t scale[16]; /* of the groups, 0..15 */
    bool zero[16];     /* groups that counted as such: point 0, no signs */
    uint8_t signs[GRID_OCTETS];
    uint16_t point[GRID_BLOCK / 4]; /* members' numbers, one or two an octet */
};

/* x: (256); importance: (256) or NULL. */
void ks_fit_grid(const struct grid_format *f, const struct ks_codebook *book, const float *x,
                 const float *importance, struct grid_fit *fit);

#endif
