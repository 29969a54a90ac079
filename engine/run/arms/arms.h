/*
 * Arms: from what a scenario says to tensors and a net.
 *
 * First every arm is resolved (cheap, names all mistakes), then built (quantized, bound). A ks_arm
 * belongs to its run's thread; it borrows its spec, models and the store's memory.
 */
#ifndef KS_ENGINE_RUN_ARMS_ARMS_H
#define KS_ENGINE_RUN_ARMS_ARMS_H

#include "engine/engine.h"
#include "engine/imatrix/imatrix.h"
#include "engine/model/model.h"
#include "engine/run/arms/store.h"

struct ks_arm {
    const struct ks_arm_spec *spec; /* NULL for the reference */
    struct ks_model *model;         /* whose shape and vocabulary it has; borrowed */
    struct ks_matrix *tensors;      /* (n_tensors of model), file order */
    enum ks_type *types;            /* (n_tensors) resolved; NULL for the reference and file arms */
    struct ks_importance *importance; /* (n_tensors) weights NULL where there are none; NULL without
                                         an importance matrix */
    struct ks_rounding rounding;      /* of the net, beside what its tensors say */
    char *recipe;
    uint64_t bytes, elements; /* sum of tensor data, number of weights */
    struct ks_hash hash; /* of names, types, shapes and data, and of the rounding where there is
                            any; after build */
    struct ks_net net;   /* after build */
};

/* The arm `spec` of a reference; spec NULL is the reference itself. Checks the recipe against the
 * reference (shapes, types, vocabulary). warn: see ks_mix_resolve. */
int ks_arm_resolve(struct ks_arm *arm, const struct ks_arm_spec *spec, struct ks_model *reference,
                   void (*warn)(void *ctx, const char *text), void *ctx, struct ks_error *err);

/* Quantizes what differs, interns the rest, binds the net for windows of `positions`. progress is
 * called before each tensor and returns false to stop (KS_CANCELLED). */
int ks_arm_build(struct ks_arm *arm, struct ks_store *store, struct ks_pool *pool, size_t positions,
                 bool (*progress)(void *ctx, size_t tensor, size_t n), void *ctx,
                 struct ks_error *err);

void ks_arm_finish(struct ks_arm *arm); /* accepts a zeroed one */

#endif
