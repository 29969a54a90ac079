/*
 * What an arm keeps keys and values in: from the names that a recipe gives to the types that its
 * net rounds to.
 */
#ifndef KS_ENGINE_RUN_ARMS_KV_H
#define KS_ENGINE_RUN_ARMS_KV_H

#include "engine/base/bytes.h"
#include "engine/engine.h"
#include "engine/model/model.h"

/*
 * out->keys and out->values of the arm `spec` of model m; KS_F32 where the spec names none.
 * Refuses a name that is no such type, a model without attention, and a type whose blocks don't
 * divide a head's row in some layer.
 */
int ks_kv_resolve(const struct ks_arm_spec *spec, const struct ks_model *m, struct ks_rounding *out,
                  struct ks_error *err);

/* Appends "Q8_0", or "Q8_0/Q4_0" where keys and values differ. */
int ks_kv_describe(const struct ks_rounding *r, struct ks_buf *out, struct ks_error *err);

/* Whether anything is rounded, and then what makes an arm another one than by its tensors alone. */
bool ks_kv_rounds(const struct ks_rounding *r);
struct ks_hash ks_kv_hash(const struct ks_rounding *r);

#endif
