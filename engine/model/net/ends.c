/* What stands before the first layer and behind the last, and what all blocks use. */
#include "engine/model/net/blocks.h"

void ks_body_watch_products(struct ks_body *b, ks_watch_product *watch, void *ctx)
{
    b->watch = watch;
    b->watch_ctx = ctx;
}

int ks_block_multiply(struct ks_body *b, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *in, float *out, size_t ldout,
                      struct ks_error *err)
{
    if (b->rounds)
        return ks_matmul_rounded(b->cpu, w, stacked, starts, in, out, ldout, err);
    return ks_matmul_stacked(b->cpu, w, stacked, starts, in, (size_t)w->cols, out, ldout, err);
}

int ks_block_project(struct ks_body *b, const struct ks_matrix *w, const float *bias,
                     const float *in, size_t n, float *out, struct ks_error *err)
{
    size_t rows = (size_t)w->rows;
    const size_t starts[2] = {0, n};
    if (b->watch)
        b->watch(b->watch_ctx, w, 1, starts, in);
    if (ks_block_multiply(b, w, 1, starts, in, out, rows, err))
        return -1;
    if (bias)
        ks_add_bias(b->cpu, out, bias, n, rows);
    return 0;
}

void ks_block_norm(struct ks_body *b, const struct ks_hparams *h, const float *x, size_t n,
                   size_t dim, const float *gain, const float *bias, float *out)
{
    switch (h->design.norm) {
    case KS_NORM_RMS:
        ks_rmsnorm(b->cpu, x, n, dim, gain, h->norm_eps, out);
        return;
    case KS_NORM_LAYER:
        ks_layernorm(b->cpu, x, n, dim, gain, bias, h->norm_eps, out);
        return;
    }
}

int ks_body_embed(struct ks_body *b, const struct ks_net *net, const struct ks_batch *batch,
                  float *x, struct ks_error *err)
{
    size_t n = batch->starts[batch->n_sequences];
    for (size_t i = 0; i < n; i++) {
        if (batch->ids[i] < 0 || (uint32_t)batch->ids[i] >= net->hparams->vocab)
            return ks_fail(err, KS_BAD_INPUT,
                           "token id %d at position %zu is not in the vocabulary's 0..%u",
                           batch->ids[i], i, net->hparams->vocab - 1);
    }
    ks_gather(b->cpu, &net->token_embd, batch->ids, n, x);
    if (net->hparams->embedding_scale != 1)
        ks_scale(b->cpu, x, n, net->hparams->hidden, net->hparams->embedding_scale);
    return 0;
}

int ks_body_norm(struct ks_body *b, const struct ks_net *net, const float *x, size_t n, float *out,
                 struct ks_error *err)
{
    (void)err; /* for families whose last norm can fail */
    const struct ks_hparams *h = net->hparams;
    ks_block_norm(b, h, x, n, h->hidden, net->output_norm, net->output_norm_bias, out);
    if (h->logit_scale != 1)
        ks_scale(b->cpu, out, n, h->hidden, h->logit_scale);
    if (net->rounding.products)
        ks_round_activations(b->cpu, net->head.type, out, n, h->hidden, out);
    return 0;
}

bool ks_net_head_is_product(const struct ks_net *net)
{
    return !net->head_bias && net->hparams->final_softcap == 0;
}

int ks_body_head(struct ks_body *b, const struct ks_net *net, const float *h, size_t n,
                 float *logits, struct ks_error *err)
{
    b->rounds = false; /* h is already */
    if (ks_block_project(b, &net->head, net->head_bias, h, n, logits, err))
        return -1;
    if (net->hparams->final_softcap > 0)
        ks_softcap(b->cpu, logits, n, net->hparams->vocab, net->hparams->final_softcap);
    return 0;
}
