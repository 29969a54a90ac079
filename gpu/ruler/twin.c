#include "gpu/ruler/twin.h"

#include <math.h>
#include <string.h>

#include "gpu/ruler/ruler.h"

#define THREADS 256

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

static float clamp(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
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

#define LEAST -69.0f

static float weight(float x, float low)
{
    return x >= LEAST ? exponential(x, low) : 0.0f;
}

/* ------------------------------------------------------------------ terms */

#define MAX_SUMS 3

struct terms {
    float t[MAX_SUMS];
};

struct rows {
    const float *reference, *arm; /* arm: NULL where only the reference is measured */
    size_t n;
    float max, shift;
    uint32_t flags;
};

static struct terms reference_terms(const struct rows *r, size_t i)
{
    if (r->reference[i] == -INFINITY)
        return (struct terms){{0}};
    struct pair x = difference(r->reference[i], r->max);
    float e = weight(x.high, x.low);
    return (struct terms){{e, e * clamp(x.high, LEAST, 0.0f)}};
}

/* d, e^d - 1 - d and e^d (d - 1) + 1 for |d| < 1 */
static struct terms close_terms(float d)
{
    static const float c[] = {2.76909691e-6f, 2.53343005e-5f, 1.98444221e-4f, 1.38858100e-3f,
                              8.33330955e-3f, 4.16667163e-2f, 1.66666672e-1f, 0.5f};
    float p = polynomial(c, 8, d), square = d * d;
    return (struct terms){{d, p * square, (p * (d - 1.0f) + 1.0f) * square}};
}

static struct terms distant_terms(struct rows *rows, float x, struct pair apart)
{
    struct pair off = difference(apart.high, rows->shift);
    float low = off.low + apart.low, d = off.high + low, rest = low - (d - off.high);
    if (!(d <= 80.0f) || (x < LEAST && !(x + d <= -43.0f))) {
        rows->flags |= KS_GPU_ROW_RANGE;
        return (struct terms){{0}};
    }
    float e = exponential(d < -87.0f ? -87.0f : d, rest);
    return (struct terms){{d, (e - 1.0f) - d, e * (d - 1.0f) + 1.0f}};
}

static struct terms arm_terms(struct rows *rows, size_t i)
{
    float r = rows->reference[i], a = rows->arm[i];
    if (r == -INFINITY || a == -INFINITY) {
        rows->flags |= r == a ? 0 : KS_GPU_ROW_UNEVEN;
        return (struct terms){{0}};
    }
    struct pair apart = difference(a, r);
    float x = r - rows->max, d = (apart.high - rows->shift) + apart.low;
    float e = weight(x, 0.0f);
    struct terms t = fabsf(d) < 1.0f ? close_terms(d) : distant_terms(rows, x, apart);
    for (int s = 0; s < MAX_SUMS; s++)
        t.t[s] *= e;
    return t;
}

static struct terms terms_of(struct rows *r, size_t i)
{
    if (i >= r->n)
        return (struct terms){{0}};
    return r->arm ? arm_terms(r, i) : reference_terms(r, i);
}

/* ------------------------------------------------------------------ sums */

/* What a thread has of a chunk. */
static void add_thread(struct rows *r, size_t first, struct pair sums[MAX_SUMS])
{
    for (int s = 0; s < MAX_SUMS; s++)
        sums[s] = (struct pair){0, 0};
    for (size_t slice = 0; slice < KS_GPU_CHUNK; slice += KS_GPU_SLICE) {
        size_t i = first + slice;
        if (i >= r->n)
            return;
        struct terms v[4];
        for (size_t q = 0; q < 4; q++)
            v[q] = terms_of(r, i + q);
        for (int s = 0; s < MAX_SUMS; s++)
            sums[s] = add(sums[s], (v[0].t[s] + v[1].t[s]) + (v[2].t[s] + v[3].t[s]));
    }
}

static void add_row(struct rows *r, double out[MAX_SUMS])
{
    struct pair total[MAX_SUMS] = {{0, 0}};
    for (size_t chunk = 0; chunk < r->n; chunk += KS_GPU_CHUNK) {
        struct pair tree[THREADS][MAX_SUMS];
        for (size_t t = 0; t < THREADS; t++)
            add_thread(r, chunk + 4 * t, tree[t]);
        for (size_t apart = THREADS / 2; apart > 0; apart /= 2)
            for (size_t t = 0; t < apart; t++)
                for (int s = 0; s < MAX_SUMS; s++)
                    tree[t][s] = join(tree[t][s], tree[t + apart][s]);
        for (int s = 0; s < MAX_SUMS; s++)
            total[s] = join(total[s], tree[0][s]);
    }
    for (int s = 0; s < MAX_SUMS; s++)
        out[s] = (double)total[s].high + (double)total[s].low;
}

struct ks_gpu_reference_row ks_gpu_ruler_twin_reference(const float *row, size_t n,
                                                        const struct ks_gpu_peaks *peaks)
{
    struct rows r = {.reference = row, .n = n, .max = peaks->max};
    double sums[MAX_SUMS];
    add_row(&r, sums);
    return (struct ks_gpu_reference_row){*peaks, sums[0], sums[1]};
}

struct ks_gpu_arm_row ks_gpu_ruler_twin_arm(const float *reference, float max, const float *arm,
                                            size_t n, float shift, const struct ks_gpu_peaks *peaks)
{
    struct rows r = {.reference = reference, .arm = arm, .n = n, .max = max, .shift = shift};
    double sums[MAX_SUMS];
    add_row(&r, sums);
    struct ks_gpu_arm_row out = {*peaks, shift, sums[0], sums[1], sums[2]};
    out.peaks.flags |= r.flags;
    return out;
}
