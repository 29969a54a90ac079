/*
 * Sums over rows of logits, in dispatches: each stage over all positions, cut where the segments
 * of a tile end and so that no dispatch takes long.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/head/head.h"
#include "gpu/ruler/ruler.h"

/* Of a column in the costliest stage, as units of arithmetic. */
#define COLUMN_COST 128.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ------------------------------------------------------------------ its memory */

static int check_shape(const struct ks_gpu_ruler *r, struct ks_error *err)
{
    uint64_t keys = (uint64_t)r->positions * r->chunks * KS_GPU_GROUPS * 8;
    uint32_t shared = r->top * KS_GPU_GROUP * 4 + 2048;
    if (r->gpu->info.subgroup_size < 2 || r->gpu->info.max_shared_bytes < shared)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: sums with a top %u need %u bytes in a work-group and subgroups of 2; "
                       "it has %u and %u",
                       r->gpu->info.name, r->top, shared, r->gpu->info.max_shared_bytes,
                       r->gpu->info.subgroup_size);
    if (r->rows > INT32_MAX || r->chunks > 65535 || keys > r->gpu->max_bytes)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: sums over %zu rows of %llu logits take more than a binding",
                       r->gpu->info.name, r->positions, (unsigned long long)r->rows);
    return 0;
}

static int create_buffers(struct ks_gpu_ruler *r, struct ks_error *err)
{
    uint64_t n = r->positions, chunks = n * r->chunks;
    uint64_t picks = n * (KS_GPU_PICK_WORDS + r->top) * 4;
    struct {
        struct ks_vk_buffer *buffer;
        uint64_t bytes;
    } all[] = {
        {&r->targets, n * 4},
        {&r->keys, chunks * KS_GPU_GROUPS * 8},
        {&r->partials, chunks * KS_GPU_PARTIAL_WORDS * 4},
        {&r->aims, n * 16},
        {&r->picks_ref, picks},
        {&r->picks_arm, picks},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (ks_vk_buffer_create(r->gpu, KS_VK_ON_DEVICE, all[i].bytes, "the ruler's sums",
                                all[i].buffer, err) != 0)
            return -1;
    return 0;
}

struct ks_gpu_ruler *ks_gpu_ruler_create(struct ks_gpu *gpu, size_t positions, uint64_t rows,
                                         uint32_t top, struct ks_error *err)
{
    assert(positions >= 1 && positions <= KS_GPU_MAX_POSITIONS && rows >= 1);
    assert(top >= 1 && top <= KS_GPU_MAX_TOP);
    if (!gpu->proved_ruler && !gpu->testing.no_self_test && ks_gpu_ruler_self_test(gpu, err) != 0)
        return NULL;
    struct ks_gpu_ruler *r = calloc(1, sizeof *r);
    if (!r) {
        ks_fail_memory(err, sizeof *r, "a GPU's ruler");
        return NULL;
    }
    *r = (struct ks_gpu_ruler){
        .gpu = gpu,
        .positions = positions,
        .rows = rows,
        .top = (uint32_t)least(top, rows),
        .chunks = (uint32_t)((rows + KS_GPU_CHUNK - 1) / KS_GPU_CHUNK),
    };
    if (check_shape(r, err) != 0 || create_buffers(r, err) != 0) {
        ks_gpu_ruler_destroy(r);
        return NULL;
    }
    return r;
}

void ks_gpu_ruler_destroy(struct ks_gpu_ruler *r)
{
    if (!r)
        return;
    vkDeviceWaitIdle(r->gpu->device);
    ks_vk_buffer_destroy(r->gpu, &r->targets);
    ks_vk_buffer_destroy(r->gpu, &r->keys);
    ks_vk_buffer_destroy(r->gpu, &r->partials);
    ks_vk_buffer_destroy(r->gpu, &r->aims);
    ks_vk_buffer_destroy(r->gpu, &r->picks_ref);
    ks_vk_buffer_destroy(r->gpu, &r->picks_arm);
    free(r);
}

/* ------------------------------------------------------------------ stages */

struct work {
    struct ks_gpu_ruler *ruler;
    const struct ks_gpu_tile *reference, *arm; /* arm: NULL while measuring the reference */
    size_t m;
    struct ks_vk_slot *slot;
};

/* Some positions that lie in one segment of each tile. */
struct span {
    size_t first, n;
    const struct ks_vk_buffer *reference, *arm;
};

/* As in row.glsl. */
struct where {
    uint32_t width, stride, chunks, first, row, arm_row, threads;
};

static size_t left_in_segment(const struct ks_gpu_tile *t, size_t position)
{
    return t->per_segment - position % t->per_segment;
}

static struct span next_span(const struct work *w, size_t first)
{
    struct span s = {.first = first,
                     .n = least(w->m - first, left_in_segment(w->reference, first))};
    s.reference = &w->reference->segments[first / w->reference->per_segment];
    if (w->arm) {
        s.n = least(s.n, left_in_segment(w->arm, first));
        s.arm = &w->arm->segments[first / w->arm->per_segment];
    }
    double row_cost = COLUMN_COST * (double)w->ruler->rows;
    size_t quick = (size_t)(w->ruler->gpu->flops_per_submit / row_cost);
    s.n = least(s.n, quick ? quick : 1);
    return s;
}

/* Which threads a stage has: a work-group for each chunk of a row, one for each row, or one thread
 * for each row. */
enum threads { CHUNKS, ROWS, POSITIONS };

static void set_groups(struct ks_vk_dispatch *d, const struct work *w, const struct span *s,
                       enum threads threads)
{
    uint32_t n = (uint32_t)s->n;
    d->groups[0] = threads == CHUNKS ? w->ruler->chunks : threads == ROWS ? n : (n + 63) / 64;
    d->groups[1] = threads == CHUNKS ? n : 1;
    d->groups[2] = 1;
    d->flops = COLUMN_COST * (double)s->n * (double)(threads == CHUNKS ? w->ruler->rows : 1000);
}

static int dispatch(struct work *w, const struct span *s, enum threads threads,
                    struct ks_vk_dispatch *d, struct ks_error *err)
{
    struct where where = {
        .width = (uint32_t)w->ruler->rows,
        .stride = (uint32_t)w->reference->stride,
        .chunks = w->ruler->chunks,
        .first = (uint32_t)s->first,
        .row = (uint32_t)(s->first % w->reference->per_segment),
        .arm_row = w->arm ? (uint32_t)(s->first % w->arm->per_segment) : 0,
        .threads = (uint32_t)s->n,
    };
    d->push = &where;
    d->push_bytes = sizeof where;
    set_groups(d, w, s, threads);
    return ks_vk_dispatch(w->ruler->gpu, &w->slot, d, err);
}

/* Threads that shuffle among themselves. */
static uint32_t lanes(const struct ks_gpu *gpu)
{
    return (uint32_t)least(gpu->info.subgroup_size, 64);
}

static int peaks(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {.key = {.shader = KS_VK_PEAKS},
                               .buffers = {s->reference, &r->targets, &r->keys, &r->partials}};
    return dispatch(w, s, CHUNKS, &d, err);
}

/* Of the arm where there is one. */
static int pick(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct span own = *s;
    struct work of = *w;
    if (w->arm) {
        own.reference = s->arm;
        of.reference = w->arm;
    }
    struct ks_vk_dispatch d = {.key = {.shader = KS_VK_PICK, .constants = {r->top, lanes(r->gpu)}},
                               .buffers = {own.reference, &r->targets, &r->keys, &r->partials,
                                           w->arm ? &r->picks_arm : &r->picks_ref}};
    int failed = dispatch(&of, &own, ROWS, &d, err);
    w->slot = of.slot;
    return failed;
}

static int sums(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {.key = {.shader = KS_VK_SUMS, .constants = {r->top, lanes(r->gpu)}},
                               .buffers = {s->reference, &r->picks_ref, &r->partials}};
    return dispatch(w, s, CHUNKS, &d, err);
}

static int aim(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_AIM, .constants = {r->top}},
        .buffers = {s->reference, s->arm, &r->picks_ref, &r->targets, &r->aims}};
    return dispatch(w, s, POSITIONS, &d, err);
}

static int compare(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {.key = {.shader = KS_VK_COMPARE, .constants = {lanes(r->gpu)}},
                               .buffers = {s->reference, s->arm, &r->aims, &r->keys, &r->partials}};
    return dispatch(w, s, CHUNKS, &d, err);
}

static int total(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    uint32_t n_sums = w->arm ? 3 : 2;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_TOTAL, .constants = {r->top, n_sums}},
        .buffers = {&r->partials, &r->aims, w->arm ? &r->picks_arm : &r->picks_ref}};
    struct span each = *s; /* a thread for each sum */
    each.n *= n_sums;
    return dispatch(w, &each, POSITIONS, &d, err);
}

typedef int stage(struct work *w, const struct span *s, struct ks_error *err);

/* Each stage sees what those before it wrote. */
static int run(struct work *w, stage *const stages[], struct ks_error *err)
{
    for (size_t i = 0; stages[i]; i++) {
        ks_vk_barrier(w->slot);
        for (size_t p = 0; p < w->m;) {
            struct span s = next_span(w, p);
            if (stages[i](w, &s, err) != 0)
                return -1;
            p += s.n;
        }
    }
    return ks_vk_submit(w->ruler->gpu, w->slot, err);
}

/* ------------------------------------------------------------------ answers */

static uint32_t word(const uint8_t *pick, unsigned i)
{
    return ks_le32(pick + 4 * i);
}

static float real(const uint8_t *pick, unsigned i)
{
    uint32_t bits = word(pick, i);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double sum(const uint8_t *pick, unsigned i)
{
    return (double)real(pick, 4 + 2 * i) + (double)real(pick, 5 + 2 * i);
}

static struct ks_gpu_peaks peaks_of(const struct ks_gpu_ruler *r, const uint8_t *pick)
{
    struct ks_gpu_peaks p = {
        .flags = word(pick, 0),
        .before = word(pick, 1),
        .target = real(pick, 2),
        .max = real(pick, 3),
        .n_top = r->top,
    };
    for (uint32_t i = 0; i < r->top; i++)
        p.top[i] = word(pick, KS_GPU_PICK_WORDS + i);
    return p;
}

static size_t pick_bytes(const struct ks_gpu_ruler *r)
{
    return (KS_GPU_PICK_WORDS + r->top) * 4;
}

/* The caller's to free(). */
static uint8_t *read_picks(struct ks_gpu_ruler *r, const struct ks_vk_buffer *picks, size_t m,
                           struct ks_error *err)
{
    size_t bytes = m * pick_bytes(r);
    uint8_t *words = malloc(bytes);
    if (!words) {
        ks_fail_memory(err, bytes, "a GPU's sums");
        return NULL;
    }
    if (ks_vk_buffer_read(r->gpu, picks, 0, words, bytes, r->gpu->submitted, err) == 0)
        return words;
    free(words);
    return NULL;
}

int ks_gpu_ruler_reference(struct ks_gpu_ruler *r, const struct ks_gpu_tile *reference,
                           const uint32_t *targets, size_t m, struct ks_gpu_reference_row *out,
                           struct ks_error *err)
{
    static stage *const stages[] = {peaks, pick, sums, total, NULL};
    assert(m >= 1 && m <= r->positions && m <= reference->positions && reference->rows == r->rows);
    for (size_t i = 0; i < m; i++)
        if (targets[i] >= r->rows)
            return ks_fail(err, KS_BAD_INPUT,
                           "the next token is %u, but a row of logits has the tokens 0 to %llu",
                           targets[i], (unsigned long long)r->rows - 1);
    struct work w = {.ruler = r, .reference = reference, .m = m};
    r->measured = 0;
    if (ks_vk_begin(r->gpu, &w.slot, err) != 0 ||
        ks_vk_copy_in(r->gpu, &w.slot, &r->targets, 0, targets, m * 4, err) != 0 ||
        run(&w, stages, err) != 0)
        return -1;
    uint8_t *words = read_picks(r, &r->picks_ref, m, err);
    if (!words)
        return -1;
    for (size_t i = 0; i < m; i++) {
        const uint8_t *pick = words + i * pick_bytes(r);
        out[i] = (struct ks_gpu_reference_row){peaks_of(r, pick), sum(pick, 0), sum(pick, 1)};
    }
    free(words);
    r->reference = reference;
    r->measured = m;
    return 0;
}

int ks_gpu_ruler_arm(struct ks_gpu_ruler *r, const struct ks_gpu_tile *arm, size_t m,
                     struct ks_gpu_arm_row *out, struct ks_error *err)
{
    static stage *const stages[] = {aim, compare, pick, total, NULL};
    assert(m >= 1 && m <= r->measured && m <= arm->positions && arm->rows == r->rows);
    struct work w = {.ruler = r, .reference = r->reference, .arm = arm, .m = m};
    if (ks_vk_begin(r->gpu, &w.slot, err) != 0 || run(&w, stages, err) != 0)
        return -1;
    uint8_t *words = read_picks(r, &r->picks_arm, m, err);
    if (!words)
        return -1;
    for (size_t i = 0; i < m; i++) {
        const uint8_t *pick = words + i * pick_bytes(r);
        out[i] = (struct ks_gpu_arm_row){peaks_of(r, pick), real(pick, 10), sum(pick, 0),
                                         sum(pick, 1), sum(pick, 2)};
    }
    free(words);
    return 0;
}
