/*
 * The self-test: before a path is trusted with a weight, the device proves it with the weight's
 * layout and width, so by the very pipelines that the weight will use, on some rows more than a
 * tile has. What no product asks for is neither proved nor compiled.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/head/head.h"
#include "gpu/head/proof/sample.h"
#include "gpu/head/proof/twin.h"

enum {
    ROWS = 150,
    POSITIONS = 67,
    LONE = 3, /* positions with one element */
};
static const double allowed = 1e-5; /* of sum |x w| */

struct sample {
    enum ks_gpu_layout layout;
    size_t cols;
    uint8_t *parts[KS_GPU_MAX_PARTS];
    float *w, *sizes; /* (cols): a row, and what errors of its elements are measured by */
    float *x;         /* (POSITIONS, cols) */
    float *y;         /* (POSITIONS, ROWS) */
};

static void sample_finish(struct sample *s)
{
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        free(s->parts[p]);
    free(s->w);
    free(s->sizes);
    free(s->x);
    free(s->y);
}

/* The last positions have one element each: whatever a path loses of it, a half that it is split
 * into above all, is not averaged away there. */
static void fill_activations(struct sample *s, uint64_t *seed)
{
    for (size_t i = 0; i < POSITIONS * s->cols; i++)
        s->x[i] = ((float)(ks_random_next(seed) >> 40) - 0x1p23f) * 0x1p-22f;
    memset(s->x + (POSITIONS - LONE) * s->cols, 0, LONE * s->cols * sizeof *s->x);
    for (size_t p = POSITIONS - LONE; p < POSITIONS; p++)
        s->x[p * s->cols + p * 5 % s->cols] = 0x1.555556p0f; /* 2^-12 of it are past a half */
}

static int sample_init(struct sample *s, enum ks_gpu_layout layout, size_t cols,
                       struct ks_error *err)
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    size_t blocks = ROWS * (cols / info->block_elems);
    *s = (struct sample){.layout = layout,
                         .cols = cols,
                         .w = calloc(cols, sizeof *s->w),
                         .sizes = calloc(cols, sizeof *s->sizes),
                         .x = calloc(POSITIONS * cols, sizeof *s->x),
                         .y = calloc((size_t)POSITIONS * ROWS, sizeof *s->y)};
    bool all = s->w && s->sizes && s->x && s->y;
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++) {
        s->parts[p] = malloc(blocks * info->part_bytes[p] + 1);
        all = all && s->parts[p];
    }
    if (!all) {
        sample_finish(s);
        return ks_fail_memory(err, POSITIONS * cols * sizeof *s->x, "the GPU's self-test");
    }
    uint64_t seed = 1;
    fill_activations(s, &seed);
    ks_gpu_sample_fill(layout, blocks, &seed, s->parts);
    return 0;
}

static int compare_row(const struct sample *s, struct ks_gpu *gpu, enum ks_gpu_path path, size_t m,
                       uint64_t row, struct ks_error *err)
{
    const void *const *parts = (const void *const *)s->parts;
    ks_gpu_twin_row(s->layout, parts, s->cols, row, s->w);
    for (size_t k = 0; k < s->cols; k++)
        s->sizes[k] = fabsf(s->w[k]);
    if (path == KS_GPU_MATRIX)
        ks_gpu_twin_sizes(s->layout, parts, s->cols, row, s->sizes);
    for (size_t p = 0; p < m; p++) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < s->cols; k++) {
            double x = (double)s->x[p * s->cols + k];
            sum += (double)s->w[k] * x;
            size += (double)s->sizes[k] * fabs(x);
        }
        double got = (double)s->y[p * ROWS + row];
        if (!(fabs(got - sum) <= allowed * size))
            return ks_fail(err, KS_UNSUPPORTED,
                           "%s computes wrongly: %s of layout %s gives %.9g for row %llu of "
                           "position %zu, where the CPU has %.9g",
                           gpu->info.name, ks_gpu_path_name(path),
                           ks_gpu_layout_info(s->layout)->name, got, (unsigned long long)row, p,
                           sum);
    }
    return 0;
}

static int check(struct sample *s, struct ks_gpu_weight *w, struct ks_gpu_tile *y,
                 enum ks_gpu_path path, size_t m, struct ks_error *err)
{
    if (ks_gpu_tile_read(y, 0, m, s->y, err) != 0)
        return -1;
    if (ks_vk_fault(w->gpu, KS_GPU_FAULT_ANSWER))
        s->y[ROWS - 1] += 1e3f;
    for (uint64_t row = ROWS - 1; row < ROWS; row -= 9) /* past 0 it is huge */
        if (compare_row(s, w->gpu, path, m, row, err) != 0)
            return -1;
    return 0;
}

/* One for each pipeline of a path: numbers of positions, and whether the weight is decoded before.
 */
struct trial {
    size_t m;
    bool decoded;
};

static const struct trial few_trials[] = {{.m = 1}, {.m = 2}, {.m = 4}, {.m = 8}};
static const struct trial many_trials[] = {
    {.m = 5}, {.m = POSITIONS}, {.m = POSITIONS, .decoded = true}};
static const struct trial matrix_trials[] = {{.m = POSITIONS}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
    const struct trial *trials;
    size_t n;
} of_path[KS_GPU_PATHS] = {
    [KS_GPU_FEW] = {few_trials, COUNT(few_trials)},
    [KS_GPU_MANY] = {many_trials, COUNT(many_trials)},
    [KS_GPU_MATRIX] = {matrix_trials, COUNT(matrix_trials)},
};

static int multiply(struct sample *s, struct ks_gpu_weight *w, struct ks_gpu_tile *y,
                    enum ks_gpu_path path, const struct trial *t, struct ks_error *err)
{
    size_t worth = w->gpu->worth_decoding;
    w->gpu->worth_decoding = t->decoded ? 1 : SIZE_MAX;
    int failed = ks_gpu_matmul(w, path, s->x, t->m, y, err);
    w->gpu->worth_decoding = worth;
    return failed;
}

static int rehearse(struct sample *s, struct ks_gpu_weight *w, struct ks_gpu_tile *y,
                    enum ks_gpu_path path, struct ks_error *err)
{
    int failed = 0;
    ks_vk_rehearse(w->gpu);
    for (size_t i = 0; i < of_path[path].n && !failed; i++)
        failed = multiply(s, w, y, path, &of_path[path].trials[i], err);
    ks_vk_end_rehearsal(w->gpu);
    return failed;
}

static int try_all(struct sample *s, struct ks_gpu_weight *w, struct ks_gpu_tile *y,
                   enum ks_gpu_path path, struct ks_error *err)
{
    if (rehearse(s, w, y, path, err) != 0)
        return -1;
    for (size_t i = 0; i < of_path[path].n; i++) {
        const struct trial *t = &of_path[path].trials[i];
        if (multiply(s, w, y, path, t, err) != 0 || check(s, w, y, path, t->m, err) != 0)
            return -1;
    }
    return 0;
}

/* What is done with a sample: try_all or rehearse. */
typedef int sample_work(struct sample *s, struct ks_gpu_weight *w, struct ks_gpu_tile *y,
                        enum ks_gpu_path path, struct ks_error *err);

static int with_sample(struct ks_gpu *gpu, const struct ks_gpu_proof *proof, sample_work *work,
                       struct ks_error *err)
{
    struct sample s;
    if (sample_init(&s, proof->layout, (size_t)proof->cols, err) != 0)
        return -1;
    int failed = -1;
    struct ks_gpu_weight *w = ks_gpu_weight_create(gpu, proof->layout, ROWS, proof->cols, err);
    struct ks_gpu_tile *y = w ? ks_gpu_tile_create(gpu, POSITIONS, ROWS, err) : NULL;
    if (y && ks_gpu_weight_append(w, ROWS, (const void *const *)s.parts, err) == 0)
        failed = work(&s, w, y, proof->path, err);
    ks_gpu_tile_destroy(y);
    ks_gpu_weight_destroy(w);
    sample_finish(&s);
    return failed;
}

static bool is_proved(const struct ks_gpu *gpu, const struct ks_gpu_proof *proof)
{
    for (size_t i = 0; i < gpu->n_proved; i++) {
        const struct ks_gpu_proof *p = &gpu->proved[i];
        if (p->layout == proof->layout && p->cols == proof->cols && p->path == proof->path)
            return true;
    }
    return false;
}

/* With the proof on the list, or the sample's own products would ask for it; it stays there where
 * they succeed. */
static int work_as_proved(struct ks_gpu *gpu, const struct ks_gpu_proof *proof, sample_work *work,
                          struct ks_error *err)
{
    if (!gpu->tried_halves && ks_gpu_try_halves(gpu, err) != 0)
        return -1;
    size_t bytes = (gpu->n_proved + 1) * sizeof *gpu->proved;
    struct ks_gpu_proof *grown = realloc(gpu->proved, bytes);
    if (!grown)
        return ks_fail_memory(err, bytes, "a GPU's proofs");
    gpu->proved = grown;
    gpu->proved[gpu->n_proved++] = *proof;
    int failed = with_sample(gpu, proof, work, err);
    if (failed)
        gpu->n_proved--;
    return failed;
}

int ks_gpu_prove(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                 enum ks_gpu_path path, struct ks_error *err)
{
    const struct ks_gpu_proof proof = {layout, path, cols};
    if (gpu->testing.no_self_test || is_proved(gpu, &proof))
        return 0;
    return work_as_proved(gpu, &proof, try_all, err);
}

int ks_gpu_prepare(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                   enum ks_gpu_path path, struct ks_error *err)
{
    const struct ks_gpu_proof proof = {layout, path, cols};
    if (is_proved(gpu, &proof))
        return 0;
    if (work_as_proved(gpu, &proof, rehearse, err) != 0)
        return -1;
    gpu->n_proved--; /* rehearsing proves nothing */
    return 0;
}
