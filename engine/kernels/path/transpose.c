/*
 * Rows to a k-major panel, a square of the vector's width at a time.
 */
#include "engine/kernels/path/vector.h"

#if KS_VF == 16
/* 16 x 16: pairs, then fours inside each 128-bit quarter, then the quarters themselves. */
KS_INLINE void turn(ks_vf r[KS_VF])
{
    ks_vf t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
        __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    /* Quarter q of r[4 g + i] is now column 4 q + i of rows 4 g .. 4 g + 3. */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        ks_vf low01 = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x44);
        ks_vf high01 = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xee);
        ks_vf low23 = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x44);
        ks_vf high23 = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xee);
        t[i] = _mm512_shuffle_f32x4(low01, low23, 0x88);
        t[4 + i] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
        t[8 + i] = _mm512_shuffle_f32x4(high01, high23, 0x88);
        t[12 + i] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}
#else
/* 8 x 8: pairs, then fours inside each half, then the halves. */
KS_INLINE void turn(ks_vf r[KS_VF])
{
    ks_vf t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        __m256d a = _mm256_castps_pd(t[i]), b = _mm256_castps_pd(t[i + 1]);
        __m256d c = _mm256_castps_pd(t[i + 2]), d = _mm256_castps_pd(t[i + 3]);
        r[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        r[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        r[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        r[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
        t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = t[i];
}
#endif

/* A whole square. */
static void square(const float *rows, size_t ld, float *panel)
{
    ks_vf r[KS_VF];
#pragma GCC unroll 16
    for (size_t i = 0; i < KS_VF; i++)
        r[i] = ks_vf_load(rows + i * ld);
    turn(r);
#pragma GCC unroll 16
    for (size_t i = 0; i < KS_VF; i++)
        ks_vf_store(panel + i * KS_PANEL, r[i]);
}

/* n_rows <= KS_VF rows of k <= KS_VF elements; the missing rows are 0. */
static void part(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel)
{
    float whole[KS_VF * KS_VF] = {0}, turned[KS_VF * KS_PANEL];
    for (size_t i = 0; i < n_rows; i++)
        memcpy(whole + i * KS_VF, rows + i * ld, k * sizeof *rows);
    square(whole, KS_VF, turned);
    for (size_t i = 0; i < k; i++)
        ks_vf_store(panel + i * KS_PANEL, ks_vf_load(turned + i * KS_PANEL));
}

void KS_PATH(transpose)(const float *rows, size_t ld, size_t n_rows, size_t k, float *panel)
{
    for (size_t r = 0; r < KS_LANES; r += KS_VF) {
        size_t here = n_rows <= r ? 0 : n_rows - r < KS_VF ? n_rows - r : KS_VF;
        for (size_t i = 0; i < k; i += KS_VF) {
            const float *from = rows + (here ? r * ld : 0) + i;
            float *to = panel + i * KS_PANEL + r;
            if (here == KS_VF && k - i >= KS_VF)
                square(from, ld, to);
            else
                part(from, ld, here, k - i < KS_VF ? k - i : KS_VF, to);
        }
    }
}
