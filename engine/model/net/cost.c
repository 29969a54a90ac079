/* How much there is to compute, for rates. */
#include "engine/model/model.h"

static double matrix_flops(const struct ks_matrix *w, double rows)
{
    return 2 * rows * (double)w->rows * (double)w->cols;
}

/* The pairs of a query and a key that it sees, for the queries of positions [0, n). */
static double pairs(double n, double window)
{
    if (window == 0 || n <= window)
        return n * (n + 1) / 2;
    return window * (window + 1) / 2 + (n - window) * window;
}

static double attention_flops(const struct ks_net_layer *l, const struct ks_layer_traits *t,
                              double n, double first)
{
    double seen = pairs(n, t->window) - pairs(first, t->window);
    return matrix_flops(&l->attn_k, n) + matrix_flops(&l->attn_v, n) +
           matrix_flops(&l->attn_q, n - first) + matrix_flops(&l->attn_output, n - first) +
           2 * seen * t->heads * (double)(t->head_dim + t->head_dim_v);
}

/* The part of a stack that a row goes through. */
static double stack_flops(const struct ks_matrix *stack, const struct ks_hparams *h, double rows)
{
    return h->experts ? matrix_flops(stack, rows) * h->experts_used / h->experts : 0;
}

static double experts_flops(const struct ks_net_layer *l, const struct ks_hparams *h, double rows)
{
    return matrix_flops(&l->router, rows) + stack_flops(&l->gate_up_experts, h, rows) +
           stack_flops(&l->gate_experts, h, rows) + stack_flops(&l->up_experts, h, rows) +
           stack_flops(&l->down_experts, h, rows) + matrix_flops(&l->shared_gate, rows) +
           matrix_flops(&l->shared_up, rows) + matrix_flops(&l->shared_down, rows) +
           matrix_flops(&l->shared_router, rows);
}

static double shortconv_flops(const struct ks_net_layer *l, const struct ks_hparams *h, double n,
                              double wanted)
{
    return matrix_flops(&l->conv_in, n) + 2 * n * h->conv_taps * h->hidden +
           matrix_flops(&l->conv_out, wanted);
}

/* The rule decays its state, and takes four products of a row with it. */
static double delta_flops(const struct ks_net_layer *l, const struct ks_hparams *h, double n,
                          double wanted)
{
    double state = (double)h->delta_dim * h->delta_inner;
    return matrix_flops(&l->delta_qkv, n) + matrix_flops(&l->delta_gate, n) +
           matrix_flops(&l->delta_alpha, n) + matrix_flops(&l->delta_beta, n) +
           2 * n * h->conv_taps * (double)l->delta_qkv.rows + 7 * n * state +
           matrix_flops(&l->delta_out, wanted);
}

static double mixer_flops(const struct ks_net_layer *l, const struct ks_hparams *h, size_t layer,
                          double n, double first)
{
    switch (h->layer[layer].mixer) {
    case KS_MIXER_ATTENTION:
        return attention_flops(l, &h->layer[layer], n, first);
    case KS_MIXER_SHORTCONV:
        return shortconv_flops(l, h, n, n - first);
    case KS_MIXER_DELTA:
        return delta_flops(l, h, n, n - first);
    }
    return 0;
}

double ks_net_layer_flops(const struct ks_net *net, size_t layer, size_t n, size_t first)
{
    const struct ks_net_layer *l = &net->layers[layer];
    first = first < n ? first : n;
    double wanted = (double)(n - first);
    return mixer_flops(l, net->hparams, layer, (double)n, (double)first) +
           experts_flops(l, net->hparams, wanted) + matrix_flops(&l->ffn_gate, wanted) +
           matrix_flops(&l->ffn_up, wanted) + matrix_flops(&l->ffn_down, wanted);
}
