/* The MLP that every position goes through by itself. */
#include "engine/model/net/blocks.h"

/* down(silu(gate(in)) * up(in)) */
int ks_block_mlp(const struct ks_step *s, const float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    if (ks_block_project(b, &l->ffn_gate, l->bias_gate, in, s->kept, b->gate, err) ||
        ks_block_project(b, &l->ffn_up, l->bias_up, in, s->kept, b->up, err))
        return -1;
    ks_silu_mul(b->cpu, b->gate, b->up, s->kept, s->traits->ffn);
    return ks_block_project(b, &l->ffn_down, l->bias_down, b->gate, s->kept, out, err);
}
