/*
 * Plans over a tiny model and a made-up text, and runs of them, for the tests of this folder.
 * Include tests/testing.h first.
 */
#ifndef KS_TESTS_ENGINE_RUN_PLANS_H
#define KS_TESTS_ENGINE_RUN_PLANS_H

#include <string.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/engine.h"

static char corpus_path[] = "/tmp/kldscope-test-XXXXXX.txt";

static inline void write_corpus(void)
{
    int fd = mkstemps(corpus_path, 4);
    assert_true(fd >= 0);
    uint64_t random = 11;
    for (int i = 0; i < 600; i++) {
        char word[16];
        int len = snprintf(word, sizeof word, "w%d ", (int)ks_random_below(&random, 90));
        assert_int_equal(write(fd, word, (size_t)len), len);
    }
    close(fd);
}

static inline void set(char **field, const char *text)
{
    *field = strdup(text);
    assert_non_null(*field);
}

static inline void add_corpus(struct ks_plan *plan, const char *name, const char *path,
                              const char *shown)
{
    struct ks_error err;
    struct ks_corpus_spec *c = ks_plan_add_corpus(plan, &err);
    set(&c->name, name);
    c->paths = calloc(1, sizeof *c->paths);
    c->shown = calloc(1, sizeof *c->shown);
    c->n_paths = 1;
    set(&c->paths[0], path);
    set(&c->shown[0], shown);
}

static inline struct ks_plan *make_plan(int threads, uint32_t window)
{
    struct ks_error err;
    struct ks_plan *plan = ks_plan_create(&err);
    plan->reference = ks_model_open(test_data("model/llama-untied.gguf"), NULL, NULL, &err);
    if (!plan->reference)
        fail_msg("%s", err.text);
    plan->threads = threads;
    plan->window = window;
    add_corpus(plan, "first", corpus_path, "words.txt");
    add_corpus(plan, "second", corpus_path, "words.txt");
    return plan;
}

static inline void add_arm(struct ks_plan *plan, const char *name, const char *regex,
                           const char *type)
{
    struct ks_error err;
    struct ks_arm_spec *a = ks_plan_add_arm(plan, &err);
    set(&a->name, name);
    if (!regex)
        return;
    a->overrides = calloc(1, sizeof *a->overrides);
    a->n_overrides = 1;
    set(&a->overrides[0].regex, regex);
    set(&a->overrides[0].type, type);
}

static inline void add_usual_arms(struct ks_plan *plan)
{
    add_arm(plan, "same", NULL, NULL);
    add_arm(plan, "all", "attn_|ffn_(up|gate)", "Q8_0");
    add_arm(plan, "layer", "blk\\.1\\.attn_", "Q4_0");
    add_arm(plan, "head", "^output\\.", "Q5_1");
}

/* Runs a plan to its end and returns the last snapshot. */
static inline const struct ks_snapshot *run_to_end(struct ks_plan *plan)
{
    struct ks_error err;
    struct ks_run *run = ks_run_create(plan, &err);
    if (!run || ks_run_start(run, &err) || ks_run_join(run, &err))
        fail_msg("%s", err.text);
    const struct ks_snapshot *s = ks_run_snapshot(run);
    ks_run_destroy(run);
    return s;
}

static inline bool log_has(const struct ks_snapshot *s, const char *words)
{
    for (size_t i = 0; i < s->n_log; i++)
        if (strstr(s->log[i].text, words))
            return true;
    return false;
}

static inline void assert_same_numbers(const struct ks_numbers *a, const struct ks_numbers *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(&a->kld_mean, &b->kld_mean,
                        offsetof(struct ks_numbers, nonfinite) -
                            offsetof(struct ks_numbers, kld_mean));
    assert_memory_equal(a->hist, b->hist, sizeof a->hist);
    assert_int_equal(a->n_trend, b->n_trend);
    assert_memory_equal(a->trend, b->trend, a->n_trend * sizeof *a->trend);
    for (int c = 0; c < 2; c++)
        assert_memory_equal(&a->corpora[c], &b->corpora[c], sizeof a->corpora[c]);
}

static inline void assert_same_results(const struct ks_snapshot *a, const struct ks_snapshot *b)
{
    assert_int_equal(a->state, KS_RUN_DONE);
    assert_int_equal(b->state, KS_RUN_DONE);
    assert_int_equal(a->facts->n_arms, b->facts->n_arms);
    assert_same_numbers(&a->reference, &b->reference);
    for (size_t i = 0; i < a->facts->n_arms; i++) {
        assert_string_equal(a->facts->arms[i].hash, b->facts->arms[i].hash);
        assert_same_numbers(&a->arms[i].numbers, &b->arms[i].numbers);
    }
}

#endif
