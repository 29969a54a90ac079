/*
 * Mixers that carry a state along a sequence: the short convolution and the gated delta net. Every
 * row is computed, as the ones behind need the state; the kept ones alone go through the last
 * product.
 */
#include <math.h>

#include "engine/kernels/recur.h"
#include "engine/model/net/blocks.h"

/* Rows [first, first + rows) of a matrix. */
static struct ks_matrix rows_of(const struct ks_matrix *w, uint64_t first, uint64_t rows)
{
    struct ks_matrix part = *w;
    uint64_t row_bytes = 0;
    ks_type_row_bytes(w->type, w->cols, &row_bytes);
    part.data += first * row_bytes;
    part.rows = rows;
    return part;
}

static bool has_mixer(const struct ks_hparams *h, enum ks_mixer mixer)
{
    for (uint32_t i = 0; i < h->layers; i++) {
        if (h->layer[i].mixer == mixer)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ short convolution */

size_t ks_shortconv_row_floats(const struct ks_hparams *h)
{
    return has_mixer(h, KS_MIXER_SHORTCONV) ? 3 * (size_t)h->hidden : 0;
}

/* out(c * conv(b * x)), where in goes through three matrices to b, c and x. */
int ks_block_shortconv(const struct ks_step *s, float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    size_t hidden = b->widths.hidden;
    float *part[3];
    for (size_t i = 0; i < 3; i++) {
        const struct ks_matrix w = rows_of(&l->conv_in, i * hidden, hidden);
        part[i] = b->block + i * b->max_rows * hidden;
        if (ks_block_project(b, &w, NULL, in, s->n, part[i], err))
            return -1;
    }
    ks_mul(b->cpu, part[0], part[2], s->n, hidden);
    if (ks_convolve(b->cpu, part[0], s->n, hidden, b->positions, l->taps,
                    s->net->hparams->conv_taps, part[2], err))
        return -1;
    ks_mul(b->cpu, part[1], part[2], s->n, hidden);
    ks_step_pack(s, part[1], hidden * sizeof *part[1]);
    return ks_block_project(b, &l->conv_out, NULL, part[1], s->kept, out, err);
}

/* ------------------------------------------------------------------ delta net */

/* Columns of a row. */
struct delta_widths {
    size_t keys, channels, heads, inner;
};

static struct delta_widths delta_widths_of(const struct ks_hparams *h)
{
    size_t keys = (size_t)h->delta_k_heads * h->delta_dim;
    return (struct delta_widths){keys, 2 * keys + h->delta_inner, h->delta_v_heads, h->delta_inner};
}

size_t ks_delta_row_floats(const struct ks_hparams *h)
{
    const struct delta_widths w = delta_widths_of(h);
    return has_mixer(h, KS_MIXER_DELTA) ? 2 * w.channels + w.inner + 2 * w.heads : 0;
}

/* Scratch, each (max_rows, width). */
struct delta_rows {
    float *raw; /* (channels), then the rule's outputs (inner) */
    float *qkv; /* (channels) convolved */
    float *gate, *decay, *beta;
};

static struct delta_rows lay_out(const struct ks_body *b, const struct delta_widths *w)
{
    struct delta_rows r = {.raw = b->block};
    r.qkv = r.raw + b->max_rows * w->channels;
    r.gate = r.qkv + b->max_rows * w->channels;
    r.decay = r.gate + b->max_rows * w->inner;
    r.beta = r.decay + b->max_rows * w->heads;
    return r;
}

static int project(const struct ks_step *s, const struct delta_rows *r, const float *in,
                   struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_net_layer *l = s->layer;
    return ks_block_project(b, &l->delta_qkv, NULL, in, s->n, r->raw, err) ||
                   ks_block_project(b, &l->delta_gate, NULL, in, s->n, r->gate, err) ||
                   ks_block_project(b, &l->delta_alpha, NULL, in, s->n, r->decay, err) ||
                   ks_block_project(b, &l->delta_beta, NULL, in, s->n, r->beta, err)
               ? -1
               : 0;
}

/* The length that q and k are brought to keeps this much from 0. */
#define UNIT_EPS 1e-6f

static int convolve(const struct ks_step *s, const struct delta_rows *r,
                    const struct delta_widths *w, struct ks_error *err)
{
    const struct ks_hparams *h = s->net->hparams;
    struct ks_cpu *cpu = s->body->cpu;
    if (ks_convolve(cpu, r->raw, s->n, w->channels, s->body->positions, s->layer->taps,
                    h->conv_taps, r->qkv, err))
        return -1;
    ks_silu(cpu, r->qkv, s->n, w->channels);
    ks_unit_heads(cpu, r->qkv, w->channels, s->n, h->delta_k_heads, h->delta_dim, UNIT_EPS,
                  1.0f / sqrtf((float)h->delta_dim));
    ks_unit_heads(cpu, r->qkv + w->keys, w->channels, s->n, h->delta_k_heads, h->delta_dim,
                  UNIT_EPS, 1.0f);
    return 0;
}

static void step_through(const struct ks_step *s, const struct delta_rows *r,
                         const struct delta_widths *w)
{
    const struct ks_hparams *h = s->net->hparams;
    const struct ks_delta d = {
        .q = r->qkv,
        .k = r->qkv + w->keys,
        .v = r->qkv + 2 * w->keys,
        .ld = w->channels,
        .decay = r->decay,
        .beta = r->beta,
        .k_heads = h->delta_k_heads,
        .v_heads = h->delta_v_heads,
        .dim_k = h->delta_dim,
        .dim_v = w->inner / w->heads,
        .starts = s->batch->starts,
        .n_sequences = s->batch->n_sequences,
    };
    ks_delta_gates(r->decay, r->beta, s->layer->delta_rate, s->layer->delta_bias, s->n, w->heads);
    ks_delta_net(s->body->cpu, &d, r->raw);
}

int ks_block_delta(const struct ks_step *s, float *in, float *out, struct ks_error *err)
{
    struct ks_body *b = s->body;
    const struct ks_hparams *h = s->net->hparams;
    const struct delta_widths w = delta_widths_of(h);
    const struct delta_rows r = lay_out(b, &w);
    if (project(s, &r, in, err) || convolve(s, &r, &w, err))
        return -1;
    step_through(s, &r, &w);
    ks_step_pack(s, r.raw, w.inner * sizeof *r.raw);
    ks_step_pack(s, r.gate, w.inner * sizeof *r.gate);
    ks_block_norm(b, h, r.raw, s->kept * w.heads, w.inner / w.heads, s->layer->delta_norm, NULL,
                  r.raw);
    ks_silu(b->cpu, r.gate, s->kept, w.inner);
    ks_mul(b->cpu, r.raw, r.gate, s->kept, w.inner);
    return ks_block_project(b, &s->layer->delta_out, NULL, r.raw, s->kept, out, err);
}
