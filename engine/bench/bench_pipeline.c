/*
 * Whole runs: how near the pipeline comes to the FMA peak, statistics and all, and what memory it
 * takes beside the weights. One over a real model and text, some seconds long; one over a model
 * that is made up, for a vocabulary as wide as they come.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/base/path.h"
#include "engine/bench/bench.h"
#include "engine/bench/made_model.h"

#define RUN_NS 5000000000
#define WINDOW 512

struct watch {
    uint64_t before, most;     /* bytes of memory that are no file's */
    const char *text, *folder; /* to remove, once they were read; or NULL */
};

static void remove_read(struct watch *w)
{
    if (!w->text)
        return;
    unlink(w->text);
    rmdir(w->folder);
    w->text = NULL;
}

static uint64_t anonymous_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    unsigned long long kib = 0;
    char line[128];
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static void look(void *ctx, struct ks_run *run, const struct ks_snapshot *now)
{
    struct watch *w = ctx;
    remove_read(w);
    uint64_t bytes = anonymous_bytes();
    w->most = bytes > w->most ? bytes : w->most;
    if (now->elapsed_ns > RUN_NS)
        ks_run_stop(run, "long enough");
}

/* ------------------------------------------------------------------ a plan */

static int add_corpus(struct ks_plan *plan, const char *path, struct ks_error *err)
{
    struct ks_corpus_spec *c = ks_plan_add_corpus(plan, err);
    if (!c)
        return -1;
    c->paths = calloc(1, sizeof *c->paths);
    c->shown = calloc(1, sizeof *c->shown);
    c->name = strdup("text");
    if (c->paths && c->shown) {
        c->n_paths = 1;
        c->paths[0] = strdup(path);
        c->shown[0] = strdup(path);
    }
    return c->n_paths && c->paths[0] && c->shown[0] && c->name
               ? 0
               : ks_fail_memory(err, strlen(path), "the benchmark's corpus");
}

static int add_arm(struct ks_plan *plan, const char *preset, const char *regex,
                   struct ks_error *err)
{
    struct ks_arm_spec *a = ks_plan_add_arm(plan, err);
    if (!a)
        return -1;
    a->name = strdup(preset);
    if (!regex)
        a->preset = strdup(preset);
    else if ((a->overrides = calloc(1, sizeof *a->overrides))) {
        a->n_overrides = 1;
        a->overrides[0].regex = strdup(regex);
        a->overrides[0].type = strdup(preset);
    }
    bool all = a->name && (regex ? a->overrides && a->overrides[0].regex && a->overrides[0].type
                                 : a->preset != NULL);
    return all ? 0 : ks_fail_memory(err, strlen(preset), "the benchmark's arms");
}

/* The reference is taken over. */
static struct ks_plan *make_plan(const struct bench *b, struct ks_model *reference,
                                 const char *corpus, struct watch *watch, struct ks_error *err)
{
    struct ks_plan *plan = ks_plan_create(err);
    if (!plan) {
        ks_model_unref(reference);
        return NULL;
    }
    const uint32_t context = ks_model_info(reference)->context;
    plan->reference = reference;
    plan->threads = b->threads;
    plan->window = context < WINDOW ? context : WINDOW;
    plan->head = KS_HEAD_CPU;
    plan->no_cache = true;
    plan->hooks.ctx = watch;
    plan->hooks.on_window = look;
    if (add_corpus(plan, corpus, err) == 0)
        return plan;
    ks_plan_destroy(plan);
    return NULL;
}

/* ------------------------------------------------------------------ a run */

static void tell_speed(const struct bench *b, const struct ks_snapshot *s, const char *name)
{
    char line[128];
    double flops = s->flops, wall = (double)s->elapsed_ns, ran = (double)s->cpu_ns;
    snprintf(line, sizeof line, "%s, %zu models", name, s->facts->n_arms + 1);
    ks_bench_line(b, "pipeline", line, flops / wall, "GFLOP/s", s->facts->peak_flops / 1e9,
                  "FMA peak");
    ks_bench_line(b, "pipeline", "  a second that a thread ran", flops / ran, "GFLOP/s",
                  b->peak_one / 1e9, "FMA peak, 1 thread");
    ks_bench_line(b, "pipeline", "  tokens for each model", (double)s->tokens / wall * 1e9, "tok/s",
                  NAN, NULL);
}

static void tell_memory(const struct bench *b, const struct ks_snapshot *s, const struct watch *w)
{
    double beside = (double)w->most - (double)w->before - (double)s->facts->quantized_bytes;
    ks_bench_line(b, "pipeline", "  memory beside the weights", beside / 1e6, "MB", NAN, NULL);
}

/* The plan is taken over. */
static int run(const struct bench *b, struct ks_plan *plan, struct watch *watch, const char *name,
               bool speed, struct ks_error *err)
{
    watch->before = anonymous_bytes();
    struct ks_run *run = ks_run_create(plan, err);
    if (!run)
        return -1;
    int failed = ks_run_start(run, err) || ks_run_join(run, err);
    const struct ks_snapshot *s = ks_run_snapshot(run);
    if (!failed && s->windows > 0) {
        if (speed)
            tell_speed(b, s, name);
        else
            ks_bench_line(b, "pipeline", name, (double)s->flops / (double)s->elapsed_ns, "GFLOP/s",
                          s->facts->peak_flops / 1e9, "FMA peak");
        tell_memory(b, s, watch);
    }
    ks_snapshot_release(s);
    ks_run_destroy(run);
    return failed ? -1 : 0;
}

static int bench_real(const struct bench *b, struct ks_error *err)
{
    static const char *const presets[] = {"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"};
    struct watch watch = {0};
    struct ks_model *m = ks_model_open(b->model, NULL, "F16", err);
    struct ks_plan *plan = m ? make_plan(b, m, b->corpus, &watch, err) : NULL;
    int failed = plan ? 0 : -1;
    for (size_t i = 0; i < sizeof presets / sizeof *presets && !failed; i++)
        failed = add_arm(plan, presets[i], NULL, err);
    if (failed) {
        ks_plan_destroy(plan);
        return -1;
    }
    return run(b, plan, &watch, ks_path_file(b->model), true, err);
}

static int write_letters(const char *path, size_t n, struct ks_error *err)
{
    FILE *f = fopen(path, "wex");
    uint64_t random = 2;
    if (!f)
        return ks_fail_errno(err, "%s: cannot write", path);
    for (size_t i = 0; i < n; i++)
        fputc('a' + (int)ks_random_below(&random, 26), f);
    return fclose(f) == 0 ? 0 : ks_fail_errno(err, "%s: cannot write", path);
}

/* As wide as Gemma's, at a small model's size. Its file has no name any more, so that nothing of it
 * is left however this process ends. */
static struct ks_model *open_wide(const char *folder, struct ks_error *err)
{
    const struct made_model made = {.vocab = 262144,
                                    .layers = 4,
                                    .hidden = 640,
                                    .ffn = 2048,
                                    .heads = 4,
                                    .kv_heads = 1,
                                    .context = WINDOW};
    char path[600], open_path[64];
    snprintf(path, sizeof path, "%s/made.gguf", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        ks_fail_errno(err, "%s: cannot write", path);
        return NULL;
    }
    unlink(path);
    snprintf(open_path, sizeof open_path, "/proc/self/fd/%d", fd);
    struct ks_model *m = NULL;
    if (made_model_write(&made, fd, err) == 0)
        m = ks_model_open(open_path, NULL, NULL, err);
    close(fd);
    return m;
}

static int bench_wide(const struct bench *b, struct watch *watch, struct ks_error *err)
{
    if (write_letters(watch->text, WINDOW + 1, err))
        return -1;
    struct ks_model *m = open_wide(watch->folder, err);
    struct ks_plan *plan = m ? make_plan(b, m, watch->text, watch, err) : NULL;
    if (!plan)
        return -1;
    if (add_arm(plan, "Q8_0", "^blk", err) || add_arm(plan, "Q5_0", "^blk", err)) {
        ks_plan_destroy(plan);
        return -1;
    }
    return run(b, plan, watch, "262,144 tokens wide, 3 models", false, err);
}

int ks_bench_pipeline(struct bench *b, struct ks_error *err)
{
    char folder[512], text[600];
    const char *base = getenv("TMPDIR");
    if (b->model && b->corpus && bench_real(b, err))
        return -1;
    snprintf(folder, sizeof folder, "%s/kldscope-bench-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        return ks_fail_errno(err, "%s: cannot make a folder for the benchmark's model", folder);
    snprintf(text, sizeof text, "%s/letters.txt", folder);
    struct watch watch = {.text = text, .folder = folder};
    int failed = bench_wide(b, &watch, err);
    remove_read(&watch);
    return failed;
}
