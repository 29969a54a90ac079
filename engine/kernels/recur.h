/*
 * Operations along a sequence that keep a state, which is nothing at each sequence's start: the
 * short convolution and the gated delta rule.
 *
 * As in cpu.h, the scalar C is the definition and every path gives its bits; work is split over
 * channels, heads and sequences, never along the chain that a number is. Threads: as in cpu.h.
 */
#ifndef KS_ENGINE_KERNELS_RECUR_H
#define KS_ENGINE_KERNELS_RECUR_H

#include "engine/kernels/cpu.h"

/*
 * Causal depthwise convolution. Row i of x(n, channels) is at position positions[i] of its
 * sequence, the rows before it are those of the positions before. With taps(channels, n_taps), the
 * last of which is for the row itself:
 * out[i][c] = the fma chain over j of taps[c][j] * x[i - n_taps + 1 + j][c] from 0, in order,
 * without the j that lie before the sequence. x and out don't overlap.
 */
int ks_convolve(struct ks_cpu *cpu, const float *x, size_t n, size_t channels,
                const int32_t *positions, const float *taps, size_t n_taps, float *out,
                struct ks_error *err);

/* x(n, dim) *= y(n, dim). */
void ks_mul(struct ks_cpu *cpu, float *x, const float *y, size_t n, size_t dim);

/* x(n, dim) = silu(x). */
void ks_silu(struct ks_cpu *cpu, float *x, size_t n, size_t dim);

/* x(n, dim) = x / (1 + exp(-gate)), gate(n, dim). */
void ks_sigmoid_mul(struct ks_cpu *cpu, float *x, const float *gate, size_t n, size_t dim);

/*
 * The gates of the delta rule, each (n, heads), in place: decay = exp(rate * softplus(decay +
 * bias)), beta = 1 / (1 + exp(-beta)). rate(heads) is below 0, bias(heads). Both in f64, rounded
 * once.
 */
void ks_delta_gates(float *decay, float *beta, const float *rate, const float *bias, size_t n,
                    size_t heads);

/* x / sqrt(sum of squares + eps) * scale of each head of dim, in place; row i, head h at x + i *
 * ldx
 * + h * dim; the sum in 16 lanes. */
void ks_unit_heads(struct ks_cpu *cpu, float *x, size_t ldx, size_t n, size_t heads, size_t dim,
                   float eps, float scale);

/*
 * Gated delta rule (Yang, Kautz, Hatamizadeh 2024, "Gated Delta Networks", eq. 10), one step a
 * position. Head h of v (v_heads) works with head h % k_heads of q and k. Its state S(dim_k, dim_v)
 * is 0 at a sequence's start, then at each position, in this order and every sum one fma chain over
 * the rows of S from 0:
 *   S = decay * S;  d = (v - S^T k) * beta;  S = S + k d^T (by fma);  out = S^T q.
 */
struct ks_delta {
    const float *q, *k, *v; /* rows ld apart: (n, k_heads * dim_k) twice, (n, v_heads * dim_v) */
    size_t ld;
    const float *decay, *beta; /* (n, v_heads) */
    size_t k_heads, v_heads;   /* v_heads a multiple of k_heads */
    size_t dim_k, dim_v;       /* dim_k up to KS_DELTA_MOST_K */
    const size_t *starts;      /* (n_sequences + 1) */
    size_t n_sequences;
};
enum { KS_DELTA_MOST_K = 1024 };
/* out(n, v_heads * dim_v). */
void ks_delta_net(struct ks_cpu *cpu, const struct ks_delta *d, float *out);

#endif
