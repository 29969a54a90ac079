/*
 * Mixtures of experts, apart from their products (ks_matmul_stacked): which experts each token
 * takes and with what weights, the tokens sorted by expert, and their results added up again.
 *
 * Every number depends on its own token alone: a choice falls to the lower index among equals, and
 * results are added in ascending order of experts. So a batch's composition and the threads show
 * nowhere. Sources: Shazeer et al. 2017 (top-k gating), Fedus et al. 2021, and the models' own
 * reference implementations.
 *
 * Threads: as in cpu.h.
 */
#ifndef KS_ENGINE_KERNELS_EXPERTS_H
#define KS_ENGINE_KERNELS_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/kernels/cpu.h"

/* What makes scores of a router's logits. */
enum ks_gating {
    KS_GATING_SOFTMAX, /* over all experts */
    KS_GATING_SIGMOID, /* of each by itself */
    KS_GATING_CHOSEN,  /* the logits choose; softmax over those chosen */
};

struct ks_router {
    size_t experts, used; /* used experts a token, 1..experts */
    enum ks_gating gating;
    bool normalize; /* the chosen scores are divided by their sum plus sum_eps */
    float sum_eps;
    float scale;             /* the weights are multiplied by it; 1 for none */
    const float *gains;      /* (experts) times an expert's weights; NULL: none */
    const float *preference; /* (experts) added to the scores for the choice alone; NULL: none */
};

/* Token t takes expert `experts[t * used + i]` with weights[t * used + i], i = 0..used-1 in
 * ascending order of experts. Sorted by expert, the n * used pairs have numbers: expert e has
 * numbers starts[e]..starts[e + 1] - 1, in the order of tokens; token t's are at slots[t * used +
 * i], and the pair of number s is of token tokens[s]. The memory is the caller's. */
struct ks_routes {
    uint32_t *experts, *slots, *tokens; /* (n, used) each */
    float *weights;                     /* (n, used) */
    size_t *starts;                     /* (experts + 1) */
};

/* Fills routes from logits(n, experts), which are used up. n * used < 2^32. */
void ks_route(struct ks_cpu *cpu, const struct ks_router *router, float *logits, size_t n,
              const struct ks_routes *routes);

/* out(n, dim) = rows[i] of x(., dim). */
void ks_gather_rows(struct ks_cpu *cpu, const float *x, size_t dim, const uint32_t *rows, size_t n,
                    float *out);

/* x(n * used, dim) += row experts of bias(experts, dim), for the rows as sorted. */
void ks_add_expert_bias(struct ks_cpu *cpu, float *x, const float *bias, size_t dim,
                        const size_t *starts, size_t experts);

/* out(n, dim) = the sum of each token's results, one fma chain of weight * result from 0 in
 * ascending order of experts. results(n * used, dim), sorted. */
void ks_combine(struct ks_cpu *cpu, const struct ks_routes *routes, size_t used,
                const float *results, size_t dim, size_t n, float *out);

/* x(n, dim) += y(n, dim) times 1 / (1 + exp(-gate)) of the row, by fma; gate(n). */
void ks_add_gated(struct ks_cpu *cpu, float *x, const float *y, const float *gate, size_t n,
                  size_t dim);

#endif
