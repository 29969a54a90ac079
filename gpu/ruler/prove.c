/*
 * The ruler's self-test. Compilers of drivers may contract, reorder or fold what must be left as it
 * stands, and only a run on the device tells: so every number has to be the twin's to the bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/head/head.h"
#include "gpu/ruler/ruler.h"
#include "gpu/ruler/twin.h"

enum {
    ROWS = 17003, /* more than a chunk, and odd */
    POSITIONS = 3,
    ARMS = 2, /* the first comes with the reference's own sums */
    TOP = 10,
};

struct sample {
    float *reference, *arm; /* (POSITIONS, ROWS) */
    uint32_t targets[POSITIONS];
    struct ks_gpu_reference_row ref_rows[POSITIONS];
    struct ks_gpu_arm_row arm_rows[ARMS][POSITIONS];
};

/* About normal, of deviation 1. */
static float noise(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(ks_random_next(seed) >> 11) * 0x1p-53;
    return (float)sum;
}

/* Rows of ever larger logits that are ever further apart. */
static void fill(struct sample *s)
{
    uint64_t seed = 11;
    for (size_t p = 0; p < POSITIONS; p++) {
        float scale = p == 0 ? 0.5f : p == 1 ? 3.0f : 9.0f, apart = p == 0 ? 1e-3f : (float)p;
        for (size_t i = 0; i < ROWS; i++) {
            float r = noise(&seed) * scale;
            s->reference[p * ROWS + i] = r;
            s->arm[p * ROWS + i] = r + 0.25f + noise(&seed) * apart;
        }
        s->targets[p] = (uint32_t)ks_random_below(&seed, ROWS);
    }
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_peaks(const struct ks_gpu_peaks *a, const struct ks_gpu_peaks *b)
{
    return a->flags == b->flags && a->before == b->before && a->n_top == b->n_top &&
           same((double)a->max, (double)b->max) && same((double)a->target, (double)b->target) &&
           memcmp(a->top, b->top, sizeof a->top) == 0;
}

static int compare_position(const struct sample *s, size_t i, size_t p, const char *device,
                            struct ks_error *err)
{
    const float *r = s->reference + p * ROWS, *a = s->arm + p * ROWS;
    const struct ks_gpu_reference_row *ref = &s->ref_rows[p];
    const struct ks_gpu_arm_row *arm = &s->arm_rows[i][p];
    struct ks_gpu_peaks peaks = ks_gpu_ruler_twin_peaks(r, ROWS, s->targets[p], TOP);
    struct ks_gpu_reference_row ref_twin = ks_gpu_ruler_twin_reference(r, ROWS, &peaks);
    peaks = ks_gpu_ruler_twin_peaks(a, ROWS, s->targets[p], TOP);
    struct ks_gpu_arm_row arm_twin =
        ks_gpu_ruler_twin_arm(r, ref_twin.base, a, ROWS, arm->shift, &peaks);
    if (!same_peaks(&ref->peaks, &ref_twin.peaks) || !same_peaks(&arm->peaks, &arm_twin.peaks))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s computes wrongly: the largest logits of position %zu are not the CPU's",
                       device, p);
    if (!same((double)ref->base, (double)ref_twin.base) || !same(ref->exp, ref_twin.exp) ||
        !same(ref->exp_x, ref_twin.exp_x) || !same(arm->d, arm_twin.d) ||
        !same(arm->more, arm_twin.more) || !same(arm->psi, arm_twin.psi) ||
        !(fabsf(arm->shift - 0.25f) < 4.0f))
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s computes wrongly: sums of position %zu are %.17g, %.17g, %.17g, %.17g "
                       "and %.17g (shift %g), where the CPU has %.17g, %.17g, %.17g, %.17g and "
                       "%.17g",
                       device, p, ref->exp, ref->exp_x, arm->d, arm->more, arm->psi,
                       (double)arm->shift, ref_twin.exp, ref_twin.exp_x, arm_twin.d, arm_twin.more,
                       arm_twin.psi);
    return 0;
}

/* The sample on the device. */
struct bench {
    struct ks_gpu_ruler *ruler;
    struct ks_gpu_tile *reference, *arm;
};

static int measure(struct sample *s, const struct bench *b, struct ks_error *err)
{
    if (ks_gpu_tile_write(b->reference, 0, POSITIONS, s->reference, err) != 0 ||
        ks_gpu_tile_write(b->arm, 0, POSITIONS, s->arm, err) != 0 ||
        ks_gpu_ruler_reference(b->ruler, b->reference, s->targets, POSITIONS, err) != 0)
        return -1;
    for (size_t i = 0; i < ARMS; i++)
        if (ks_gpu_ruler_arm(b->ruler, b->arm, err) != 0)
            return -1;
    for (size_t i = 0; i < ARMS; i++)
        if (ks_gpu_ruler_collect(b->ruler, s->ref_rows, s->arm_rows[i], err) != 0)
            return -1;
    return 0;
}

static int test(struct sample *s, const struct bench *b, struct ks_gpu *gpu, struct ks_error *err)
{
    fill(s);
    if (measure(s, b, err) != 0)
        return -1;
    if (ks_vk_fault(gpu, KS_GPU_FAULT_ANSWER))
        s->arm_rows[0][0].more += 1e-9;
    for (size_t i = 0; i < ARMS; i++)
        for (size_t p = 0; p < POSITIONS; p++)
            if (compare_position(s, i, p, gpu->info.name, err) != 0)
                return -1;
    return 0;
}

static int rehearse(struct sample *s, const struct bench *b, struct ks_gpu *gpu,
                    struct ks_error *err)
{
    ks_vk_rehearse(gpu);
    int failed = measure(s, b, err);
    ks_vk_end_rehearsal(gpu);
    return failed;
}

static int with_sample(struct ks_gpu *gpu,
                       int (*work)(struct sample *s, const struct bench *b, struct ks_gpu *gpu,
                                   struct ks_error *err),
                       struct ks_error *err)
{
    const size_t n = (size_t)POSITIONS * ROWS;
    struct sample s = {.reference = calloc(n, sizeof(float)), .arm = calloc(n, sizeof(float))};
    struct bench b = {0};
    int failed = -1;
    if (s.reference && s.arm) {
        b.ruler = ks_gpu_ruler_create(gpu, POSITIONS, ROWS, TOP, err);
        b.reference = b.ruler ? ks_gpu_tile_create(gpu, POSITIONS, ROWS, err) : NULL;
        b.arm = b.reference ? ks_gpu_tile_create(gpu, POSITIONS, ROWS, err) : NULL;
        if (b.arm)
            failed = work(&s, &b, gpu, err);
    } else {
        ks_fail_memory(err, 2 * n * sizeof(float), "the GPU's self-test");
    }
    ks_gpu_tile_destroy(b.arm);
    ks_gpu_tile_destroy(b.reference);
    ks_gpu_ruler_destroy(b.ruler);
    free(s.reference);
    free(s.arm);
    return failed;
}

/* The flags are up while the sample is worked on, or it would ask for the same again. */

int ks_gpu_ruler_self_test(struct ks_gpu *gpu, struct ks_error *err)
{
    gpu->rehearsed_ruler = gpu->proved_ruler = true;
    int failed = with_sample(gpu, test, err);
    gpu->proved_ruler = failed == 0;
    return failed;
}

int ks_gpu_ruler_prove(struct ks_gpu *gpu, struct ks_error *err)
{
    return gpu->proved_ruler || gpu->testing.no_self_test ? 0 : ks_gpu_ruler_self_test(gpu, err);
}

int ks_gpu_ruler_rehearse(struct ks_gpu *gpu, struct ks_error *err)
{
    bool proved = gpu->proved_ruler;
    if (gpu->rehearsed_ruler || gpu->testing.no_self_test)
        return 0;
    gpu->rehearsed_ruler = gpu->proved_ruler = true;
    int failed = with_sample(gpu, rehearse, err);
    gpu->proved_ruler = proved;
    return failed;
}
