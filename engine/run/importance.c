/*
 * Making an importance matrix: the documents go through the reference window by window, and of
 * every matrix in the layers the squares of what it multiplies are summed by column. Windows do not
 * overlap, so that every token counts once; sums are taken in one order, in f64, whatever the
 * number of threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gguf/write.h"
#include "engine/model/net/forward.h"
#include "engine/text/corpus.h"

enum { DEFAULT_WINDOW = 512, BATCH_ROWS = 2048 };

/* What one tensor met. */
struct met {
    const char *name;
    const struct ks_matrix *tensor;
    size_t slices;    /* 1, or a layer's experts */
    double *sums;     /* (slices, cols) */
    uint64_t *counts; /* (slices) rows */
};

struct making {
    const struct ks_plan *plan;
    const struct ks_making_hooks *hooks;
    struct ks_corpus corpus;
    size_t window, tokens, done;
    struct met *met; /* (n_met), by name */
    size_t n_met;
    struct ks_cpu *cpu;
    struct ks_net net;
    struct ks_body *body;
    float *x;     /* (max_rows, hidden) */
    int32_t *ids; /* (max_rows) of the batch, */
    size_t *starts;
    size_t n_sequences, n_rows, max_rows;
    int32_t bos; /* what later windows of a document begin with; -1: their own token */
};

/* ------------------------------------------------------------------ sums */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct met *)a)->name, ((const struct met *)b)->name);
}

static int list_tensors(struct making *m, struct ks_error *err)
{
    const struct ks_model *model = m->plan->reference;
    const struct ks_gguf *g = ks_model_gguf(model);
    size_t n = ks_gguf_n_tensors(g);
    m->met = calloc(n, sizeof *m->met);
    if (!m->met)
        return ks_fail_memory(err, n * sizeof *m->met, "an importance matrix");
    for (size_t i = 0; i < n; i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        if (strncmp(t->name, "blk.", 4) != 0 || t->n_dims < 2)
            continue;
        struct met *one = &m->met[m->n_met++];
        *one = (struct met){.name = t->name, .tensor = ks_model_tensor(model, i)};
        one->slices = t->n_dims > 2 ? (size_t)t->dims[2] : 1;
        one->sums = calloc(one->slices * (size_t)t->dims[0], sizeof *one->sums);
        one->counts = calloc(one->slices, sizeof *one->counts);
        if (!one->sums || !one->counts)
            return ks_fail_memory(err, one->slices * t->dims[0] * sizeof *one->sums,
                                  "an importance matrix");
    }
    qsort(m->met, m->n_met, sizeof *m->met, by_name);
    return 0;
}

/* A part of a tensor that is bound as several multiplies what the first does, which counts. */
static struct met *find_met(struct making *m, const struct ks_matrix *w, size_t stacked)
{
    for (size_t i = 0; i < m->n_met; i++)
        if (m->met[i].tensor->data == w->data && m->met[i].tensor->cols == w->cols &&
            m->met[i].slices == stacked)
            return &m->met[i];
    return NULL;
}

static void add_squares(void *ctx, const struct ks_matrix *w, size_t stacked, const size_t *starts,
                        const float *x)
{
    struct met *met = find_met(ctx, w, stacked);
    size_t cols = (size_t)w->cols;
    for (size_t s = 0; met && s < stacked; s++) {
        double *sums = met->sums + s * cols;
        met->counts[s] += starts[s + 1] - starts[s];
        for (size_t row = starts[s]; row < starts[s + 1]; row++)
            for (size_t c = 0; c < cols; c++)
                sums[c] += (double)x[row * cols + c] * (double)x[row * cols + c];
    }
}

/* ------------------------------------------------------------------ windows */

static int run_batch(struct making *m, struct ks_error *err)
{
    struct ks_batch batch = {m->ids, m->starts, m->n_sequences, NULL};
    if (!m->hooks->progress(m->hooks->ctx, m->done, m->tokens))
        return ks_fail(err, KS_CANCELLED, "stopped; nothing was written");
    if (ks_body_embed(m->body, &m->net, &batch, m->x, err))
        return -1;
    for (size_t l = 0; l < m->net.hparams->layers; l++)
        if (ks_body_layer(m->body, &m->net, &batch, l, m->x, err))
            return -1;
    m->done += m->n_rows;
    m->n_sequences = m->n_rows = 0;
    return 0;
}

static int run_document(struct making *m, const struct ks_document *d, struct ks_error *err)
{
    for (size_t at = 0; at < d->n; at += m->window) {
        size_t n = d->n - at < m->window ? d->n - at : m->window;
        if (m->n_rows + n > m->max_rows && run_batch(m, err))
            return -1;
        int32_t *ids = m->ids + m->n_rows;
        memcpy(ids, d->ids + at, n * sizeof *ids);
        if (at > 0 && m->bos >= 0)
            ids[0] = m->bos;
        m->n_rows += n;
        m->starts[++m->n_sequences] = m->n_rows;
    }
    return 0;
}

static int run_documents(struct making *m, struct ks_error *err)
{
    for (size_t i = 0; i < m->corpus.n_documents; i++)
        m->tokens += m->corpus.documents[i].n;
    for (size_t i = 0; i < m->corpus.n_documents; i++)
        if (run_document(m, &m->corpus.documents[i], err))
            return -1;
    return m->n_rows ? run_batch(m, err) : 0;
}

/* ------------------------------------------------------------------ the file */

static int check_sums(const struct making *m, struct ks_error *err)
{
    for (size_t i = 0; i < m->n_met; i++)
        for (size_t c = 0; c < m->met[i].slices * m->met[i].tensor->cols; c++)
            if (!isfinite((float)m->met[i].sums[c]))
                return ks_fail(err, KS_BAD_INPUT,
                               "%s: what %s multiplies is not finite; no importance matrix can be "
                               "made from this model",
                               ks_model_info(m->plan->reference)->shown, m->met[i].name);
    return 0;
}

static bool was_met(const struct met *met)
{
    uint64_t rows = 0;
    for (size_t s = 0; s < met->slices; s++)
        rows += met->counts[s];
    return rows > 0;
}

/* NAME.in_sum2 and NAME.counts: declares them where data is NULL, else writes what is in data,
 * which has room for both. */
static int write_pair(const struct met *met, struct ks_gguf_writer *w, float *data,
                      struct ks_error *err)
{
    const uint64_t sums[2] = {met->tensor->cols, met->slices}, counts[2] = {1, met->slices};
    size_t n = met->slices * (size_t)met->tensor->cols;
    if (!data) {
        char name[256];
        snprintf(name, sizeof name, "%s.in_sum2", met->name);
        if (ks_gguf_write_tensor(w, name, KS_F32, 2, sums, err))
            return -1;
        snprintf(name, sizeof name, "%s.counts", met->name);
        return ks_gguf_write_tensor(w, name, KS_F32, 2, counts, err);
    }
    for (size_t i = 0; i < n; i++)
        data[i] = (float)met->sums[i];
    for (size_t i = 0; i < met->slices; i++)
        data[n + i] = (float)met->counts[i];
    return ks_gguf_write_data(w, data, n * sizeof *data, err) ||
                   ks_gguf_write_data(w, data + n, met->slices * sizeof *data, err)
               ? -1
               : 0;
}

static int write_metadata(const struct making *m, struct ks_gguf_writer *w, struct ks_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < m->plan->n_corpora; i++)
        n += m->plan->corpora[i].n_paths;
    struct ks_str *files = calloc(n, sizeof *files);
    if (!files)
        return ks_fail_memory(err, n * sizeof *files, "the names of the corpora");
    n = 0;
    for (size_t i = 0; i < m->plan->n_corpora; i++)
        for (size_t k = 0; k < m->plan->corpora[i].n_paths; k++) {
            const char *shown = m->plan->corpora[i].shown[k];
            files[n++] = (struct ks_str){shown, strlen(shown)};
        }
    const struct ks_gguf_value datasets = {
        .key = "imatrix.datasets",
        .type = KS_GGUF_ARRAY,
        .array = {.type = KS_GGUF_STRING, .count = n, .strings = files}};
    int failed = ks_gguf_write_str(w, "general.type", "imatrix", err) ||
                 ks_gguf_write_value(w, &datasets, err) ||
                 ks_gguf_write_u32(w, "imatrix.chunk_count",
                                   (uint32_t)((m->tokens + m->window - 1) / m->window), err) ||
                 ks_gguf_write_u32(w, "imatrix.chunk_size", (uint32_t)m->window, err);
    free(files);
    return failed;
}

static int write_all(const struct making *m, struct ks_gguf_writer *w, struct ks_error *err)
{
    size_t most = 1;
    for (size_t i = 0; i < m->n_met; i++) {
        size_t n = m->met[i].slices * ((size_t)m->met[i].tensor->cols + 1);
        most = n > most ? n : most;
    }
    float *data = calloc(most, sizeof *data);
    if (!data)
        return ks_fail_memory(err, most * sizeof *data, "an importance matrix");
    int failed = write_metadata(m, w, err);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < m->n_met && !failed; i++)
            if (was_met(&m->met[i]))
                failed = write_pair(&m->met[i], w, pass ? data : NULL, err);
    free(data);
    return failed;
}

/* ------------------------------------------------------------------ all of it */

static int bind(struct making *m, struct ks_error *err)
{
    const struct ks_model *model = m->plan->reference;
    size_t n = ks_model_n_tensors(model);
    struct ks_matrix *tensors = calloc(n, sizeof *tensors);
    if (!tensors)
        return ks_fail_memory(err, n * sizeof *tensors, "a list of tensors");
    for (size_t i = 0; i < n; i++)
        tensors[i] = *ks_model_tensor(model, i);
    int failed = ks_net_bind(&m->net, model, tensors, m->window, err);
    free(tensors);
    return failed;
}

static int prepare(struct making *m, struct ks_error *err)
{
    struct ks_model *model = m->plan->reference;
    const struct ks_model_info *info = ks_model_info(model);
    const struct ks_tokenizer *t = ks_model_tokenizer(model, err);
    enum ks_isa isa;
    m->window = m->plan->window ? m->plan->window : DEFAULT_WINDOW;
    if (m->window > info->context)
        m->window = info->context;
    m->max_rows = m->window > BATCH_ROWS ? m->window : BATCH_ROWS;
    if (!t || ks_isa_choose(&isa, err))
        return -1;
    m->bos = ks_tokenizer_adds_bos(t) ? ks_tokenizer_bos(t) : -1;
    m->ids = calloc(m->max_rows, sizeof *m->ids);
    m->starts = calloc(m->max_rows + 1, sizeof *m->starts);
    m->x = ks_alloc_aligned(m->max_rows, info->hidden * sizeof *m->x);
    if (!m->ids || !m->starts || !m->x)
        return ks_fail_memory(err, m->max_rows * info->hidden * sizeof *m->x, "residuals");
    int threads = m->plan->threads ? m->plan->threads : ks_threads_allowed();
    m->cpu = ks_cpu_create(threads, isa, err);
    if (!m->cpu || list_tensors(m, err) || bind(m, err))
        return -1;
    m->body = ks_body_create(m->cpu, ks_model_hparams(model), m->max_rows, err);
    if (!m->body)
        return -1;
    ks_body_watch_products(m->body, add_squares, m);
    return ks_corpus_load(m->plan->corpora, m->plan->n_corpora, t, info->chat_family, NULL, NULL,
                          &m->corpus, err);
}

static void finish(struct making *m)
{
    for (size_t i = 0; i < m->n_met; i++) {
        free(m->met[i].sums);
        free(m->met[i].counts);
    }
    free(m->met);
    ks_corpus_finish(&m->corpus);
    ks_body_destroy(m->body);
    ks_net_finish(&m->net);
    ks_cpu_destroy(m->cpu);
    free(m->x);
    free(m->ids);
    free(m->starts);
}

int ks_imatrix_make(const struct ks_plan *plan, const char *path,
                    const struct ks_making_hooks *hooks, struct ks_error *err)
{
    struct making m = {.plan = plan, .hooks = hooks};
    if (plan->n_corpora == 0)
        return ks_fail(err, KS_BAD_INPUT, "no corpus: name at least one text to learn from");
    struct ks_gguf_writer *w = ks_gguf_writer_create(path, 32, err);
    if (!w)
        return -1;
    int failed =
        prepare(&m, err) || run_documents(&m, err) || check_sums(&m, err) || write_all(&m, w, err);
    failed = ks_gguf_writer_finish(w, failed ? -1 : 0, err);
    finish(&m);
    return failed;
}
