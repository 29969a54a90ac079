/*
 * The blocks of the quantized types as they lie in a file: byte arrays only, so that a block may
 * start at any address. Two-byte scales are little-endian IEEE halves (half.c).
 *
 * Nibbles and bit fields are spread over an element's distance of 16, 32 or 64 rather than packed
 * next to each other; which element takes which bits is said at each field, and decode*.c is the
 * definition.
 *
 * Formats: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md names them; the layouts are
 * facts of the ecosystem's files. Private to engine/quant and the vector kernels.
 */
#ifndef KS_ENGINE_QUANT_BLOCKS_H
#define KS_ENGINE_QUANT_BLOCKS_H

#include <stdint.h>

/* --------------------------------------------------- 32 elements: byte j of qs holds j, j + 16 */

struct ks_block_q4_0 { /* d * (q - 8) */
    uint8_t d[2];
    uint8_t qs[16];
};

struct ks_block_q4_1 { /* d * q + m */
    uint8_t d[2], m[2];
    uint8_t qs[16];
};

struct ks_block_q5_0 { /* d * (q - 16); bit j of qh is bit 4 of element j */
    uint8_t d[2];
    uint8_t qh[4];
    uint8_t qs[16];
};

struct ks_block_q5_1 { /* d * q + m */
    uint8_t d[2], m[2];
    uint8_t qh[4];
    uint8_t qs[16];
};

struct ks_block_q8_0 { /* d * q, one byte an element */
    uint8_t d[2];
    int8_t qs[32];
};

struct ks_block_iq4_nl { /* d * ks_iq4_values[q] */
    uint8_t d[2];
    uint8_t qs[16];
};

struct ks_block_mxfp4 { /* ks_e8m0_half(e) * ks_mxfp4_values[q] */
    uint8_t e;
    uint8_t qs[16];
};

/* 64 elements. Group g of 16: ks_ue4m3_half(d[g]) * ks_mxfp4_values[q]; byte 8 g + j of qs holds
 * the elements 16 g + j and 16 g + 8 + j. */
struct ks_block_nvfp4 {
    uint8_t d[4];
    uint8_t qs[32];
};

/* -------------------------------------------------------------------------------- 256 elements */

/* Group g of 16 elements: (d * low nibble of scales[g]) * q - dmin * high nibble. Element
 * 128 h + 32 s + l: bits 2 s of qs[32 h + l]. */
struct ks_block_q2_k {
    uint8_t scales[16];
    uint8_t qs[64];
    uint8_t d[2], dmin[2];
};

/* Group g: (d * (scale g - 32)) * (q - 4), q of 3 bits: bits 2 s of qs[32 h + l], and above them
 * bit 4 h + s of hmask[l]. Scales of 6 bits: ks_q3_k_scale. */
struct ks_block_q3_k {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint8_t d[2];
};

/* Group g of 32 elements: (d * scale g) * q - dmin * min g (ks_k_scale_min). Element 64 p + l: low
 * nibble of qs[32 p + l]; 64 p + 32 + l: high nibble. */
struct ks_block_q4_k {
    uint8_t d[2], dmin[2];
    uint8_t scales[12];
    uint8_t qs[128];
};

/* As Q4_K with bit g of qh[l] as bit 4 of element l of group g. */
struct ks_block_q5_k {
    uint8_t d[2], dmin[2];
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};

/* Group g of 16: (d * scales[g]) * (q - 32). Element 128 h + 32 s + l, s = 0..3: nibble s / 2 of
 * ql[64 h + 32 (s % 2) + l], and above it bits 2 s of qh[32 h + l]. */
struct ks_block_q6_k {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint8_t d[2];
};

/* Group g of 32: (d * (scale g - 32)) * ks_iq4_values[q]; low 4 bits of the scale: nibble g % 2 of
 * scales_l[g / 2], high 2: bits 2 g of scales_h. Byte 16 g + j of qs holds elements j, j + 16. */
struct ks_block_iq4_xs {
    uint8_t d[2];
    uint8_t scales_h[2];
    uint8_t scales_l[4];
    uint8_t qs[128];
};

/* d * (q - 1). Element 128 h + 32 s + l: bits 2 s of qs[32 h + l]. */
struct ks_block_tq2_0 {
    uint8_t qs[64];
    uint8_t d[2];
};

/*
 * d * (t - 1), five ternary digits t to a byte: a byte is the fraction 0.t0 t1 t2 t3 t4 to base 3,
 * in 256ths, rounded up, so that digit n is the whole part of 3 times what multiplying by 3^n
 * leaves below 1 (ks_ternary_digit). Element 32 n + m, n = 0..4: digit n of qs[m]; 160 + 16 n + m:
 * digit n of qs[32 + m]; 240 + 4 n + m, n = 0..3: digit n of qh[m].
 */
struct ks_block_tq1_0 {
    uint8_t qs[48];
    uint8_t qh[4];
    uint8_t d[2];
};

/* ------------------------------------------------------------------------ 256 elements, grids */

/* Octet i is elements 8 i to 8 i + 7; its point, signs and scale: grid/grid.h. */

struct ks_block_iq2_xxs {
    uint8_t d[2];
    struct {
        uint8_t points[4];
        uint8_t signs_scale[4]; /* 7 signs an octet, 4 bits of scale */
    } groups[8];
};

struct ks_block_iq2_xs {
    uint8_t d[2];
    uint8_t qs[64]; /* an octet: 9 bits of point, 7 signs */
    uint8_t scales[8];
};

struct ks_block_iq2_s {
    uint8_t d[2];
    uint8_t qs[32]; /* low 8 bits of a point */
    uint8_t signs[32];
    uint8_t qh[8]; /* high 2 */
    uint8_t scales[8];
};

struct ks_block_iq3_xxs {
    uint8_t d[2];
    uint8_t qs[64];           /* two points an octet */
    uint8_t signs_scales[32]; /* 4 octets: 7 signs each, 4 bits of scale */
};

struct ks_block_iq3_s {
    uint8_t d[2];
    uint8_t qs[64]; /* low 8 bits of a point, two points an octet */
    uint8_t qh[8];  /* the ninth */
    uint8_t signs[32];
    uint8_t scales[4];
};

struct ks_block_iq1_s {
    uint8_t d[2];
    uint8_t qs[32]; /* low 8 bits of a point */
    uint8_t qh[16]; /* 4 octets: high 3 bits each, 3 bits of scale, the shift's sign */
};

struct ks_block_iq1_m {
    uint8_t qs[32];    /* low 8 bits of a point */
    uint8_t qh[16];    /* an octet: high 3, the shift's sign */
    uint8_t scales[8]; /* 8 octets: 4 scales of 3 bits, a nibble of d */
};

_Static_assert(sizeof(struct ks_block_q4_0) == 18, "as in files");
_Static_assert(sizeof(struct ks_block_q4_1) == 20, "as in files");
_Static_assert(sizeof(struct ks_block_q5_0) == 22, "as in files");
_Static_assert(sizeof(struct ks_block_q5_1) == 24, "as in files");
_Static_assert(sizeof(struct ks_block_q8_0) == 34, "as in files");
_Static_assert(sizeof(struct ks_block_iq4_nl) == 18, "as in files");
_Static_assert(sizeof(struct ks_block_mxfp4) == 17, "as in files");
_Static_assert(sizeof(struct ks_block_nvfp4) == 36, "as in files");
_Static_assert(sizeof(struct ks_block_tq1_0) == 54, "as in files");
_Static_assert(sizeof(struct ks_block_tq2_0) == 66, "as in files");
_Static_assert(sizeof(struct ks_block_iq1_s) == 50, "as in files");
_Static_assert(sizeof(struct ks_block_iq1_m) == 56, "as in files");
_Static_assert(sizeof(struct ks_block_iq2_xxs) == 66, "as in files");
_Static_assert(sizeof(struct ks_block_iq2_xs) == 74, "as in files");
_Static_assert(sizeof(struct ks_block_iq2_s) == 82, "as in files");
_Static_assert(sizeof(struct ks_block_iq3_xxs) == 98, "as in files");
_Static_assert(sizeof(struct ks_block_iq3_s) == 110, "as in files");
_Static_assert(sizeof(struct ks_block_q2_k) == 84, "as in files");
_Static_assert(sizeof(struct ks_block_q3_k) == 110, "as in files");
_Static_assert(sizeof(struct ks_block_q4_k) == 144, "as in files");
_Static_assert(sizeof(struct ks_block_q5_k) == 176, "as in files");
_Static_assert(sizeof(struct ks_block_q6_k) == 210, "as in files");
_Static_assert(sizeof(struct ks_block_iq4_xs) == 136, "as in files");

/* The 16 levels of IQ4_NL and IQ4_XS, and twice the 16 values of FP4 E2M1. */
extern const int8_t ks_iq4_values[16];
extern const int8_t ks_mxfp4_values[16];

/* Half of an E8M0 scale, 2^(e - 128), since ks_mxfp4_values are doubled. The all-ones pattern, NaN
 * in the OCP specification, is read as 2^127 like every other: that is what the ecosystem does. */
float ks_e8m0_half(uint8_t e);

/* Half of an unsigned E4M3 scale, as ks_mxfp4_values are doubled. 0x7f, NaN in the specification,
 * is read as 0; bit 7 is no part of it. */
float ks_ue4m3_half(uint8_t e);

/* Digit n (0..4) of a byte of TQ1_0. */
static inline int ks_ternary_digit(uint8_t byte, unsigned n)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * power[n]) * 3 >> 8;
}

/* Scale and min (0..63) of group g (0..7) of Q4_K and Q5_K. */
static inline void ks_k_scale_min(const uint8_t scales[12], unsigned g, uint8_t *scale,
                                  uint8_t *min)
{
    if (g < 4) {
        *scale = scales[g] & 63;
        *min = scales[g + 4] & 63;
        return;
    }
    *scale = (uint8_t)((scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4);
    *min = (uint8_t)((scales[g + 4] >> 4) | (scales[g] >> 6) << 4);
}

/* Scale (0..63, to be lowered by 32) of group g (0..15) of Q3_K. */
static inline uint8_t ks_q3_k_scale(const uint8_t scales[12], unsigned g)
{
    unsigned low = g < 8 ? scales[g] & 15u : scales[g - 8] >> 4;
    unsigned high = (unsigned)scales[8 + g % 4] >> (2 * (g / 4)) & 3;
    return (uint8_t)(low | high << 4);
}

#endif
