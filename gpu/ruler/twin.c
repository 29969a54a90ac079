#include "gpu/ruler/twin.h"

#include <math.h>
#include <string.h>

#include "gpu/ruler/ruler.h"

#define THREADS 128
#define RUN     4 /* slices */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ------------------------------------------------------------------ peaks */

static uint64_t key(float logit, size_t column)
{
    uint32_t bits = bits_of(logit);
    if (bits == 0x80000000)
        bits = 0;
    uint32_t order = bits & 0x80000000 ? ~bits : bits | 0x80000000;
    return (uint64_t)order << 32 | ~(uint32_t)column;
}

struct ks_gpu_peaks ks_gpu_ruler_twin_peaks(const float *row, size_t n, uint32_t target,
                                            uint32_t top)
{
    struct ks_gpu_peaks p = {.target = row[target], .n_top = n < top ? (uint32_t)n : top};
    for (size_t i = 0; i < n; i++) {
        p.before += key(row[i], i) > key(row[target], target);
        if (!(row[i] <= 0x1.fffffep127f))
            p.flags |= KS_GPU_ROW_NONFINITE;
    }
    uint64_t last = UINT64_MAX;
    for (uint32_t k = 0; k < p.n_top; k++) {
        uint64_t best = 0;
        for (size_t i = 0; i < n; i++)
            if (key(row[i], i) < last && key(row[i], i) > best)
                best = key(row[i], i);
        p.top[k] = ~(uint32_t)best;
        last = best;
    }
    p.max = row[p.top[0]];
    return p;
}

/* ------------------------------------------------------------------ arithmetic */

struct pair {
    float high, low;
};

static struct pair add(struct pair s, float v)
{
    float t = s.high + v, z = t - s.high;
    return (struct pair){t, s.low + ((s.high - (t - z)) + (v - z))};
}

static struct pair join(struct pair a, struct pair b)
{
    float t = a.high + b.high, z = t - a.high;
    float low = (a.low + b.low) + ((a.high - (t - z)) + (b.high - z));
    float high = t + low;
    return (struct pair){high, low - (high - t)};
}

static struct pair difference(float a, float b)
{
    float t = a - b, z = t - a;
    return (struct pair){t, (a - (t - z)) - (b + z)};
}

static float polynomial(const float *c, int n, float x)
{
    float p = c[0];
    for (int i = 1; i < n; i++)
        p = p * x + c[i];
    return p;
}

static float exponential(float x, float low)
{
    static const float c[] = {
        1.38145150e-3f, 8.36875575e-3f, 4.16683927e-2f, 1.66665196e-1f, 4.99999940e-1f, 1.0f, 1.0f};
    float shifted = x * 1.44269504088896341f + 0x1.8p23f;
    float n = shifted - 0x1.8p23f;
    float f = n * -0.693359375f + x;
    f = n * 2.12194440e-4f + f;
    return polynomial(c, 7, f + low) * float_of((bits_of(shifted) << 23) + 0x3f800000);
}

void ks_gpu_ruler_table(float table[KS_GPU_TABLE])
{
    double e = 1;
    for (int i = 0; i < KS_GPU_TABLE - 1; i++, e *= 0x1.e0fabfbc702a4p-1) /* e^(-1/16) */
        table[i] = (float)e;
    table[KS_GPU_TABLE - 1] = 0;
}

/* ------------------------------------------------------------------ terms */

#define SIXTEENTHS 786432.0f

/* In the order of enum ks_gpu_sum; FAR is added apart. */
struct terms {
    float t[KS_GPU_SUMS];
};

struct rows {
    const float *reference, *arm;
    size_t n;
    float base, shift;
    uint32_t flags;  /* of the arm */
    struct pair far; /* of the thread whose terms are made */
    float table[KS_GPU_TABLE];
};

static struct terms near_terms(const struct rows *rows, float r, float a, float *d)
{
    static const float e_c[] = {0.166687146f, 0.500034153f, 1.0f};
    static const float phi_c[] = {2.5679823e-05f,
                                  2.03649179e-4f,
                                  1.38822803e-3f,
                                  8.33051186e-3f,
                                  4.16667797e-2f,
                                  1.66667044e-1f,
                                  0.5f};
    float shifted = r + SIXTEENTHS, sixteenths = shifted - SIXTEENTHS, f = r - sixteenths;
    uint32_t down = bits_of(rows->base + SIXTEENTHS) - bits_of(shifted);
    down = down < KS_GPU_TABLE ? down : KS_GPU_TABLE - 1;
    float whole = rows->table[down], e = whole * (polynomial(e_c, 3, f) * f) + whole;
    *d = (a - (sixteenths + rows->shift)) - f;
    float ed = e * *d, edd = ed * *d, phi = edd * polynomial(phi_c, 7, *d);
    return (struct terms){{ed, phi, *d * phi + edd, 0, e, e * (r - rows->base)}};
}

static bool wrong(float v)
{
    return isnan(v) || v == INFINITY;
}

static struct terms distant_terms(struct rows *rows, float r, float a, struct terms t)
{
    if (wrong(r) || r == -INFINITY)
        t.t[KS_GPU_SUM_EXP] = t.t[KS_GPU_SUM_EXP_X] = 0;
    float weight = t.t[KS_GPU_SUM_EXP];
    struct terms none = {{0, 0, 0, 0, weight, t.t[KS_GPU_SUM_EXP_X]}};
    if (wrong(r) || wrong(a) || r == -INFINITY || a == -INFINITY) {
        rows->flags |= (r == -INFINITY) != (a == -INFINITY) ? KS_GPU_ROW_UNEVEN : 0;
        return none;
    }
    struct pair apart = difference(a, r), off = difference(apart.high, rows->shift);
    struct pair x = difference(r, rows->base);
    float low = off.low + apart.low, d = off.high + low;
    struct pair sum = difference(d, -x.high);
    float lower = (sum.low + x.low) + (low - (d - off.high));
    if (!(sum.high <= 80.0f)) {
        rows->flags |= KS_GPU_ROW_RANGE;
        return none;
    }
    float e = exponential(sum.high < -87.0f ? -87.0f : sum.high, lower);
    rows->far = add(rows->far, weight * d);
    return (struct terms){{0, e - weight, e * d, 0, weight, t.t[KS_GPU_SUM_EXP_X]}};
}

static struct terms terms_of(struct rows *rows, size_t i)
{
    if (i >= rows->n)
        return (struct terms){{0}};
    float r = rows->reference[i], a = rows->arm[i], d;
    struct terms t = near_terms(rows, r, a, &d);
    return fabsf(d) < 1.0f ? t : distant_terms(rows, r, a, t);
}

/* ------------------------------------------------------------------ sums */

/* What a thread adds plainly. */
static struct terms run_of(struct rows *r, size_t first)
{
    struct terms run = {{0}};
    for (size_t slice = 0; slice < RUN; slice++) {
        struct terms v[4];
        for (size_t q = 0; q < 4; q++)
            v[q] = terms_of(r, first + slice * KS_GPU_SLICE + q);
        for (int s = 0; s < KS_GPU_SUMS; s++)
            run.t[s] += (v[0].t[s] + v[1].t[s]) + (v[2].t[s] + v[3].t[s]);
    }
    return run;
}

/* What a thread has of a chunk that begins at column `chunk`. */
static void add_thread(struct rows *r, size_t chunk, size_t thread, struct pair sums[KS_GPU_SUMS])
{
    for (int s = 0; s < KS_GPU_SUMS; s++)
        sums[s] = (struct pair){0, 0};
    r->far = (struct pair){0, 0};
    for (size_t i = chunk; i < r->n && i < chunk + KS_GPU_CHUNK; i += RUN * KS_GPU_SLICE) {
        struct terms run = run_of(r, i + 4 * thread);
        for (int s = 0; s < KS_GPU_SUMS; s++)
            sums[s] = add(sums[s], run.t[s]);
    }
    sums[KS_GPU_SUM_FAR] = r->far;
}

static void add_row(struct rows *r, double out[KS_GPU_SUMS])
{
    struct pair total[KS_GPU_SUMS] = {{0, 0}};
    ks_gpu_ruler_table(r->table);
    for (size_t chunk = 0; chunk < r->n; chunk += KS_GPU_CHUNK) {
        struct pair tree[THREADS][KS_GPU_SUMS];
        for (size_t t = 0; t < THREADS; t++)
            add_thread(r, chunk, t, tree[t]);
        for (size_t apart = THREADS / 2; apart > 0; apart /= 2)
            for (size_t t = 0; t < apart; t++)
                for (int s = 0; s < KS_GPU_SUMS; s++)
                    tree[t][s] = join(tree[t][s], tree[t + apart][s]);
        for (int s = 0; s < KS_GPU_SUMS; s++)
            total[s] = join(total[s], tree[0][s]);
    }
    for (int s = 0; s < KS_GPU_SUMS; s++)
        out[s] = (double)total[s].high + (double)total[s].low;
}

struct ks_gpu_reference_row ks_gpu_ruler_twin_reference(const float *row, size_t n,
                                                        const struct ks_gpu_peaks *peaks)
{
    float base = (peaks->max + SIXTEENTHS) - SIXTEENTHS;
    struct rows r = {.reference = row, .arm = row, .n = n, .base = base};
    double sums[KS_GPU_SUMS];
    add_row(&r, sums);
    return (struct ks_gpu_reference_row){*peaks, base, sums[KS_GPU_SUM_EXP],
                                         sums[KS_GPU_SUM_EXP_X]};
}

struct ks_gpu_arm_row ks_gpu_ruler_twin_arm(const float *reference, float base, const float *arm,
                                            size_t n, float shift, const struct ks_gpu_peaks *peaks)
{
    struct rows r = {.reference = reference, .arm = arm, .n = n, .base = base, .shift = shift};
    double sums[KS_GPU_SUMS];
    add_row(&r, sums);
    struct ks_gpu_arm_row out = {
        .peaks = *peaks,
        .shift = shift,
        .d = sums[KS_GPU_SUM_D] + sums[KS_GPU_SUM_FAR],
        .more = sums[KS_GPU_SUM_D] + sums[KS_GPU_SUM_PHI],
        .psi = sums[KS_GPU_SUM_CROSS] - sums[KS_GPU_SUM_PHI],
    };
    out.peaks.flags |= r.flags;
    return out;
}
