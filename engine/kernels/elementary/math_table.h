/*
 * The constants of exp, shared by the scalar definition (math.c) and the vectors (vec.h),
 * so that both evaluate the same polynomial. Private to the kernels.
 */
#ifndef KS_ENGINE_KERNELS_MATH_TABLE_H
#define KS_ENGINE_KERNELS_MATH_TABLE_H

#define KS_LOG2E     0x1.71547652b82fep+0
#define KS_LN2_HIGH  0x1.62e42fefa39efp-1
#define KS_LN2_LOW   0x1.abc9e3b39803fp-56
#define KS_SQRT_HALF 0x1.6a09e667f3bcdp-1

/* Adding this rounds to an integer, which then stands in the low bits. */
#define KS_ROUND_F64 0x1.8p52
#define KS_ROUND_F32 0x1.8p23f

/* Beyond these exp is 0 or +inf; inside, k fits the two-step scaling. */
#define KS_EXP_LEAST (-746.0)
#define KS_EXP_MOST  710.0

/* e^r for |r| <= ln(2)/2, highest power first; relative error 2^-56. */
#define KS_EXP_TERMS 12
#define KS_EXP_COEFFICIENTS                                                                        \
    {                                                                                              \
        0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22, 0x1.71de0dae63bb3p-19,                       \
            0x1.a019b90d2ae7ap-16, 0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10,                   \
            0x1.11111111109b3p-7, 0x1.5555555553d63p-5, 0x1.5555555555556p-3,                      \
            0x1.0000000000001p-1, 1.0, 1.0                                                         \
    }

#define KS_LOG2EF     0x1.715476p+0f
#define KS_LN2F_HIGH  0x1.62e43p-1f
#define KS_LN2F_LOW   (-0x1.05c61p-29f)
#define KS_EXPF_LEAST (-104.0f)
#define KS_EXPF_MOST  89.0f

/* The same for f32; relative error 2^-26. */
#define KS_EXPF_TERMS 7
#define KS_EXPF_COEFFICIENTS                                                                       \
    {                                                                                              \
        0x1.6d110ap-10f, 0x1.120b6ep-7f, 0x1.55551ap-5f, 0x1.5554dcp-3f, 0.5f, 1.0f, 1.0f          \
    }

/* tanh: below that square of x its series of two terms. */
#define KS_TANH_SMALL  0x1p-24
#define KS_MINUS_THIRD (-0x1.5555555555555p-2)

/* GELU by tanh is x / (1 + e^-y), y = 2 sqrt(2 / pi) (x + 0.044715 x^3): the same function, as
 * (1 + tanh(y / 2)) / 2 = 1 / (1 + e^-y). */
#define KS_GELU_SLOPE 1.5957691216057308f
#define KS_GELU_CUBIC 0.044715f

/* Of gpt-oss's gate. */
#define KS_CLAMP         7.0f
#define KS_CLAMPED_SLOPE 1.702f

#endif
