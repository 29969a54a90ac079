/*
 * One position on one core: what a reference row and what an arm's row costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/bench/bench.h"
#include "engine/ruler/ruler.h"

struct ruler {
    enum ks_isa isa;
    const float *reference, *arm;
    size_t vocab;
    struct ks_ref_row ref;
    struct ks_arm_row row;
    int failed;
    struct ks_error err;
};

static void measure_reference(void *ctx)
{
    struct ruler *r = ctx;
    if (ks_ruler_reference(r->isa, r->reference, r->vocab, 7, 10, &r->ref, &r->err))
        r->failed = -1;
}

static void measure_arm(void *ctx)
{
    struct ruler *r = ctx;
    if (ks_ruler_arm(r->isa, r->reference, r->vocab, &r->ref, r->arm, r->vocab, 7, 10, &r->row,
                     &r->err))
        r->failed = -1;
}

/* Logits as models give them: a spread of some 20 nats. */
static float *logits(size_t vocab, float noise, struct ks_error *err)
{
    float *x = ks_bench_floats(vocab, err);
    for (size_t i = 0; x && i < vocab; i++)
        x[i] = 10.0f * x[i] + noise * (float)(i % 17);
    return x;
}

static int measure(struct bench *b, size_t vocab, struct ks_error *err)
{
    float *reference = logits(vocab, 0.0f, err),
          *arm = reference ? logits(vocab, 0.01f, err) : NULL;
    struct ruler r = {
        .isa = ks_cpu_isa(b->cpu), .reference = reference, .arm = arm, .vocab = vocab};
    if (arm) {
        char name[64];
        double one = ks_bench_seconds(measure_reference, &r) * 1e6;
        double two = ks_bench_seconds(measure_arm, &r) * 1e6;
        snprintf(name, sizeof name, "reference row of %zu", vocab);
        ks_bench_line(b, "ruler", name, one, "us/row", NAN, NULL);
        snprintf(name, sizeof name, "arm's row of %zu", vocab);
        ks_bench_line(b, "ruler", name, two, "us/row", NAN, NULL);
    }
    free(reference);
    free(arm);
    if (r.failed)
        *err = r.err;
    return arm && !r.failed ? 0 : -1;
}

int ks_bench_ruler(struct bench *b, struct ks_error *err)
{
    static const size_t vocab[] = {4096, 49152, 151936, 262144};
    for (size_t i = 0; i < sizeof vocab / sizeof vocab[0]; i++)
        if (measure(b, vocab[i], err))
            return -1;
    return 0;
}
