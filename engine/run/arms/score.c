#include "engine/run/arms/score.h"

#include <pthread.h>
#include <stdlib.h>

/* A tile of logits is about this large, but at least MIN_TILE rows: decoding the head's weights and
 * fetching them from memory costs as much as 10 to 20 rows, reading logits back from memory little
 * beside multiplying them. */
#define TILE_BYTES ((uint64_t)48 << 20)
#define MIN_TILE   96
#define MAX_TILE   512

struct ks_scorer {
    struct ks_cpu *cpu;
    struct ks_device *device; /* NULL: the CPU */
    struct ks_error failure;  /* why it failed in the last run; code KS_OK: it didn't */
    size_t vocab, tile;
    int top_k;
    float *reference, *arm; /* (tile, vocab) */
};

static size_t tile_rows(size_t vocab)
{
    uint64_t rows = TILE_BYTES / (vocab * sizeof(float));
    return rows < MIN_TILE ? MIN_TILE : rows > MAX_TILE ? MAX_TILE : (size_t)rows;
}

uint64_t ks_scorer_bytes(size_t vocab)
{
    return 2 * (uint64_t)tile_rows(vocab) * vocab * sizeof(float);
}

struct ks_scorer *ks_scorer_create(struct ks_cpu *cpu, struct ks_device *device, size_t vocab,
                                   int top_k, struct ks_error *err)
{
    struct ks_scorer *s = calloc(1, sizeof *s);
    if (s) {
        *s = (struct ks_scorer){
            .cpu = cpu, .device = device, .vocab = vocab, .tile = tile_rows(vocab), .top_k = top_k};
        s->reference = ks_alloc_aligned(s->tile * vocab, sizeof(float));
        s->arm = ks_alloc_aligned(s->tile * vocab, sizeof(float));
    }
    if (!s || !s->reference || !s->arm) {
        ks_scorer_destroy(s);
        ks_fail_memory(err, ks_scorer_bytes(vocab), "tiles of logits");
        return NULL;
    }
    return s;
}

void ks_scorer_destroy(struct ks_scorer *s)
{
    if (!s)
        return;
    free(s->reference);
    free(s->arm);
    free(s);
}

/* A loop over the positions of a tile; the first error that any of them meets is kept. */
struct rows_job {
    const struct ks_scorer *s;
    const float *arm_logits;
    const int32_t *targets;
    struct ks_ref_row *ref;
    struct ks_arm_row *arm;
    pthread_mutex_t lock;
    bool failed;
    struct ks_error *err;
};

static void keep_first_error(struct rows_job *job, const struct ks_error *err)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failed)
        *job->err = *err;
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
}

static void measure_reference(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct rows_job *job = ctx;
    struct ks_error err;
    if (ks_ruler_reference(ks_cpu_isa(job->s->cpu), job->s->reference + i * job->s->vocab,
                           job->s->vocab, job->targets[i], job->s->top_k, &job->ref[i], &err))
        keep_first_error(job, &err);
}

static void measure_arm(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct rows_job *job = ctx;
    size_t vocab = job->s->vocab;
    struct ks_error err;
    if (ks_ruler_arm(ks_cpu_isa(job->s->cpu), job->s->reference + i * vocab, vocab, &job->ref[i],
                     job->arm_logits + i * vocab, vocab, job->targets[i], job->s->top_k,
                     &job->arm[i], &err))
        keep_first_error(job, &err);
}

static int for_rows(struct ks_scorer *s, size_t n, struct rows_job *job,
                    void (*measure)(void *ctx, size_t i, int worker), struct ks_error *err)
{
    job->s = s;
    job->err = err;
    pthread_mutex_init(&job->lock, NULL);
    ks_pool_for(ks_cpu_pool(s->cpu), n, measure, job);
    pthread_mutex_destroy(&job->lock);
    return job->failed ? -1 : 0;
}

struct tile {
    const struct ks_tree *tree;
    const struct ks_tree_net *nets;
    size_t n_nets;
    float *const *hidden;
    const struct ks_scored *out;
    size_t first, n;
};

static const float *hidden_of(const struct tile *t, size_t leaf)
{
    size_t dim = t->nets[ks_tree_leaf_net(t->tree, leaf)].net->hparams->hidden;
    return t->hidden[leaf] + t->first * dim;
}

static int head_of_leaf(const struct tile *t, size_t leaf, float *logits, struct ks_error *err)
{
    const struct ks_tree_net *net = &t->nets[ks_tree_leaf_net(t->tree, leaf)];
    return ks_body_head(net->body, net->net, hidden_of(t, leaf), t->n, logits, err);
}

/* A leaf's rows, measured by the CPU, or on the device, which has written them when it has
 * finished. Logits of the reference's own leaf are there already. */
static int measure_leaf(struct ks_scorer *s, const struct tile *t, size_t leaf,
                        struct ks_arm_row *rows, struct ks_error *err)
{
    bool own = leaf == ks_tree_leaf(t->tree, 0);
    if (s->device) {
        const struct ks_matrix *head = &t->nets[ks_tree_leaf_net(t->tree, leaf)].net->head;
        return ks_device_arm(s->device, own ? NULL : head, hidden_of(t, leaf), rows, err);
    }
    if (!own && head_of_leaf(t, leaf, s->arm, err))
        return -1;
    struct rows_job job = {.arm_logits = own ? s->reference : s->arm,
                           .targets = t->out->targets + t->first,
                           .ref = t->out->ref + t->first,
                           .arm = rows};
    return for_rows(s, t->n, &job, measure_arm, err);
}

static int measure_own(struct ks_scorer *s, const struct tile *t, struct ks_error *err)
{
    const int32_t *targets = t->out->targets + t->first;
    struct ks_ref_row *ref = t->out->ref + t->first;
    size_t leaf = ks_tree_leaf(t->tree, 0);
    if (s->device)
        return ks_device_reference(s->device, &t->nets[0].net->head, hidden_of(t, leaf), targets,
                                   t->n, ref, err);
    struct rows_job job = {.targets = targets, .ref = ref};
    return head_of_leaf(t, leaf, s->reference, err) ||
                   for_rows(s, t->n, &job, measure_reference, err)
               ? -1
               : 0;
}

/* The first arm of a leaf; 0: there is none. */
static size_t first_of_leaf(const struct ks_tree *tree, size_t n_nets, size_t leaf)
{
    for (size_t i = 1; i < n_nets; i++)
        if (ks_tree_leaf(tree, i) == leaf)
            return i;
    return 0;
}

static int score_tile(struct ks_scorer *s, const struct tile *t, struct ks_error *err)
{
    if (measure_own(s, t, err))
        return -1;
    for (size_t leaf = 0; leaf < ks_tree_leaves(t->tree); leaf++) {
        size_t arm = first_of_leaf(t->tree, t->n_nets, leaf);
        if (arm && measure_leaf(s, t, leaf, t->out->arms[arm] + t->first, err))
            return -1;
    }
    return 0;
}

/* All arms of a leaf have the same rows, which were measured for the first. */
static void copy_leaves(const struct tile *t)
{
    for (size_t i = 1; i < t->n_nets; i++) {
        size_t first = first_of_leaf(t->tree, t->n_nets, ks_tree_leaf(t->tree, i));
        if (first != i)
            memcpy(t->out->arms[i], t->out->arms[first], t->out->n * sizeof **t->out->arms);
    }
}

static int score_all(struct ks_scorer *s, struct tile *t, struct ks_error *err)
{
    size_t most = s->device ? ks_device_positions(s->device) : s->tile;
    for (t->first = 0; t->first < t->out->n; t->first += most) {
        t->n = t->out->n - t->first < most ? t->out->n - t->first : most;
        if (score_tile(s, t, err))
            return -1;
    }
    if (s->device && ks_device_finish(s->device, err))
        return -1;
    copy_leaves(t);
    return 0;
}

int ks_scorer_run(struct ks_scorer *s, const struct ks_tree *tree, const struct ks_tree_net *nets,
                  size_t n_nets, float *const *hidden, const struct ks_scored *out,
                  struct ks_error *err)
{
    struct tile t = {.tree = tree, .nets = nets, .n_nets = n_nets, .hidden = hidden, .out = out};
    s->failure.code = KS_OK;
    if (!s->device)
        return score_all(s, &t, err);
    if (score_all(s, &t, &s->failure) == 0)
        return 0;
    s->device = NULL;
    return score_all(s, &t, err);
}

void ks_scorer_take_device(struct ks_scorer *s, struct ks_device *device)
{
    s->device = device;
}

const struct ks_error *ks_scorer_device_failure(const struct ks_scorer *s)
{
    return s->failure.code == KS_OK ? NULL : &s->failure;
}
