/*
 * Sums over rows of logits, in dispatches: each stage over all positions, cut where the segments
 * of a tile end and so that no dispatch takes long.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "gpu/head/product.h"
#include "gpu/ruler/ruler.h"

/* Of a column in the costliest stage, as units of arithmetic. */
#define COLUMN_COST 64.0

enum { TOTAL_POSITIONS = 8 }; /* of a work-group of total.comp */

/* ------------------------------------------------------------------ its memory */

static uint64_t record_words(const struct ks_gpu_ruler *r)
{
    return KS_GPU_RECORD_WORDS + 2 * KS_GPU_SLICE_BLOCKS * (uint64_t)r->chunks;
}

static int check_shape(const struct ks_gpu_ruler *r, struct ks_error *err)
{
    uint64_t notes = KS_GPU_RECORDS_WORD + r->positions * record_words(r);
    if (r->rows > (uint64_t)KS_GPU_CHUNKS * KS_GPU_CHUNK || notes * 4 > r->gpu->max_bytes)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: no sums over %zu rows of %llu logits; of %d at most, and within a "
                       "binding",
                       r->gpu->info.name, r->positions, (unsigned long long)r->rows,
                       KS_GPU_CHUNKS * KS_GPU_CHUNK);
    return 0;
}

static int create_buffers(struct ks_gpu_ruler *r, struct ks_error *err)
{
    static const char what[] = "the ruler's sums";
    float table[KS_GPU_TABLE];
    uint64_t notes = KS_GPU_RECORDS_WORD + r->positions * record_words(r);
    uint64_t partials = (uint64_t)r->positions * r->chunks * KS_GPU_PARTIAL_WORDS;
    uint64_t answers = r->positions * ks_gpu_answer_words(r);
    ks_gpu_ruler_table(table);
    if (ks_vk_buffer_create(r->gpu, KS_VK_ON_DEVICE, notes * 4, what, &r->notes, err) != 0 ||
        ks_vk_buffer_create(r->gpu, KS_VK_ON_DEVICE, partials * 4, what, &r->partials, err) != 0 ||
        ks_vk_buffer_create(r->gpu, KS_VK_ON_DEVICE, answers * 4, what, &r->aimed, err) != 0 ||
        ks_vk_buffer_write(r->gpu, &r->notes, 0, table, sizeof table, err) != 0)
        return -1;
    for (size_t i = 0; i < KS_GPU_AHEAD; i++)
        if (ks_vk_buffer_create(r->gpu, KS_VK_STAGING, answers * 4, what, &r->queue[i].words,
                                err) != 0)
            return -1;
    r->targets = calloc(r->positions, sizeof *r->targets);
    return r->targets ? 0 : ks_fail_memory(err, r->positions * sizeof *r->targets, what);
}

struct ks_gpu_ruler *ks_gpu_ruler_create(struct ks_gpu *gpu, size_t positions, uint64_t rows,
                                         uint32_t top, struct ks_error *err)
{
    assert(positions >= 1 && positions <= KS_GPU_MAX_POSITIONS && rows >= 1);
    assert(top >= 1 && top <= KS_GPU_MAX_TOP);
    if (ks_gpu_ruler_rehearse(gpu, err) != 0)
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
        .top = (uint32_t)ks_gpu_least(top, rows),
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
    ks_vk_buffer_destroy(r->gpu, &r->notes);
    ks_vk_buffer_destroy(r->gpu, &r->partials);
    ks_vk_buffer_destroy(r->gpu, &r->aimed);
    for (size_t i = 0; i < KS_GPU_AHEAD; i++)
        ks_vk_buffer_destroy(r->gpu, &r->queue[i].words);
    free(r->targets);
    free(r);
}

/* ------------------------------------------------------------------ stages */

struct work {
    struct ks_gpu_ruler *ruler;
    const struct ks_gpu_tile *reference, *arm;
    const struct ks_vk_buffer *answers;
    bool own; /* the reference's sums, too */
    struct ks_vk_slot *slot;
};

/* Some positions that lie in one segment of each tile. */
struct span {
    size_t first, n;
    size_t reference, arm; /* segments */
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
    double row_cost = COLUMN_COST * (double)w->ruler->rows;
    size_t quick = (size_t)(w->ruler->gpu->flops_per_submit / row_cost);
    size_t n = ks_gpu_least(w->ruler->m - first, quick ? quick : 1);
    n = ks_gpu_least(n, left_in_segment(w->reference, first));
    return (struct span){
        .first = first,
        .n = ks_gpu_least(n, left_in_segment(w->arm, first)),
        .reference = first / w->reference->per_segment,
        .arm = first / w->arm->per_segment,
    };
}

static int dispatch(struct work *w, const struct span *s, struct ks_vk_dispatch *d,
                    struct ks_error *err)
{
    struct where where = {
        .width = (uint32_t)w->ruler->rows,
        .stride = (uint32_t)w->reference->stride,
        .chunks = w->ruler->chunks,
        .first = (uint32_t)s->first,
        .row = (uint32_t)(s->first % w->reference->per_segment),
        .arm_row = (uint32_t)(s->first % w->arm->per_segment),
        .threads = (uint32_t)s->n,
    };
    d->push = &where;
    d->push_bytes = sizeof where;
    return ks_vk_dispatch(w->ruler->gpu, &w->slot, d, err);
}

/* Threads that shuffle among themselves. */
static uint32_t lanes(const struct ks_gpu *gpu)
{
    return (uint32_t)ks_gpu_least(gpu->info.subgroup_size, 32);
}

static int aim(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_AIM, .constants = {r->top}},
        .buffers = {&w->reference->segments[s->reference], &w->arm->segments[s->arm],
                    &w->reference->maxima[s->reference], &w->arm->maxima[s->arm], &r->notes,
                    &r->aimed},
        .groups = {(uint32_t)s->n, 2, 1},
        .flops = (double)s->n * (double)r->rows,
    };
    return dispatch(w, s, &d, err);
}

static int compare(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_COMPARE, .constants = {lanes(r->gpu), w->own}},
        .buffers = {&w->reference->segments[s->reference], &w->arm->segments[s->arm], &r->notes,
                    &r->partials},
        .groups = {r->chunks, (uint32_t)s->n, 1},
        .flops = COLUMN_COST * (double)s->n * (double)r->rows,
    };
    return dispatch(w, s, &d, err);
}

static int total(struct work *w, const struct span *s, struct ks_error *err)
{
    struct ks_gpu_ruler *r = w->ruler;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_TOTAL, .constants = {r->top, w->own}},
        .buffers = {&r->partials, &r->aimed, w->answers},
        .groups = {(uint32_t)(s->n + TOTAL_POSITIONS - 1) / TOTAL_POSITIONS, 1, 1},
        .flops = 128.0 * (double)s->n * r->chunks,
    };
    return dispatch(w, s, &d, err);
}

typedef int stage(struct work *w, const struct span *s, struct ks_error *err);

/* Each stage sees what those before it wrote. */
static int record(struct work *w, struct ks_error *err)
{
    static stage *const stages[] = {aim, compare, total};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        ks_vk_barrier(w->slot);
        for (size_t p = 0; p < w->ruler->m;) {
            struct span s = next_span(w, p);
            if (stages[i](w, &s, err) != 0)
                return -1;
            p += s.n;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ queueing */

int ks_gpu_ruler_reference(struct ks_gpu_ruler *r, struct ks_gpu_tile *reference,
                           const uint32_t *targets, size_t m, struct ks_error *err)
{
    assert(m >= 1 && m <= r->positions && m <= reference->positions && reference->rows == r->rows);
    if (ks_gpu_ruler_prove(r->gpu, err) != 0)
        return -1;
    for (size_t i = 0; i < m; i++)
        if (targets[i] >= r->rows)
            return ks_fail(err, KS_BAD_INPUT,
                           "the next token is %u, but a row of logits has the tokens 0 to %llu",
                           targets[i], (unsigned long long)r->rows - 1);
    memcpy(r->targets, targets, m * sizeof *targets);
    r->reference = reference;
    r->m = m;
    r->fresh = true;
    return 0;
}

static int begin(struct ks_gpu_ruler *r, struct ks_gpu_tile *arm, struct work *w,
                 struct ks_error *err)
{
    if (ks_vk_begin(r->gpu, &w->slot, err) != 0)
        return -1;
    if (r->fresh && ks_vk_copy_in(r->gpu, &w->slot, &r->notes, KS_GPU_TARGETS_WORD * 4, r->targets,
                                  r->m * sizeof *r->targets, err) != 0)
        return -1;
    if (ks_gpu_tile_find_maxima(r->reference, r->m, &w->slot, err) != 0)
        return -1;
    return ks_gpu_tile_find_maxima(arm, r->m, &w->slot, err);
}

int ks_gpu_ruler_arm_again(struct ks_gpu_ruler *r, struct ks_gpu_tile *arm, unsigned times,
                           struct ks_error *err)
{
    assert(r->reference && r->m <= arm->positions && arm->rows == r->rows);
    assert(r->waiting < KS_GPU_AHEAD);
    struct ks_gpu_answers *answers = &r->queue[(r->oldest + r->waiting) % KS_GPU_AHEAD];
    struct work w = {.ruler = r,
                     .reference = r->reference,
                     .arm = arm,
                     .answers = &answers->words,
                     .own = r->fresh};
    if (begin(r, arm, &w, err) != 0)
        return -1;
    for (unsigned i = 0; i < times; i++)
        if (record(&w, err) != 0)
            return -1;
    if (ks_vk_submit(r->gpu, w.slot, err) != 0)
        return -1;
    answers->m = r->m;
    answers->own = r->fresh;
    answers->done = r->gpu->submitted;
    r->waiting++;
    r->fresh = false;
    return 0;
}

int ks_gpu_ruler_arm(struct ks_gpu_ruler *r, struct ks_gpu_tile *arm, struct ks_error *err)
{
    return ks_gpu_ruler_arm_again(r, arm, 1, err);
}
