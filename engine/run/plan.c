/* Plans: plain data with one owner. */
#include <stdlib.h>

#include "engine/engine.h"

struct ks_plan *ks_plan_create(struct ks_error *err)
{
    struct ks_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        ks_fail_memory(err, sizeof *plan, "a plan");
    return plan;
}

static void free_strings(char **strings, size_t n)
{
    for (size_t i = 0; strings && i < n; i++)
        free(strings[i]);
    free(strings);
}

void ks_corpus_spec_finish(struct ks_corpus_spec *c)
{
    free(c->name);
    free_strings(c->paths, c->n_paths);
    free_strings(c->shown, c->n_paths);
    free(c->where);
    *c = (struct ks_corpus_spec){0};
}

void ks_arm_spec_finish(struct ks_arm_spec *a)
{
    free(a->name);
    free(a->preset);
    for (size_t i = 0; i < a->n_overrides; i++) {
        free(a->overrides[i].regex);
        free(a->overrides[i].type);
    }
    free(a->overrides);
    ks_model_unref(a->model);
    ks_imatrix_unref(a->imatrix);
    free(a->kv_keys);
    free(a->kv_values);
    free_strings(a->tags, a->n_tags);
    free(a->where);
    *a = (struct ks_arm_spec){0};
}

void ks_plan_destroy(struct ks_plan *plan)
{
    if (!plan)
        return;
    if (plan->hooks.destroy)
        plan->hooks.destroy(plan->hooks.ctx);
    for (size_t i = 0; i < plan->n_corpora; i++)
        ks_corpus_spec_finish(&plan->corpora[i]);
    for (size_t i = 0; i < plan->n_arms; i++)
        ks_arm_spec_finish(&plan->arms[i]);
    free(plan->corpora);
    free(plan->arms);
    ks_model_unref(plan->reference);
    free(plan->name);
    free(plan->scenario);
    free(plan->device);
    free(plan->out);
    free(plan);
}

struct ks_corpus_spec *ks_plan_add_corpus(struct ks_plan *plan, struct ks_error *err)
{
    size_t bytes = (plan->n_corpora + 1) * sizeof *plan->corpora;
    struct ks_corpus_spec *corpora = realloc(plan->corpora, bytes);
    if (!corpora) {
        ks_fail_memory(err, bytes, "the plan's corpora");
        return NULL;
    }
    plan->corpora = corpora;
    struct ks_corpus_spec *c = &corpora[plan->n_corpora++];
    *c = (struct ks_corpus_spec){0};
    return c;
}

struct ks_arm_spec *ks_plan_add_arm(struct ks_plan *plan, struct ks_error *err)
{
    size_t bytes = (plan->n_arms + 1) * sizeof *plan->arms;
    struct ks_arm_spec *arms = realloc(plan->arms, bytes);
    if (!arms) {
        ks_fail_memory(err, bytes, "the plan's arms");
        return NULL;
    }
    plan->arms = arms;
    struct ks_arm_spec *a = &arms[plan->n_arms++];
    *a = (struct ks_arm_spec){0};
    return a;
}
