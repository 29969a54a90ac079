/* What is fixed once a run is prepared, written down for screens and reports. */
#include <stdio.h>
#include <string.h>

#include "engine/run/state.h"

static const char *hex_of(struct ks_arena *arena, struct ks_hash hash)
{
    char hex[33];
    ks_hash_hex(hash, hex);
    return ks_arena_strdup(arena, hex);
}

static double bits(uint64_t bytes, uint64_t elements)
{
    return elements ? 8.0 * (double)bytes / (double)elements : 0;
}

static int arm_facts(const struct ks_run *run, struct ks_arena *a, struct ks_facts *f,
                     struct ks_error *err)
{
    struct ks_arm_facts *arms = ks_arena_alloc(a, run->n_lanes, sizeof *arms);
    for (size_t i = 1; arms && i < run->n_lanes; i++) {
        const struct ks_arm *arm = &run->lanes[i].arm;
        size_t n = ks_model_n_tensors(arm->model);
        const char **types = arm->types ? ks_arena_alloc(a, n, sizeof *types) : NULL;
        for (size_t t = 0; types && t < n; t++)
            types[t] = ks_type_info(arm->types[t])->name;
        arms[i - 1] = (struct ks_arm_facts){
            .name = ks_arena_strdup(a, arm->spec->name),
            .recipe = ks_arena_strdup(a, arm->recipe),
            .file = ks_arena_strdup(a, arm->spec->model ? ks_model_info(arm->model)->shown : NULL),
            .bytes = arm->bytes,
            .bits_per_weight = bits(arm->bytes, arm->elements),
            .hash = hex_of(a, arm->hash),
            .imatrix_hash =
                arm->spec->imatrix ? hex_of(a, ks_imatrix_hash(arm->spec->imatrix)) : NULL,
            .types = types,
            .n_types = types ? n : 0,
        };
        if ((arm->spec->imatrix && !arms[i - 1].imatrix_hash) || !arms[i - 1].name ||
            !arms[i - 1].recipe || !arms[i - 1].hash || (arm->types && !types))
            return ks_fail_memory(err, n * sizeof *types, "the run's facts");
    }
    f->arms = arms;
    f->n_arms = run->n_lanes - 1;
    return arms ? 0 : ks_fail_memory(err, run->n_lanes * sizeof *arms, "the run's facts");
}

/* Of what the tallies call corpus i: a spec's, or all joined to one. */
static const char *corpus_name(const struct ks_run *run, struct ks_arena *a, size_t i)
{
    const struct ks_plan *plan = run->plan;
    if (run->corpus.n_joined == 0)
        return ks_arena_strdup(a, plan->corpora[i].name);
    struct ks_buf names = {0};
    struct ks_error ignored; /* the caller tells what is missing */
    int failed = 0;
    for (size_t c = 0; c < plan->n_corpora && !failed; c++)
        failed = ks_buf_printf(&names, &ignored, "%s%s", c > 0 ? " + " : "", plan->corpora[c].name);
    const char *name = failed ? NULL : ks_arena_strdup(a, names.bytes);
    ks_buf_finish(&names);
    return name;
}

static int corpus_facts(const struct ks_run *run, struct ks_arena *a, struct ks_facts *f,
                        struct ks_error *err)
{
    size_t n = run->corpus.n_corpora;
    struct ks_corpus_facts *corpora = ks_arena_alloc(a, n, sizeof *corpora);
    if (!corpora)
        return ks_fail_memory(err, n * sizeof *corpora, "the run's facts");
    for (size_t i = 0; i < n; i++) {
        const struct ks_corpus_spec *spec = &run->plan->corpora[i];
        corpora[i] = (struct ks_corpus_facts){
            .name = corpus_name(run, a, i),
            .kind = spec->kind == KS_CORPUS_CHAT ? "chat" : "text",
            .documents = run->corpus.tallies[i].documents,
            .tokens = run->corpus.tallies[i].tokens,
            .skipped_short = run->corpus.tallies[i].skipped_short,
            .hash = hex_of(a, run->corpus.hashes[i]),
        };
        f->documents += corpora[i].documents;
        f->tokens += corpora[i].tokens;
        if (!corpora[i].name || !corpora[i].hash)
            return ks_fail_memory(err, n * sizeof *corpora, "the run's facts");
    }
    for (size_t w = 0; w < run->n_windows; w++) {
        corpora[ks_run_document(run, &run->windows[w])->corpus].n += run->windows[w].scored;
        f->n += run->windows[w].scored;
    }
    for (size_t k = 0; k < f->windows; k++)
        f->to_compute += run->windows[ks_shard_window(&f->shard, k)].rows;
    f->corpora = corpora;
    f->n_corpora = n;
    return 0;
}

static int document_facts(const struct ks_run *run, struct ks_arena *a, struct ks_facts *f,
                          struct ks_error *err)
{
    size_t n = run->corpus.n_documents;
    struct ks_document_facts *documents = ks_arena_alloc(a, n, sizeof *documents);
    if (!documents)
        return ks_fail_memory(err, n * sizeof *documents, "the run's facts");
    for (size_t i = 0; i < n; i++) {
        const struct ks_document *d = &run->corpus.documents[run->order[i]];
        documents[i] = (struct ks_document_facts){.corpus = d->corpus, .line = d->line};
        documents[i].file = ks_arena_strdup(a, d->file);
        if (!documents[i].file)
            return ks_fail_memory(err, n * sizeof *documents, "the run's facts");
    }
    f->document = documents;
    return 0;
}

static int plain_facts(struct ks_run *run, struct ks_arena *a, struct ks_facts *f,
                       struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    const struct ks_model_info *info = ks_model_info(plan->reference);
    const struct ks_arm *reference = &run->lanes[0].arm;
    const bool chunks = plan->scoring == KS_SCORING_LLAMA;
    *f = (struct ks_facts){
        .numerics = KS_NUMERICS_VERSION,
        .name = ks_arena_strdup(a, plan->name ? plan->name : info->name),
        .scenario = ks_arena_strdup(a, plan->scenario),
        .reference_file = ks_arena_strdup(a, info->shown),
        .reference_name = ks_arena_strdup(a, info->name),
        .reference_hash = hex_of(a, reference->hash),
        .tokenizer_hash = hex_of(a, ks_tokenizer_hash(ks_model_tokenizer(plan->reference, err))),
        .architecture = ks_arena_strdup(a, info->architecture),
        .reference_bytes = reference->bytes,
        .reference_bits = bits(reference->bytes, reference->elements),
        .layers = info->layers,
        .hidden = info->hidden,
        .vocab = info->vocab,
        .scoring = chunks ? "llama" : "window",
        .order = plan->file_order || chunks ? "file" : "shuffled",
        .seed = plan->seed,
        .window = (uint32_t)run->window,
        .context_min = (uint32_t)run->context_min,
        .top_k = run->top_k,
        .bos = run->bos >= 0,
        .threads = run->threads,
        .isa = ks_isa_name(run->isa),
        .backend_body = "cpu",
        .backend_head =
            run->head.device ? ks_arena_strdup(a, ks_device_name(run->head.device)) : "cpu",
        .peak_flops = run->head.device ? 0 : ks_cpu_peak(run->cpu, run->threads),
        .head_gain = run->head.gain,
        .head_note = ks_arena_strdup(a, run->head.note),
        .shard = plan->shard.of > 1 ? plan->shard : (struct ks_shard){1, 1},
        .windows = ks_shard_count(&plan->shard, run->n_windows),
        .all_windows = run->n_windows,
        .quantized_bytes = ks_store_tally(run->store).bytes,
    };
    if (!f->name || !f->reference_file || !f->reference_name || !f->reference_hash ||
        !f->tokenizer_hash || !f->architecture || !f->backend_head || !f->head_note)
        return ks_fail_memory(err, sizeof *f, "the run's facts");
    return 0;
}

int ks_run_make_facts(struct ks_run *run, struct ks_error *err)
{
    struct ks_facts_box *box = ks_facts_create(err);
    if (!box)
        return -1;
    struct ks_arena *a = ks_facts_arena(box);
    struct ks_facts *f = ks_facts_of(box);
    int failed = plain_facts(run, a, f, err) || arm_facts(run, a, f, err) ||
                 corpus_facts(run, a, f, err) || document_facts(run, a, f, err);
    if (failed) {
        ks_facts_release(box);
        return -1;
    }
    ks_board_set_facts(run->board, box);
    run->facts = f;
    return 0;
}
