#include "gpu/ruler/twin.h"

#include <math.h>

#include "engine/base/bytes.h"
#include "gpu/ruler/ruler.h"

enum {
    THREADS = 128,
    RUN = 4, /* slices */
};

/* ------------------------------------------------------------------ peaks */

static uint64_t key(float logit, size_t column)
{
    uint32_t bits = ks_f32_bits(logit);
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

static float polynomial(const float *c, int n, float x)
{
    float p = c[0];
    for (int i = 1; i < n; i++)
        p = p * x + c[i];
    return p;
}

static float exponential(float x)
{
    static const float c[] = {
        1.38145150e-3f, 8.36875575e-3f, 4.16683927e-2f, 1.66665196e-1f, 4.99999940e-1f, 1.0f, 1.0f};
    float shifted = x * 1.44269504088896341f + 0x1.8p23f;
    float n = shifted - 0x1.8p23f;
    float f = n * -0.693359375f + x;
    f = n * 2.12194440e-4f + f;
    return polynomial(c, 7, f) * ks_f32_of_bits((ks_f32_bits(shifted) << 23) + 0x3f800000);
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

/* In the order of enum ks_gpu_sum. */
struct terms {
    float t[KS_GPU_SUMS];
};

struct rows {
    const float *reference, *arm;
    size_t n;
    float base, shift;
    uint32_t flags; /* of the arm */
    float table[KS_GPU_TABLE];
};

/* The nearest multiple of 1/16 is in the sum's lowest bits, and left when SIXTEENTHS is taken away.
 */
static float sixteenths(float v)
{
    return v + SIXTEENTHS;
}

static float left_of(float v)
{
    return v - (sixteenths(v) - SIXTEENTHS);
}

static float around(float whole, float f)
{
    static const float c[] = {0.166687146f, 0.500034153f, 1.0f};
    return whole * (polynomial(c, 3, f) * f) + whole;
}

static float weight(const struct rows *rows, uint32_t down, float f)
{
    return around(rows->table[down < KS_GPU_TABLE ? down : KS_GPU_TABLE - 1], f);
}

static float reference_weight(const struct rows *rows, float r)
{
    return weight(rows, ks_f32_bits(sixteenths(rows->base)) - ks_f32_bits(sixteenths(r)),
                  left_of(r));
}

static float arm_weight(struct rows *rows, float a)
{
    float left = left_of(a) - left_of(rows->shift), f = left_of(left);
    uint32_t down = ks_f32_bits(sixteenths(rows->base)) - ks_f32_bits(sixteenths(a)) +
                    ks_f32_bits(sixteenths(rows->shift)) - ks_f32_bits(sixteenths(left));
    if ((int32_t)down >= 0)
        return weight(rows, down, f);
    if ((int32_t)down < -16 * 80) {
        rows->flags |= KS_GPU_ROW_RANGE;
        return 0;
    }
    return around(exponential((float)-(int32_t)down * 0.0625f), f);
}

/* As exact as can be: less the multiple of 1/16 and the shift, which are together, and the rest. */
static float apart(const struct rows *rows, float r, float a)
{
    return (a - ((sixteenths(r) - SIXTEENTHS) + rows->shift)) - left_of(r);
}

/* false: the columns are far apart, and only what is the reference's own is told. */
static bool near_terms(const struct rows *rows, size_t i, struct terms *out)
{
    static const float c[] = {2.5679823e-05f,
                              2.03649179e-4f,
                              1.38822803e-3f,
                              8.33051186e-3f,
                              4.16667797e-2f,
                              1.66667044e-1f,
                              0.5f};
    float r = rows->reference[i], a = rows->arm[i];
    float d = apart(rows, r, a), e = reference_weight(rows, r);
    float ed = e * d, edd = ed * d, phi = edd * polynomial(c, 7, d);
    bool near = fabsf(d) < 1.0f;
    *out = (struct terms){{0}};
    if (near)
        *out = (struct terms){{ed, phi, d * phi + edd}};
    if (isfinite(r)) {
        out->t[KS_GPU_SUM_EXP] = e;
        out->t[KS_GPU_SUM_EXP_X] = e * (r - rows->base);
    }
    return near;
}

static void add_distant(struct rows *rows, size_t i, struct pair sums[KS_GPU_SUMS])
{
    float r = rows->reference[i], a = rows->arm[i];
    if ((r == -INFINITY) != (a == -INFINITY))
        rows->flags |= KS_GPU_ROW_UNEVEN;
    if (!isfinite(r) || !isfinite(a))
        return;
    float d = apart(rows, r, a), e = reference_weight(rows, r), of_arm = arm_weight(rows, a);
    sums[KS_GPU_SUM_FAR] = add(sums[KS_GPU_SUM_FAR], e * d);
    sums[KS_GPU_SUM_PHI] = add(sums[KS_GPU_SUM_PHI], of_arm - e);
    sums[KS_GPU_SUM_CROSS] = add(sums[KS_GPU_SUM_CROSS], of_arm * d);
}

/* ------------------------------------------------------------------ sums */

/* The four columns from `first` on, added plainly. Bits of *far from `bit` on: the distant ones. */
static void add_quad(const struct rows *r, size_t first, unsigned bit, struct terms *run,
                     uint32_t *far)
{
    struct terms v[4] = {{{0}}};
    for (unsigned q = 0; q < 4; q++)
        if (first + q < r->n && !near_terms(r, first + q, &v[q]))
            *far |= 1u << (bit + q);
    for (int s = 0; s < KS_GPU_SUMS; s++)
        run->t[s] += (v[0].t[s] + v[1].t[s]) + (v[2].t[s] + v[3].t[s]);
}

/* What a thread has of a run of slices, of which its first column is given. */
static void add_run(const struct rows *r, size_t first, unsigned bit, uint32_t *far,
                    struct pair sums[KS_GPU_SUMS])
{
    struct terms run = {{0}};
    for (unsigned slice = 0; slice < RUN; slice++)
        add_quad(r, first + slice * KS_GPU_SLICE, bit + 4 * slice, &run, far);
    for (int s = 0; s < KS_GPU_SUMS; s++)
        if (s != KS_GPU_SUM_FAR)
            sums[s] = add(sums[s], run.t[s]);
}

static void add_far(struct rows *r, size_t first, uint32_t far, struct pair sums[KS_GPU_SUMS])
{
    for (unsigned i = 0; i < 32; i++)
        if (far & 1u << i)
            add_distant(r, first + i / 4 * KS_GPU_SLICE + i % 4, sums);
}

#define RUN_COLUMNS ((size_t)RUN * KS_GPU_SLICE)

/* What a thread has of a chunk that begins at column `chunk`. Distant columns come after those of
 * two runs, or of one where the next is not there as a whole. */
static void add_thread(struct rows *r, size_t chunk, size_t thread, struct pair sums[KS_GPU_SUMS])
{
    size_t end = chunk + KS_GPU_CHUNK < r->n ? chunk + KS_GPU_CHUNK : r->n;
    size_t whole = (end - chunk) / RUN_COLUMNS, begun = chunk;
    uint32_t far = 0;
    for (int s = 0; s < KS_GPU_SUMS; s++)
        sums[s] = (struct pair){0, 0};
    for (size_t run = 0; chunk + run * RUN_COLUMNS < end; run++) {
        size_t here = chunk + run * RUN_COLUMNS;
        add_run(r, here + 4 * thread, here == begun ? 0 : 4 * RUN, &far, sums);
        if (run % 2 == 0 && run + 1 < whole)
            continue;
        add_far(r, begun + 4 * thread, far, sums);
        begun = here + RUN_COLUMNS;
        far = 0;
    }
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
