/* Everything before the first window: checks, corpora, the order of documents, arms, facts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/run/state.h"

#define DEFAULT_WINDOW 512
#define DEFAULT_TOP_K  10

/* ------------------------------------------------------------------ checks without a corpus */

/* The window rule has none of its choices with llama scoring. */
static int check_chunks(struct ks_run *run, struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    if (plan->context_min)
        return ks_fail(err, KS_BAD_INPUT,
                       "context_min = %u: scoring = \"llama\" always scores the second half of a "
                       "window; leave it out, or take scoring = \"window\"",
                       plan->context_min);
    if (run->window < 3)
        return ks_fail(err, KS_BAD_INPUT,
                       "window = %zu: scoring = \"llama\" scores something from 3 tokens on",
                       run->window);
    run->context_min = run->window / 2;
    return 0;
}

static int check_window(struct ks_run *run, struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    const struct ks_model_info *info = ks_model_info(plan->reference);
    run->window = plan->window ? plan->window : DEFAULT_WINDOW;
    if (!plan->window && run->window > info->context)
        run->window = info->context;
    if (run->window < 2)
        return ks_fail(err, KS_BAD_INPUT, "window = %zu: a window has 2 tokens at least",
                       run->window);
    if (run->window > info->context)
        return ks_fail(err, KS_BAD_INPUT,
                       "window = %zu is beyond the context of %s, which is %u tokens", run->window,
                       info->shown, info->context);
    if (plan->scoring == KS_SCORING_LLAMA)
        return check_chunks(run, err);
    run->context_min = plan->context_min ? plan->context_min : run->window / 2;
    if (run->context_min < 1 || run->context_min >= run->window)
        return ks_fail(err, KS_BAD_INPUT,
                       "context_min = %zu: it must be from 1 to window - 1, which is %zu",
                       run->context_min, run->window - 1);
    return 0;
}

static int check_shard(const struct ks_shard *s, struct ks_error *err)
{
    if (s->of == 0 || (s->number >= 1 && s->number <= s->of))
        return 0;
    return ks_fail(err, KS_BAD_INPUT, "shard %u/%u: the shards of %u are 1/%u to %u/%u", s->number,
                   s->of, s->of, s->of, s->of, s->of);
}

static int check_numbers(struct ks_run *run, struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    if (!plan->reference)
        return ks_fail(err, KS_BAD_INPUT,
                       "no reference: name the model that arms are held against");
    if (plan->n_corpora == 0)
        return ks_fail(err, KS_BAD_INPUT, "no corpus: name at least one text to run over");
    run->top_k = plan->top_k ? plan->top_k : DEFAULT_TOP_K;
    if (run->top_k < 1 || run->top_k > KS_TOP_MAX)
        return ks_fail(err, KS_BAD_INPUT, "top_k = %d: it must be from 1 to %d", run->top_k,
                       KS_TOP_MAX);
    run->threads = plan->threads ? plan->threads : ks_threads_allowed();
    if (run->threads < 1 || run->threads > KS_MAX_THREADS)
        return ks_fail(err, KS_BAD_INPUT, "threads = %d: it must be from 1 to %d", run->threads,
                       KS_MAX_THREADS);
    return check_shard(&plan->shard, err) || check_window(run, err) ? -1 : 0;
}

static int check_names(const struct ks_plan *plan, struct ks_error *err)
{
    for (size_t i = 0; i < plan->n_arms; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(plan->arms[i].name, plan->arms[j].name) == 0)
                return ks_fail(err, KS_BAD_INPUT,
                               "two arms are named \"%s\"; a name must tell which is meant",
                               plan->arms[i].name);
    return 0;
}

static void warn(void *ctx, const char *text)
{
    struct ks_run *run = ctx;
    ks_board_note(run->board, KS_LOG_WARNING, "%s", text);
}

static int resolve_lanes(struct ks_run *run, struct ks_error *err)
{
    size_t n = run->plan->n_arms + 1;
    run->lanes = calloc(n, sizeof *run->lanes);
    if (!run->lanes)
        return ks_fail_memory(err, n * sizeof *run->lanes, "the arms");
    for (size_t i = 0; i < n; i++) {
        const struct ks_arm_spec *spec = i ? &run->plan->arms[i - 1] : NULL;
        if (ks_arm_resolve(&run->lanes[i].arm, spec, run->plan->reference, warn, run, err))
            return -1;
        run->n_lanes = i + 1;
    }
    return 0;
}

int ks_run_check(struct ks_run *run, struct ks_error *err)
{
    if (check_numbers(run, err) || check_names(run->plan, err) || ks_isa_choose(&run->isa, err))
        return -1;
    const struct ks_tokenizer *t = ks_model_tokenizer(run->plan->reference, err);
    if (!t)
        return -1;
    run->bos = ks_tokenizer_adds_bos(t) ? ks_tokenizer_bos(t) : -1;
    return resolve_lanes(run, err);
}

/* ------------------------------------------------------------------ corpora */

static bool documents_go_on(void *ctx, size_t documents)
{
    struct ks_run *run = ctx;
    struct ks_error ignored; /* a screen without its newest line is no reason to end a run */
    char doing[64];
    snprintf(doing, sizeof doing, "reading the corpora, %zu documents", documents);
    (void)ks_run_publish_if_due(run, doing, &ignored);
    return !ks_board_stopping(run->board);
}

static int load_corpora(struct ks_run *run, struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    const struct ks_tokenizer *tokenizer = ks_model_tokenizer(plan->reference, err);
    if (plan->scoring == KS_SCORING_LLAMA)
        return ks_corpus_load_joined(plan->corpora, plan->n_corpora, tokenizer, documents_go_on,
                                     run, &run->corpus, err);
    return ks_corpus_load(plan->corpora, plan->n_corpora, tokenizer,
                          ks_model_info(plan->reference)->chat_family, documents_go_on, run,
                          &run->corpus, err);
}

/* Puts the documents of the corpora that keep their files' order back in order, in the places that
 * the shuffle gave to their corpus. */
static void restore_file_order(struct ks_run *run, uint32_t corpus)
{
    size_t next = 0;
    for (size_t i = 0; i < run->corpus.n_documents; i++) {
        if (run->corpus.documents[run->order[i]].corpus != corpus)
            continue;
        while (run->corpus.documents[next].corpus != corpus)
            next++;
        run->order[i] = next++;
    }
}

/* A seeded shuffle (Fisher and Yates), so that early numbers speak for all documents. */
static int choose_order(struct ks_run *run, struct ks_error *err)
{
    size_t n = run->corpus.n_documents;
    run->order = calloc(n, sizeof *run->order);
    if (!run->order)
        return ks_fail_memory(err, n * sizeof *run->order, "the order of documents");
    for (size_t i = 0; i < n; i++)
        run->order[i] = i;
    if (run->plan->file_order || run->plan->scoring == KS_SCORING_LLAMA)
        return 0;
    uint64_t random = run->plan->seed;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)ks_random_below(&random, i);
        size_t swapped = run->order[i - 1];
        run->order[i - 1] = run->order[j];
        run->order[j] = swapped;
    }
    for (uint32_t c = 0; c < run->plan->n_corpora; c++)
        if (run->plan->corpora[c].file_order)
            restore_file_order(run, c);
    return 0;
}

static int cut_chunks(struct ks_run *run, struct ks_error *err)
{
    size_t tokens = run->corpus.documents[0].n;
    if (ks_windows_chunk(tokens, run->window, &run->windows, &run->n_windows, err))
        return -1;
    if (run->n_windows == 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "the corpora come to %zu tokens, which fill no window of %zu; take a longer "
                       "text, or a smaller window",
                       tokens, run->window);
    ks_board_note(run->board, KS_LOG_INFO,
                  "%zu documents are one text of %zu tokens, %zu of which fill no window",
                  run->corpus.n_joined, tokens, tokens - run->n_windows * run->window);
    return 0;
}

static int cut_windows(struct ks_run *run, struct ks_error *err)
{
    size_t n = run->corpus.n_documents;
    if (run->plan->scoring == KS_SCORING_LLAMA)
        return cut_chunks(run, err);
    size_t *tokens = calloc(n, sizeof *tokens);
    const uint8_t **masks = calloc(n, sizeof *masks);
    int failed = tokens && masks ? 0 : ks_fail_memory(err, n * sizeof *tokens, "the windows");
    for (size_t i = 0; i < n && !failed; i++) {
        tokens[i] = run->corpus.documents[run->order[i]].n;
        masks[i] = run->corpus.documents[run->order[i]].scored;
    }
    if (!failed)
        failed = ks_windows_cut(tokens, n, run->window, run->context_min, &run->windows,
                                &run->n_windows, err);
    if (!failed)
        run->n_windows = ks_windows_mask(run->windows, run->n_windows, masks);
    free(tokens);
    free(masks);
    return failed;
}

/* A shard without a window would have nothing to tell. */
static int check_share(struct ks_run *run, struct ks_error *err)
{
    const struct ks_shard *s = &run->plan->shard;
    size_t share = ks_shard_count(s, run->n_windows);
    if (share == 0)
        return ks_fail(
            err, KS_BAD_INPUT,
            "shard %u/%u: there are %zu windows in all, and this shard has none of them; "
            "take fewer shards",
            s->number, s->of, run->n_windows);
    if (s->of > 1)
        ks_board_note(run->board, KS_LOG_INFO, "shard %u/%u: %zu of %zu windows", s->number, s->of,
                      share, run->n_windows);
    return 0;
}

/* ------------------------------------------------------------------ arms */

struct building {
    struct ks_run *run;
    size_t lane;
};

static bool tensors_go_on(void *ctx, size_t tensor, size_t n)
{
    struct building *b = ctx;
    struct ks_error ignored;
    char doing[256];
    const struct ks_arm *arm = &b->run->lanes[b->lane].arm;
    if (b->lane == 0)
        snprintf(doing, sizeof doing, "reading the reference, tensor %zu of %zu", tensor + 1, n);
    else
        snprintf(doing, sizeof doing, "%s %.120s (arm %zu of %zu), tensor %zu of %zu",
                 arm->types ? "quantizing" : "reading", arm->spec->name, b->lane,
                 b->run->n_lanes - 1, tensor + 1, n);
    (void)ks_run_publish_if_due(b->run, doing, &ignored);
    return !ks_board_stopping(b->run->board);
}

/* Not to want one is nobody's mistake: KLDSCOPE_CACHE=off, or the plan. */
static void open_cache(struct ks_run *run)
{
    const char *wish = getenv("KLDSCOPE_CACHE");
    struct ks_error why;
    bool off = wish && strcmp(wish, "off") == 0;
    if (wish && *wish && !off)
        ks_board_note(run->board, KS_LOG_WARNING, "KLDSCOPE_CACHE=%s: it is off or not set", wish);
    if (run->plan->no_cache || off)
        return;
    char *folder = ks_cache_folder(&why);
    if (!folder)
        ks_board_note(run->board, KS_LOG_WARNING, "%s", why.text);
    else
        run->cache = ks_cache_open(folder, warn, run);
    free(folder);
}

/* An arm that cannot be built is marked and the others go on; the reference cannot be missed. */
static int build_lanes(struct ks_run *run, struct ks_error *err)
{
    for (size_t i = 0; i < run->n_lanes; i++) {
        struct ks_lane *lane = &run->lanes[i];
        struct building b = {.run = run, .lane = i};
        struct ks_error why;
        if (ks_arm_build(&lane->arm, run->store, ks_cpu_pool(run->cpu), run->window, tensors_go_on,
                         &b, &why)) {
            if (i == 0 || why.code == KS_CANCELLED) {
                *err = why;
                return -1;
            }
            lane->state = KS_ARM_FAILED;
            snprintf(lane->why, sizeof lane->why, "%s", why.text);
            ks_board_note(run->board, KS_LOG_ERROR, "%s: %s", lane->arm.spec->name, why.text);
            continue;
        }
        lane->state = KS_ARM_RUNNING;
    }
    return 0;
}

static int make_tallies(struct ks_run *run, struct ks_error *err)
{
    for (size_t i = 0; i < run->n_lanes; i++) {
        run->lanes[i].tally = ks_tally_create(run->corpus.n_corpora, run->corpus.n_documents,
                                              ks_run_positions(run), err);
        if (!run->lanes[i].tally)
            return -1;
    }
    return 0;
}

/* ------------------------------------------------------------------ */

/* What follows goes on beside the trial. */
static void begin_head(struct ks_run *run)
{
    const struct ks_plan *plan = run->plan;
    const struct ks_matrix *head = ks_model_head(plan->reference);
    struct ks_head_wish wish = {.choice = plan->head,
                                .path = plan->head_path,
                                .which = plan->device,
                                .top_k = run->top_k,
                                .isa = run->isa};
    if (!head)
        return; /* binding the reference will say so */
    double flops = 2 * (double)head->rows * (double)head->cols * (double)ks_run_positions(run);
    ks_head_begin(&run->head, &wish, head, flops * (double)run->n_lanes);
}

static int list_heads(const struct ks_run *run, struct ks_named_head **out, size_t *n,
                      struct ks_error *err)
{
    *out = calloc(run->n_lanes, sizeof **out);
    if (!*out)
        return ks_fail_memory(err, run->n_lanes * sizeof **out, "the heads");
    *n = 0;
    for (size_t i = 0; i < run->n_lanes; i++) {
        const struct ks_arm *arm = &run->lanes[i].arm;
        if (run->lanes[i].state != KS_ARM_FAILED)
            (*out)[(*n)++] = (struct ks_named_head){&arm->net, arm->spec ? arm->spec->name
                                                                         : "the reference's head"};
    }
    return 0;
}

/* Before the facts are written down: they tell where the heads run. */
static int choose_head(struct ks_run *run, struct ks_error *err)
{
    struct ks_named_head *heads;
    size_t n = 0;
    if (list_heads(run, &heads, &n, err))
        return -1;
    if (run->head.trial)
        (void)ks_run_publish(run, "trying the GPU", err);
    ks_head_choose(&run->head, run->cpu, heads, n);
    free(heads);
    if (run->head.device)
        ks_board_note(run->board, KS_LOG_INFO, "heads on %s, %.2f times the cpu's speed",
                      ks_device_name(run->head.device), run->head.gain);
    else if (run->plan->head != KS_HEAD_CPU)
        ks_board_note(run->board, run->head.warn ? KS_LOG_WARNING : KS_LOG_INFO,
                      "heads on the cpu: %s", run->head.note);
    return 0;
}

static int prepare_arms(struct ks_run *run, struct ks_error *err)
{
    int64_t begin = ks_clock_ns();
    if (build_lanes(run, err) || make_tallies(run, err))
        return -1;
    struct ks_store_tally t = ks_store_tally(run->store);
    ks_board_note(run->board, KS_LOG_INFO,
                  "%zu arms ready in %.1f s: %zu tensors quantized and %zu from the cache, %.1f MB",
                  run->n_lanes - 1, (double)(ks_clock_ns() - begin) / 1e9, t.made, t.found,
                  (double)t.bytes / 1e6);
    return 0;
}

int ks_run_prepare(struct ks_run *run, struct ks_error *err)
{
    open_cache(run);
    run->cpu = ks_cpu_create(run->threads, run->isa, err);
    run->store = run->cpu ? ks_store_create(run->cache, err) : NULL;
    if (!run->store || load_corpora(run, err) || choose_order(run, err) || cut_windows(run, err) ||
        check_share(run, err) || ks_run_preflight(run, err))
        return -1;
    begin_head(run);
    if (prepare_arms(run, err))
        return -1;
    if (choose_head(run, err) || ks_run_make_facts(run, err))
        return -1;
    run->n_windows = ks_windows_take(run->windows, run->n_windows, &run->facts->shard);
    return 0;
}
