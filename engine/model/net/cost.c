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

double ks_net_layer_flops(const struct ks_net *net, size_t layer, size_t n, size_t first)
{
    const struct ks_net_layer *l = &net->layers[layer];
    first = first < n ? first : n;
    double wanted = (double)(n - first);
    return attention_flops(l, &net->hparams->layer[layer], (double)n, (double)first) +
           matrix_flops(&l->ffn_gate, wanted) + matrix_flops(&l->ffn_up, wanted) +
           matrix_flops(&l->ffn_down, wanted);
}
