/*
 * The CPU's operations, and the object they run on.
 *
 * Numbers (every path gives the same bits; path/scalar.c is the definition, in plain C):
 * - A product's output is one chain of f32 fused multiply-adds over k = 0..K-1 in order, from 0.
 *   Vector paths run many outputs side by side and never split k. Blocking stores and reloads the
 *   same accumulator.
 * - A sum over a row uses 16 lanes: lane i adds elements i, i+16, ... in order; then lanes 8, 4, 2
 *   and 1 apart are added, in that order (elementary/lanes.h).
 * - exp, log, tanh, sin, cos, pow come from elementary/math.h, never from libm.
 * - Denormals are kept.
 *
 * A ks_cpu owns a thread pool and per-worker scratch; it is used by one thread at a time (the one
 * that runs the model). Operations return when their outputs are complete. Shapes are (rows, cols),
 * row-major, f32 unless said otherwise; n is a number of token rows.
 */
#ifndef KS_ENGINE_KERNELS_CPU_H
#define KS_ENGINE_KERNELS_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/pool.h"
#include "engine/quant/type.h"

enum ks_isa { KS_ISA_SCALAR, KS_ISA_AVX2, KS_ISA_AVX512, KS_ISA_NEON };

const char *ks_isa_name(enum ks_isa isa);

/* The best path that this CPU really runs (probed, not only announced), or the one that
 * KLDSCOPE_ISA=scalar|avx2|avx512|neon names; an error where that one is unknown or cannot run. */
int ks_isa_choose(enum ks_isa *isa, struct ks_error *err);
/* Whether the path is built in and this CPU runs it. */
int ks_isa_runs(enum ks_isa isa);

struct ks_cpu;

/* threads >= 1. NULL on failure. */
struct ks_cpu *ks_cpu_create(int threads, enum ks_isa isa, struct ks_error *err);
void ks_cpu_destroy(struct ks_cpu *cpu); /* accepts NULL */
struct ks_pool *ks_cpu_pool(struct ks_cpu *cpu);
enum ks_isa ks_cpu_isa(const struct ks_cpu *cpu);

/* Operations a second of fused multiply-adds on registers alone, of so many threads at once, at the
 * best of some milliseconds. What counts is the time that a thread really ran, as other processes
 * may want the cores too. */
double ks_cpu_peak(struct ks_cpu *cpu, int threads);

/* y(n, w.rows) = x(n, w.cols) * W^T, W decoded tile by tile in cache, never whole. Rows of x and y
 * are contiguous at ldx >= w.cols and ldy >= w.rows floats. y must not overlap x. */
int ks_matmul(struct ks_cpu *cpu, const struct ks_matrix *w, const float *x, size_t ldx, size_t n,
              float *y, size_t ldy, struct ks_error *err);

/* The same with a stack of matrices of one shape, as experts are stored: matrix m has rows
 * m * (w.rows / stacked) on of w and multiplies rows starts[m]..starts[m + 1] - 1 of x; starts
 * has stacked + 1 entries from 0 on. ldy >= w.rows / stacked. */
int ks_matmul_stacked(struct ks_cpu *cpu, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *x, size_t ldx, float *y, size_t ldy,
                      struct ks_error *err);

/* The same of rows that are rounded first, as llama.cpp's CPU kernels round what they multiply by
 * weights of that type (quant/activations.h). x(n, w.cols) has no gaps and stays as it is. */
int ks_matmul_rounded(struct ks_cpu *cpu, const struct ks_matrix *w, size_t stacked,
                      const size_t *starts, const float *x, float *y, size_t ldy,
                      struct ks_error *err);

/* out(n, dim) = x(n, dim) rounded so. out may be x. */
void ks_round_activations(struct ks_cpu *cpu, enum ks_type weights, const float *x, size_t n,
                          size_t dim, float *out);

/* out(n, w.cols) = decoded rows ids[0..n) of w: the embedding. ids in 0..w.rows-1 (checked by the
 * caller). */
void ks_gather(struct ks_cpu *cpu, const struct ks_matrix *w, const int32_t *ids, size_t n,
               float *out);

/* y[i] = x[i] * (1 / sqrt(mean(x^2) + eps)) * gain[i], from the left, for each of n rows of dim;
 * the squares are summed by fma in 16 lanes. y may be x. */
void ks_rmsnorm(struct ks_cpu *cpu, const float *x, size_t n, size_t dim, const float *gain,
                float eps, float *y);

/* y[i] = (x[i] - mean) * (1 / sqrt(variance + eps)) * gain[i] + bias[i], from the left, for each
 * row; mean and variance by sums in 16 lanes, the squares of the differences by fma. gain or bias
 * NULL: none. y may be x. */
void ks_layernorm(struct ks_cpu *cpu, const float *x, size_t n, size_t dim, const float *gain,
                  const float *bias, float eps, float *y);

/* The same without bias, in place, of each head of x(n, heads * dim) by itself, with its own gain
 * of gain(heads, dim). */
void ks_layernorm_heads(struct ks_cpu *cpu, float *x, size_t n, size_t heads, size_t dim,
                        const float *gain, float eps);

/* x(n, dim) *= factor; or row i by factors[positions[i]]. */
void ks_scale(struct ks_cpu *cpu, float *x, size_t n, size_t dim, float factor);
void ks_scale_at(struct ks_cpu *cpu, float *x, size_t n, size_t dim, const int32_t *positions,
                 const float *factors);

/* x(n, dim) += y(n, dim). */
void ks_add(struct ks_cpu *cpu, float *x, const float *y, size_t n, size_t dim);
/* x(n, dim) += bias(dim) in each row. */
void ks_add_bias(struct ks_cpu *cpu, float *x, const float *bias, size_t n, size_t dim);

/* gate(n, dim) = silu(gate) * up, silu(v) = v / (1 + exp(-v)). */
void ks_silu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim);

/* gpt-oss's gate: with g = gate up to 7 and u = up within -7..7, gate(n, dim) = g / (1 + exp(-1.702
 * * g)) * (u + 1). */
void ks_clamped_silu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim);

/* gate(n, dim) = gelu(gate) * up, and x = gelu(x): GELU's tanh form (Hendrycks and Gimpel 2016),
 * x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), as x / (1 + exp(-y)) with twice that
 * argument: the same function without the cancellation. */
void ks_gelu_mul(struct ks_cpu *cpu, float *gate, const float *up, size_t n, size_t dim);
void ks_gelu(struct ks_cpu *cpu, float *x, size_t n, size_t dim);

/* x(n, dim) = max(x, 0)^2. */
void ks_relu2(struct ks_cpu *cpu, float *x, size_t n, size_t dim);

/* x(n, dim) = cap * tanh(x * (1 / cap)), tanh as ks_tanhf. */
void ks_softcap(struct ks_cpu *cpu, float *x, size_t n, size_t dim, float cap);

/* x(n, dim) as each row comes back from `type`, see ks_round_row. dim a whole number of its blocks.
 */
void ks_round_rows(struct ks_cpu *cpu, enum ks_type type, float *x, size_t n, size_t dim);

enum ks_rope_pairing {
    KS_ROPE_ADJACENT, /* (2i, 2i+1): llama in GGUF's row order */
    KS_ROPE_HALVES,   /* (i, i + dims/2): the "neox" order */
};

/*
 * Rotates the first dims of each head. x: row i, head h at x + i * ldx + h * head_dim. positions[n]
 * index the tables cosine and sine, (positions, dims / 2).
 */
void ks_rope(struct ks_cpu *cpu, float *x, size_t ldx, size_t n, size_t heads, size_t head_dim,
             size_t dims, enum ks_rope_pairing pairing, const int32_t *positions,
             const float *cosine, const float *sine);

/*
 * Causal attention inside each sequence of a batch. Sequence s has rows starts[s]..starts[s+1]-1 of
 * q(n, heads * head_dim), k(n, kv_heads * head_dim), v(n, kv_heads * head_dim_v), each with its own
 * leading dimension; out(n, heads * head_dim_v). Query head h uses KV head h / (heads / kv_heads).
 * For each query: the score of each visible key is scale * the fma chain over head_dim from 0;
 * softmax with 16 lanes from the first visible key (maximum, exp, sum, divide); then for each
 * output one fma chain over keys in order. window > 0: only the last `window` keys are visible, the
 * own one included.
 */
struct ks_attention {
    const float *q, *k, *v;
    size_t ldq, ldk, ldv;
    size_t heads, kv_heads, head_dim, head_dim_v;
    const size_t *starts; /* (n_sequences + 1) */
    size_t n_sequences;
    /* NULL: every position is a query. Else q and out hold fewer rows: q_starts[s] ..
     * q_starts[s + 1] - 1 are the last positions of sequence s. */
    const size_t *q_starts;
    size_t window;
    float scale;
    float softcap; /* c > 0: a score s becomes c * tanh(s / c), as cap * tanh(dot * (scale / c)) */
    /* (heads) or NULL: a score that each query's softmax counts beside its keys', without a value:
     * its exp is added to the sum behind the lanes. */
    const float *sinks;
};
int ks_attend(struct ks_cpu *cpu, const struct ks_attention *a, float *out, size_t ldout,
              struct ks_error *err);

#endif
