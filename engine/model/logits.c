#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/base/pool.h"
#include "engine/model/net/forward.h"
#include "engine/model/object.h"

#define HEAD_TILE 64 /* rows of logits at once: a vocabulary is wide */

struct pass {
    const struct ks_model *model;
    struct ks_cpu *cpu;
    struct ks_body *body;
    struct ks_net net;
    struct ks_batch batch;
    size_t starts[2];
    float *x; /* (n, hidden) */
};

static void finish(struct pass *p)
{
    ks_net_finish(&p->net);
    ks_body_destroy(p->body);
    ks_cpu_destroy(p->cpu);
    free(p->x);
}

static int prepare(struct pass *p, struct ks_model *m, const int32_t *ids, size_t n, int threads,
                   struct ks_error *err)
{
    const struct ks_hparams *h = &m->hparams;
    enum ks_isa isa;
    if (ks_net_bind(&p->net, m, m->tensors, n, err) || ks_isa_choose(&isa, err))
        return -1;
    p->cpu = ks_cpu_create(threads > 0 ? threads : ks_threads_allowed(), isa, err);
    if (!p->cpu)
        return -1;
    p->body = ks_body_create(p->cpu, h, n, err);
    if (!p->body)
        return -1;
    p->x = ks_alloc_aligned(n, h->hidden * sizeof(float));
    if (!p->x)
        return ks_fail_memory(err, n * h->hidden * sizeof(float), "residuals");
    p->starts[1] = n;
    p->batch = (struct ks_batch){.ids = ids, .starts = p->starts, .n_sequences = 1};
    return 0;
}

static int run_body(struct pass *p, struct ks_error *err)
{
    if (ks_body_embed(p->body, &p->net, &p->batch, p->x, err))
        return ks_fail_prefix(err, "%s", p->model->shown);
    for (size_t l = 0; l < p->net.hparams->layers; l++) {
        if (ks_body_layer(p->body, &p->net, &p->batch, l, p->x, err))
            return -1;
    }
    return ks_body_norm(p->body, &p->net, p->x, p->starts[1], p->x, err);
}

int ks_model_pass(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                  int (*head)(void *ctx, struct ks_body *body, const struct ks_net *net,
                              const float *h, size_t n, struct ks_error *err),
                  void *ctx, struct ks_error *err)
{
    if (m->refusal.code == KS_OK && n > m->hparams.context)
        return ks_fail(err, KS_BAD_INPUT, "%s: %zu tokens are more than the model's context of %u",
                       m->shown, n, m->hparams.context);
    if (n == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: no token ids to compute logits for", m->shown);
    struct pass p = {.model = m};
    int failed = prepare(&p, m, ids, n, threads, err) || run_body(&p, err) ||
                 head(ctx, p.body, &p.net, p.x, n, err);
    finish(&p);
    return failed ? -1 : 0;
}

/* ------------------------------------------------------------------ the head here */

struct taker {
    int (*row)(void *ctx, size_t position, const float *logits, size_t vocab, struct ks_error *err);
    void *ctx;
};

static int give_rows(const struct taker *t, struct ks_body *body, const struct ks_net *net,
                     const float *h, size_t n, float *logits, struct ks_error *err)
{
    size_t vocab = net->hparams->vocab, hidden = net->hparams->hidden;
    for (size_t first = 0; first < n; first += HEAD_TILE) {
        size_t here = n - first < HEAD_TILE ? n - first : HEAD_TILE;
        if (ks_body_head(body, net, h + first * hidden, here, logits, err))
            return -1;
        for (size_t i = 0; i < here; i++) {
            if (t->row(t->ctx, first + i, logits + i * vocab, vocab, err))
                return -1;
        }
    }
    return 0;
}

static int multiply(void *ctx, struct ks_body *body, const struct ks_net *net, const float *h,
                    size_t n, struct ks_error *err)
{
    size_t vocab = net->hparams->vocab;
    float *logits = ks_alloc_aligned(HEAD_TILE, vocab * sizeof *logits);
    if (!logits)
        return ks_fail_memory(err, HEAD_TILE * vocab * sizeof *logits, "logits");
    int failed = give_rows(ctx, body, net, h, n, logits, err);
    free(logits);
    return failed;
}

int ks_model_logits(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                    int (*row)(void *ctx, size_t position, const float *logits, size_t vocab,
                               struct ks_error *err),
                    void *ctx, struct ks_error *err)
{
    struct taker taker = {row, ctx};
    return ks_model_pass(m, ids, n, threads, multiply, &taker, err);
}
