/* The MLP that every position goes through by itself. */
#include "engine/model/net/blocks.h"

int ks_block_gate(const struct ks_step *s, float *gate, const float *up, size_t n, size_t dim,
                  struct ks_error *err)
{
    struct ks_cpu *cpu = s->body->cpu;
    switch (s->net->hparams->design.activation) {
    case KS_ACTIVATION_SILU:
        ks_silu_mul(cpu, gate, up, n, dim);
        return 0;
    case KS_ACTIVATION_CLAMPED_SILU:
        ks_clamped_silu_mul(cpu, gate, up, n, dim);
        return 0;
    case KS_ACTIVATION_GELU:
        ks_gelu_mul(cpu, gate, up, n, dim);
        return 0;
    default:
        return ks_fail(err, KS_INTERNAL, "a gate of no known kind");
    }
}

/* b->up = activation(up) */
static int activate(const struct ks_step *s, struct ks_error *err)
{
    const struct ks_body *b = s->body;
    switch (s->net->hparams->design.activation) {
    case KS_ACTIVATION_GELU:
        ks_gelu(b->cpu, b->up, s->kept, s->traits->ffn);
        return 0;
    case KS_ACTIVATION_RELU2:
        ks_relu2(b->cpu, b->up, s->kept, s->traits->ffn);
        return 0;
    default:
        return ks_fail(err, KS_INTERNAL, "an activation of no known kind");
    }
}

/* down(activation(gate(in)) * up(in)), or down(activation(up(in))). */
int ks_block_mlp(const struct ks_step *s, const float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    const bool gated = s->traits->mlp != KS_MLP_PLAIN; /* beside experts it is gated too */
    if (ks_block_project(b, &l->ffn_up, l->bias_up, in, s->kept, b->up, err))
        return -1;
    if (gated && ks_block_project(b, &l->ffn_gate, l->bias_gate, in, s->kept, b->gate, err))
        return -1;
    if (gated ? ks_block_gate(s, b->gate, b->up, s->kept, s->traits->ffn, err) : activate(s, err))
        return -1;
    const float *middle = gated ? b->gate : b->up;
    return ks_block_project(b, &l->ffn_down, l->bias_down, middle, s->kept, out, err);
}
