#include "tests/tui/fake_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"

#define MANY_ARMS 40

struct fake_arm {
    const char *name, *recipe;
    uint64_t bytes;
    double bits, ppl, kld, p50, p90, p99, p999, max, top1, overlap;
    int peak; /* bin where most positions are */
};

static const struct fake_arm arms[] = {
    {"q8_0", "Q8_0", 144811008, 8.50, 8.3163, 0.000312, 0.000101, 0.00073, 0.00418, 0.0191, 0.231,
     0.9921, 0.9870, 80},
    {"q6_k", "Q6_K", 138379008, 6.56, 8.3294, 0.00118, 0.000405, 0.00281, 0.0131, 0.0612, 0.874,
     0.9840, 0.9711, 86},
    {"q5_k_m", "Q5_K_M", 112103040, 5.71, 8.3561, 0.00361, 0.00127, 0.0083, 0.0392, 0.201, 1.93,
     0.9713, 0.9498, 91},
    {"q4_k_m", "Q4_K_M", 105454464, 4.85, 8.4372, 0.01142, 0.00412, 0.0271, 0.1206, 0.874, 4.36,
     0.9502, 0.9136, 96},
    {"q4_k_m-out8", "Q4_K_M + output.weight=Q8_0", 109812352, 4.97, 8.4209, 0.00987, 0.00352,
     0.0233, 0.1011, 0.713, 3.98, 0.9541, 0.9210, 95},
    {"q2_k", "Q2_K", 88197120, 2.63, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 110},
};

#define N_ARMS (sizeof arms / sizeof *arms)

/* Positions a window, by bin around the peak: a hill with a longer left side. */
static const unsigned hill[] = {1,  1,  1,  2,  2,  3,  4,  5,  6,  8,  10, 12, 14, 17,
                                20, 22, 25, 27, 29, 30, 30, 29, 27, 24, 20, 16, 12, 9,
                                7,  5,  4,  3,  2,  2,  1,  1,  1,  0,  1,  0,  0,  1};
#define HILL      (sizeof hill / sizeof *hill)
#define HILL_PEAK 19

/* One allocation chain a snapshot, so that release is one loop. */
struct owned {
    struct ks_snapshot snapshot;
    struct fake_source *source;
    int refs;
    void *blocks[512];
    size_t n_blocks;
};

static void *own(struct owned *o, void *block)
{
    if (!block || o->n_blocks == sizeof o->blocks / sizeof *o->blocks)
        abort();
    return o->blocks[o->n_blocks++] = block;
}

static void fill_hist(struct ks_numbers *n, int peak, size_t windows)
{
    for (size_t i = 0; i < HILL; i++)
        n->hist[(size_t)peak + i - HILL_PEAK] = (uint64_t)hill[i] * windows;
    n->hist_zero = windows / 12;
    n->hist_below = windows / 40;
}

static void fill_trend(struct owned *o, struct ks_numbers *n, double p99, uint64_t seed,
                       size_t windows)
{
    n->n_trend = windows;
    n->trend = own(o, calloc(windows + 1, sizeof *n->trend));
    for (size_t i = 0; i < windows; i++) {
        double factor = 0.4 + (double)ks_random_below(&seed, 150) / 100.0;
        n->trend[i] = (float)(p99 * factor);
    }
}

static void no_numbers(struct ks_numbers *n)
{
    double *const values[] = {
        &n->kld_mean,     &n->kld_sem,          &n->kld_median,      &n->kld_p90,
        &n->kld_p95,      &n->kld_p99,          &n->kld_p999,        &n->kld_max,
        &n->ppl_ref,      &n->ppl_ref_sem,      &n->ppl_arm,         &n->ppl_arm_sem,
        &n->ln_ppl_ratio, &n->ln_ppl_ratio_sem, &n->top1_agreement,  &n->topk_overlap,
        &n->delta_p_mean, &n->delta_p_rms,      &n->kld_reverse_mean};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = NAN;
}

static void fill_numbers(struct owned *o, struct ks_numbers *n, const struct fake_arm *arm,
                         uint64_t seed, size_t windows)
{
    no_numbers(n);
    if (windows == 0)
        return;
    if (isnan(arm->kld)) {
        n->nonfinite = windows * 512;
        n->first_nonfinite_document = 3;
        n->first_nonfinite_offset = 395;
        return;
    }
    n->n = windows * 512;
    n->kld_mean = arm->kld;
    n->kld_sem = arm->kld / 53;
    n->kld_median = arm->p50;
    n->kld_p90 = arm->p90;
    n->kld_p99 = arm->p99;
    n->kld_p999 = arm->p999;
    n->kld_max = arm->max;
    n->kld_reverse_mean = arm->kld * 1.07;
    n->top1_agreement = arm->top1;
    n->topk_overlap = arm->overlap;
    n->ppl_ref = 8.3142;
    n->ppl_ref_sem = 0.0611;
    n->ppl_arm = arm->ppl;
    n->ppl_arm_sem = 0.0613;
    fill_hist(n, arm->peak, windows);
    fill_trend(o, n, arm->p99, seed, windows);
}

static char *numbered(struct owned *o, const char *before, size_t i, const char *behind)
{
    char text[128];
    snprintf(text, sizeof text, "%s%zu%s", before, i, behind);
    return own(o, strdup(text));
}

static size_t n_arms_of(enum fake_kind kind)
{
    return kind == FAKE_MANY ? MANY_ARMS : N_ARMS;
}

static void fill_arm_facts(struct owned *o, struct ks_arm_facts *facts, enum fake_kind kind,
                           size_t i)
{
    const struct fake_arm *arm = &arms[i % N_ARMS];
    *facts = (struct ks_arm_facts){
        .name = arm->name,
        .recipe = arm->recipe,
        .bytes = arm->bytes,
        .bits_per_weight = arm->bits,
        .hash = "00000000000000000000000000000000",
    };
    if (kind != FAKE_MANY)
        return;
    char name[64];
    snprintf(name, sizeof name, "arm-%02zu", i);
    facts->name = own(o, strdup(name));
    if (i == 7)
        facts->name = "\u6df7\u5408\u7cbe\u5ea6-arm"; /* wide letters */
    if (i == 8)
        facts->name = "tab\there";
}

static const struct ks_facts *make_facts(struct owned *o, enum fake_kind kind)
{
    struct ks_facts *facts = own(o, calloc(1, sizeof *facts));
    size_t n = n_arms_of(kind);
    struct ks_arm_facts *list = own(o, calloc(n, sizeof *list));
    for (size_t i = 0; i < n; i++)
        fill_arm_facts(o, &list[i], kind, i);
    struct ks_document_facts *documents = own(o, calloc(64, sizeof *documents));
    for (uint32_t i = 0; i < 64; i++)
        documents[i] = (struct ks_document_facts){.file = "code.jsonl", .line = 38 + i};
    *facts = (struct ks_facts){
        .name = "quickstart",
        .scenario = "scenarios/quickstart.lua",
        .reference_file = "smollm2-135m-f16.gguf",
        .reference_name = "smollm2-135m",
        .architecture = "llama",
        .reference_bytes = 270885888,
        .reference_bits = 16.0,
        .scoring = "window",
        .order = "shuffled",
        .window = 512,
        .context_min = 256,
        .top_k = 10,
        .threads = 8,
        .isa = "avx512",
        .backend_body = "cpu",
        .backend_head = "cpu",
        .peak_flops = 2.2e11,
        .head_note = "no GPU: no Vulkan loader (libvulkan.so.1) on this machine",
        .documents = 64,
        .document = documents,
        .windows = FAKE_WINDOWS,
        .to_compute = FAKE_WINDOWS * 512,
        .arms = list,
        .n_arms = n,
    };
    if (kind == FAKE_DONE || kind == FAKE_TROUBLE) {
        facts->backend_head = "vulkan NVIDIA H200 (matrix cores)";
        facts->head_note = "";
        facts->head_gain = 3.14;
        facts->peak_flops = 0;
    }
    return facts;
}

static void make_trouble(struct ks_arm_snapshot *list)
{
    list[0].state = KS_ARM_DROPPED;
    list[0].why = "hook: clearly good enough";
    list[1].numbers.nonfinite = 3;
    list[1].numbers.first_nonfinite_document = 11;
    list[1].numbers.first_nonfinite_offset = 40;
    list[1].numbers.infinite = 1;
    list[1].numbers.kld_mean = INFINITY;
    list[4].state = KS_ARM_FAILED;
    list[4].why = "other.gguf: tensor output.weight at byte 8192 ends past the file";
    no_numbers(&list[4].numbers);
    list[4].numbers.n = 0;
    list[4].numbers.n_trend = 0;
}

static void fill_arms(struct owned *o, enum fake_kind kind, size_t windows)
{
    struct ks_snapshot *s = &o->snapshot;
    size_t n = s->facts->n_arms;
    s->arms = own(o, calloc(n, sizeof *s->arms));
    for (size_t i = 0; i < n; i++) {
        struct ks_arm_snapshot *arm = &s->arms[i];
        arm->why = "";
        arm->state = kind == FAKE_BUILDING  ? KS_ARM_WAITING
                     : kind == FAKE_DONE    ? KS_ARM_DONE
                     : kind == FAKE_STOPPED ? KS_ARM_STOPPED
                                            : KS_ARM_RUNNING;
        fill_numbers(o, &arm->numbers, &arms[i % N_ARMS], 77 + i, windows);
        if (kind == FAKE_MANY && arm->numbers.n > 0)
            arm->numbers.kld_mean *= 1.0 + (double)(i / N_ARMS) / 16;
    }
    if (kind == FAKE_TROUBLE) {
        make_trouble(s->arms);
        s->windows_on_cpu = 2;
    }
}

static void fill_log(struct owned *o, enum fake_kind kind, size_t total)
{
    struct ks_snapshot *s = &o->snapshot;
    size_t from = total > 256 ? total - 256 : 0;
    s->n_log = total - from;
    s->log = own(o, calloc(s->n_log + 1, sizeof *s->log));
    for (size_t i = 0; i < s->n_log; i++) {
        size_t line = from + i;
        bool early = kind == FAKE_PREPARING || kind == FAKE_FAILED_EARLY;
        s->log[i].unix_ns = (int64_t)(43450 + 3 * line) * 1000000000;
        if (line % 7 == 3) {
            s->log[i].level = early ? KS_LOG_INFO : KS_LOG_ERROR;
            s->log[i].text = early ? "read 4 corpora, 64 documents, 262 208 tokens"
                                   : "q2_k: NaN at document 3 position 395, the arm is marked and "
                                     "its positions are kept out of every mean";
        } else if (line % 7 == 5) {
            s->log[i].level = KS_LOG_WARNING;
            s->log[i].text = "lua: on_window took 412 ms";
        } else {
            s->log[i].text = early ? numbered(o, "quantized blk.", line, ".ffn_up.weight to Q4_K")
                                   : numbered(o, "window ", line, " done");
        }
    }
}

static enum ks_run_state state_of(enum fake_kind kind)
{
    switch (kind) {
    case FAKE_PREPARING:
    case FAKE_BUILDING:
        return KS_RUN_PREPARING;
    case FAKE_DONE:
        return KS_RUN_DONE;
    case FAKE_STOPPED:
        return KS_RUN_STOPPED;
    case FAKE_FAILED_EARLY:
    case FAKE_FAILED_LATE:
        return KS_RUN_FAILED;
    default:
        return KS_RUN_RUNNING;
    }
}

static void fill(struct owned *o, const struct fake_source *fake)
{
    struct ks_snapshot *s = &o->snapshot;
    enum fake_kind kind = fake->kind;
    s->serial = fake->serial;
    s->state = state_of(kind);
    s->doing = s->state == KS_RUN_PREPARING ? "quantizing q4_k_m, 31 of 43 tensors" : "";
    s->failure = s->state == KS_RUN_FAILED
                     ? "models/smollm2-135m-f16.gguf: tensor blk.7.ffn_up.weight at byte 41943040 "
                       "ends 8192 bytes past the end of the file; the download is cut short, "
                       "fetch it again"
                     : "";
    fill_log(o, kind, fake->n_log);
    no_numbers(&s->reference);
    if (kind == FAKE_PREPARING || kind == FAKE_FAILED_EARLY)
        return;
    s->windows = kind == FAKE_DONE ? FAKE_WINDOWS : kind == FAKE_BUILDING ? 0 : fake->windows;
    s->facts = make_facts(o, kind);
    s->positions = s->windows * 512;
    s->tokens = s->windows * 512;
    s->elapsed_ns = (int64_t)s->windows * 1814000000;
    s->flops = (double)s->windows * 3.2e11;
    s->cpu_ns = 2 * s->elapsed_ns;
    if (s->windows > 0) {
        s->reference.n = s->positions;
        s->reference.ppl_ref = 8.3142;
        s->reference.ppl_ref_sem = 0.0611;
    }
    fill_arms(o, kind, s->windows);
}

static const struct ks_snapshot *snapshot(void *ctx)
{
    struct fake_source *fake = ctx;
    struct owned *newest = (struct owned *)fake->newest;
    if (!newest || newest->snapshot.serial != fake->serial) {
        struct owned *o = calloc(1, sizeof *o);
        if (!o)
            abort();
        o->source = fake;
        o->refs = 1; /* as the newest one */
        fill(o, fake);
        fake_source_finish(fake);
        fake->newest = &o->snapshot;
        newest = o;
    }
    newest->refs++;
    fake->held++;
    return fake->newest;
}

static void unref(struct owned *o)
{
    if (--o->refs > 0)
        return;
    for (size_t i = 0; i < o->n_blocks; i++)
        free(o->blocks[i]);
    free(o);
}

static void release(void *ctx, const struct ks_snapshot *s)
{
    ((struct fake_source *)ctx)->held--;
    unref((struct owned *)s);
}

static void stop(void *ctx, const char *why)
{
    (void)why;
    ((struct fake_source *)ctx)->stopped++;
}

static void note(void *ctx, enum ks_log_level level, const char *text)
{
    struct fake_source *fake = ctx;
    (void)level;
    snprintf(fake->noted, sizeof fake->noted, "%s", text);
}

static bool look(void *ctx)
{
    (void)ctx;
    return false;
}

static const char *notice(void *ctx, bool *bad)
{
    const struct fake_source *fake = ctx;
    *bad = fake->bad;
    return fake->notice;
}

struct ks_tui_source fake_source_of(struct fake_source *fake)
{
    return (struct ks_tui_source){
        .ctx = fake,
        .snapshot = snapshot,
        .release = release,
        .wake_fd = fake->wake_fd,
        .stop = stop,
        .note = note,
        .look = fake->notice ? look : NULL,
        .notice = fake->notice ? notice : NULL,
    };
}

void fake_source_finish(struct fake_source *fake)
{
    if (fake->newest)
        unref((struct owned *)fake->newest);
    fake->newest = NULL;
}
