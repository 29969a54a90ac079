/* The sample models at work: what runs them, and whether their logits agree. */
#ifndef KS_TESTS_ENGINE_MODEL_RUNNER_H
#define KS_TESTS_ENGINE_MODEL_RUNNER_H

#include "tests/engine/model/samples.h"

#include <math.h>

#include "engine/model/net/forward.h"

#define SAMPLE_TOLERANCE 1e-4 /* absolute; what independent f32 programs agree to */

static const enum ks_isa isas[] = {KS_ISA_SCALAR, KS_ISA_AVX2, KS_ISA_AVX512, KS_ISA_NEON};
#define N_ISAS (sizeof isas / sizeof *isas)

/* A model with what it takes to run it. */
struct runner {
    struct ks_model *model;
    struct ks_cpu *cpu;
    struct ks_net net;
    struct ks_body *body;
};

static inline void start(struct runner *r, struct ks_model *m, enum ks_isa isa, int threads,
                         size_t rows)
{
    struct ks_error err = {0};
    *r = (struct runner){.model = m, .cpu = ks_cpu_create(threads, isa, &err)};
    if (!r->cpu || ks_net_bind(&r->net, m, ks_model_tensor(m, 0), SAMPLE_IDS, &err))
        fail_msg("%s", err.text);
    r->body = ks_body_create(r->cpu, ks_model_hparams(m), rows, &err);
    assert_non_null(r->body);
}

static inline void stop(struct runner *r)
{
    ks_body_destroy(r->body);
    ks_net_finish(&r->net);
    ks_cpu_destroy(r->cpu);
}

static inline void must(int failed, const struct ks_error *err)
{
    if (failed)
        fail_msg("%s", err->text);
}

/* logits(n, vocab) of a batch, malloc'ed. */
static inline float *run(struct runner *r, const int32_t *ids, const size_t *starts,
                         size_t n_sequences)
{
    struct ks_error err = {0};
    const struct ks_batch batch = {.ids = ids, .starts = starts, .n_sequences = n_sequences};
    size_t n = starts[n_sequences], hidden = r->net.hparams->hidden;
    float *x = calloc(n, hidden * sizeof *x), *logits = calloc(n, SAMPLE_VOCAB * sizeof *logits);
    must(ks_body_embed(r->body, &r->net, &batch, x, &err), &err);
    for (size_t l = 0; l < r->net.hparams->layers; l++)
        must(ks_body_layer(r->body, &r->net, &batch, l, x, &err), &err);
    must(ks_body_norm(r->body, &r->net, x, n, x, &err), &err);
    must(ks_body_head(r->body, &r->net, x, n, logits, &err), &err);
    free(x);
    return logits;
}

static inline float *run_sample(struct ks_model *m, const char *name, enum ks_isa isa, int threads)
{
    struct runner r;
    const size_t starts[2] = {0, SAMPLE_IDS};
    int32_t *ids = sample_ids(name);
    start(&r, m, isa, threads, SAMPLE_IDS);
    float *logits = run(&r, ids, starts, 1);
    stop(&r);
    free(ids);
    return logits;
}

static inline void assert_agrees(const char *name, enum ks_isa isa, const float *logits,
                                 double tolerance)
{
    size_t len;
    char *bytes = test_read_file(sample_path(name, "logits.f32"), &len);
    const float *expected = (const float *)(const void *)bytes;
    double worst = 0;
    for (size_t i = 0; i < len / sizeof(float); i++)
        worst = fmax(worst, fabs((double)logits[i] - (double)expected[i]));
    print_message("# %s, %s: %zu rows, largest difference %.3g\n", name, ks_isa_name(isa),
                  len / sizeof(float) / SAMPLE_VOCAB, worst);
    if (!(worst <= tolerance))
        fail_msg("%s with %s: off by %g", name, ks_isa_name(isa), worst);
    free(bytes);
}

static inline void check_sample_to(const char *name, double tolerance)
{
    struct ks_model *m = open_sample(name);
    float *first = NULL;
    for (size_t i = 0; i < N_ISAS; i++) {
        if (!ks_isa_runs(isas[i]))
            continue;
        float *logits = run_sample(m, name, isas[i], 2);
        assert_agrees(name, isas[i], logits, tolerance);
        if (!first) {
            first = logits;
            continue;
        }
        assert_memory_equal(logits, first, SAMPLE_IDS * SAMPLE_VOCAB * sizeof *logits);
        free(logits);
    }
    free(first);
    ks_model_unref(m);
}

static inline void check_sequences_apart(struct ks_model *m, const int32_t *ids, enum ks_isa isa)
{
    const size_t starts[] = {0, 1, 18, 18, 50, 96};
    struct runner r;
    start(&r, m, isa, 2, SAMPLE_IDS);
    float *all = run(&r, ids, starts, 5);
    for (size_t s = 0; s < 5; s++) {
        const size_t alone[2] = {0, starts[s + 1] - starts[s]};
        float *one = run(&r, ids + starts[s], alone, 1);
        assert_memory_equal(one, all + starts[s] * SAMPLE_VOCAB,
                            alone[1] * SAMPLE_VOCAB * sizeof *one);
        free(one);
    }
    free(all);
    stop(&r);
}

/* The residual after all layers. */
static inline float *run_layers(struct runner *r, const struct ks_batch *batch)
{
    struct ks_error err = {0};
    float *x = calloc(SAMPLE_IDS, r->net.hparams->hidden * sizeof *x);
    must(ks_body_embed(r->body, &r->net, batch, x, &err), &err);
    for (size_t l = 0; l < r->net.hparams->layers; l++)
        must(ks_body_layer(r->body, &r->net, batch, l, x, &err), &err);
    return x;
}

static inline void check_wanted_rows(struct ks_model *m, const int32_t *ids, enum ks_isa isa)
{
    const size_t starts[] = {0, 1, 18, 18, 50, 96}, firsts[] = {0, 9, 0, 32, 17};
    struct ks_batch batch = {.ids = ids, .starts = starts, .n_sequences = 5};
    struct runner r;
    start(&r, m, isa, 2, SAMPLE_IDS);
    float *whole = run_layers(&r, &batch);
    batch.firsts = firsts;
    float *wanted = run_layers(&r, &batch);
    size_t hidden = r.net.hparams->hidden;
    for (size_t s = 0; s < 5; s++) {
        size_t from = starts[s] + firsts[s];
        assert_memory_equal(wanted + from * hidden, whole + from * hidden,
                            (starts[s + 1] - from) * hidden * sizeof *whole);
    }
    free(whole);
    free(wanted);
    stop(&r);
}

#endif
