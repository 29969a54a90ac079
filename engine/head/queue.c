#include "engine/head/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/head/finish.h"

#define DEPTH 2 /* comparisons on their way, each with logits of its own */

struct reference {
    struct ks_gpu_tile *tile;
    struct ks_gpu_reference_row *sums; /* (positions) */
    const int32_t *targets;            /* (n) */
    struct ks_ref_row *out;            /* (n) */
    size_t n;
    bool compared; /* an arm's comparison, which measures it, is queued */
};

struct job {
    struct reference *reference;
    struct ks_gpu_tile *arm;
    bool first; /* with its reference */
    struct ks_arm_row *out;
};

struct ks_head_queue {
    struct ks_gpu_ruler *ruler;
    struct ks_head_measure measure;
    size_t positions, depth;
    struct reference references[DEPTH];
    struct ks_gpu_tile *arms[DEPTH];
    struct ks_gpu_arm_row *sums; /* (positions) */
    uint32_t *targets;           /* (positions) */

    struct reference *reference; /* the last */
    struct job jobs[DEPTH];
    size_t oldest, waiting;
};

/* ------------------------------------------------------------------ its memory */

static int create_pair(struct ks_head_queue *q, struct ks_gpu *gpu, size_t i, struct ks_error *err)
{
    struct reference *r = &q->references[i];
    r->tile = ks_gpu_tile_create(gpu, q->positions, q->measure.vocab, err);
    q->arms[i] = r->tile ? ks_gpu_tile_create(gpu, q->positions, q->measure.vocab, err) : NULL;
    return q->arms[i] ? 0 : -1;
}

static void destroy_pair(struct ks_head_queue *q, size_t i)
{
    ks_gpu_tile_destroy(q->references[i].tile);
    ks_gpu_tile_destroy(q->arms[i]);
    q->references[i].tile = q->arms[i] = NULL;
}

static uint64_t pair_bytes(const struct ks_head_queue *q)
{
    return 2 * (uint64_t)q->positions * q->measure.vocab * sizeof(float);
}

/* The second pair serves speed alone. */
static int create_second_pair(struct ks_head_queue *q, struct ks_gpu *gpu, struct ks_error *err)
{
    uint64_t free_bytes = ks_gpu_info(gpu)->memory_free_bytes; /* 0 where nobody knows */
    struct ks_error refused;
    if (free_bytes && DEPTH * pair_bytes(q) > free_bytes / 4)
        return 0;
    if (create_pair(q, gpu, 1, &refused) == 0) {
        q->depth = DEPTH;
        return 0;
    }
    destroy_pair(q, 1);
    if (refused.code == KS_NO_MEMORY)
        return 0;
    *err = refused;
    return -1;
}

static int create_parts(struct ks_head_queue *q, struct ks_gpu *gpu, struct ks_error *err)
{
    size_t n = q->positions;
    q->sums = calloc(n, sizeof *q->sums);
    q->targets = calloc(n, sizeof *q->targets);
    for (size_t i = 0; i < DEPTH; i++)
        q->references[i].sums = calloc(n, sizeof *q->references[i].sums);
    if (!q->sums || !q->targets || !q->references[0].sums || !q->references[1].sums)
        return ks_fail_memory(err, n * sizeof *q->sums, "the device's sums");
    q->ruler = ks_gpu_ruler_create(gpu, n, q->measure.vocab, (uint32_t)q->measure.top_k, err);
    if (!q->ruler || create_pair(q, gpu, 0, err))
        return -1;
    q->depth = 1;
    return create_second_pair(q, gpu, err);
}

struct ks_head_queue *ks_head_queue_create(struct ks_gpu *gpu, size_t positions, size_t vocab,
                                           int top_k, enum ks_isa isa, struct ks_error *err)
{
    struct ks_head_queue *q = calloc(1, sizeof *q);
    if (!q) {
        ks_fail_memory(err, sizeof *q, "the device's queue");
        return NULL;
    }
    q->positions = positions;
    q->measure = (struct ks_head_measure){.isa = isa, .vocab = vocab, .top_k = top_k};
    if (create_parts(q, gpu, err)) {
        ks_head_queue_destroy(q);
        return NULL;
    }
    return q;
}

void ks_head_queue_destroy(struct ks_head_queue *q)
{
    if (!q)
        return;
    ks_gpu_ruler_destroy(q->ruler);
    for (size_t i = 0; i < DEPTH; i++) {
        destroy_pair(q, i);
        free(q->references[i].sums);
    }
    free(q->sums);
    free(q->targets);
    free(q);
}

uint64_t ks_head_queue_bytes(const struct ks_head_queue *q)
{
    return q->depth * pair_bytes(q);
}

/* ------------------------------------------------------------------ collecting */

static int read_row(void *ctx, bool arm, size_t position, float *row, struct ks_error *err)
{
    const struct job *job = ctx;
    return ks_gpu_tile_read(arm ? job->arm : job->reference->tile, position, 1, row, err);
}

/* The oldest job, while its logits are still there. */
static int collect(struct ks_head_queue *q, struct ks_error *err)
{
    struct job *job = &q->jobs[q->oldest];
    const struct reference *r = job->reference;
    if (ks_gpu_ruler_collect(q->ruler, r->sums, q->sums, err))
        return -1;
    struct ks_head_reader reader = {.read = read_row, .ctx = job};
    q->measure.targets = r->targets;
    if (job->first && ks_head_finish_references(&q->measure, &reader, r->sums, r->n, r->out, err))
        return -1;
    if (job->out &&
        ks_head_finish(&q->measure, &reader, r->sums, r->out, q->sums, r->n, job->out, err))
        return -1;
    q->oldest = (q->oldest + 1) % DEPTH;
    q->waiting--;
    return 0;
}

static bool in_use(const struct ks_head_queue *q, const struct reference *r)
{
    for (size_t i = 0; i < q->waiting; i++)
        if (q->jobs[(q->oldest + i) % DEPTH].reference == r)
            return true;
    return false;
}

/* ------------------------------------------------------------------ queueing */

int ks_head_queue_arm(struct ks_head_queue *q, struct ks_gpu_weight *head, enum ks_gpu_path path,
                      const float *h, struct ks_arm_row *out, struct ks_error *err)
{
    struct reference *r = q->reference;
    while (q->waiting >= q->depth) /* the job that had these logits last */
        if (collect(q, err))
            return -1;
    size_t next = (q->oldest + q->waiting) % DEPTH;
    struct job job = {.reference = r,
                      .arm = head ? q->arms[next % q->depth] : r->tile,
                      .first = !r->compared,
                      .out = out};
    if ((head && ks_gpu_matmul(head, path, h, r->n, job.arm, err)) ||
        ks_gpu_ruler_arm(q->ruler, job.arm, err))
        return -1;
    q->jobs[next] = job;
    q->waiting++;
    r->compared = true;
    return 0;
}

/* A reference is measured beside its first arm; one without is its own. */
static int measure_lone_reference(struct ks_head_queue *q, struct ks_error *err)
{
    if (!q->reference || q->reference->compared)
        return 0;
    return ks_head_queue_arm(q, NULL, KS_GPU_MANY, NULL, NULL, err);
}

int ks_head_queue_reference(struct ks_head_queue *q, struct ks_gpu_weight *head,
                            enum ks_gpu_path path, const float *h, const int32_t *targets, size_t n,
                            struct ks_ref_row *out, struct ks_error *err)
{
    assert(n >= 1 && n <= q->positions);
    if (measure_lone_reference(q, err))
        return -1;
    struct reference *r = &q->references[q->reference == &q->references[0] ? q->depth - 1 : 0];
    while (in_use(q, r))
        if (collect(q, err))
            return -1;
    for (size_t i = 0; i < n; i++)
        q->targets[i] = (uint32_t)targets[i];
    if (ks_gpu_matmul(head, path, h, n, r->tile, err) ||
        ks_gpu_ruler_reference(q->ruler, r->tile, q->targets, n, err))
        return -1;
    *r = (struct reference){
        .tile = r->tile, .sums = r->sums, .targets = targets, .out = out, .n = n};
    q->reference = r;
    return 0;
}

int ks_head_queue_finish(struct ks_head_queue *q, struct ks_error *err)
{
    if (measure_lone_reference(q, err))
        return -1;
    while (q->waiting > 0)
        if (collect(q, err))
            return -1;
    return 0;
}

int ks_head_queue_read(struct ks_head_queue *q, size_t n, float *logits, struct ks_error *err)
{
    if (ks_head_queue_finish(q, err))
        return -1;
    return ks_gpu_tile_read(q->reference->tile, 0, n, logits, err);
}
