#include "engine/model/object.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/mapped.h"
#include "engine/base/path.h"
#include "engine/model/arch/arch.h"

static char *copy_text(const char *text, size_t len, struct ks_error *err)
{
    char *copy = strndup(text, len);
    if (!copy)
        ks_fail_memory(err, len + 1, "a model's name");
    return copy;
}

/* A metadata string, `otherwise` where the key is absent; NULL on failure. */
static char *copy_value(const struct ks_gguf *g, const char *key, const char *otherwise,
                        struct ks_error *err)
{
    struct ks_str s = {.bytes = otherwise, .len = strlen(otherwise)};
    if (ks_gguf_get_str(g, key, &s, err) < 0)
        return NULL;
    return copy_text(s.bytes, s.len, err);
}

static int list_tensors(struct ks_model *m, struct ks_error *err)
{
    m->n_tensors = ks_gguf_n_tensors(m->gguf);
    m->tensors = calloc(m->n_tensors ? m->n_tensors : 1, sizeof *m->tensors);
    if (!m->tensors)
        return ks_fail_memory(err, m->n_tensors * sizeof *m->tensors, "a model's tensor list");
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(m->gguf, i);
        m->tensors[i] = (struct ks_matrix){
            .type = (enum ks_type)t->type,
            .cols = t->dims[0],
            .rows = t->dims[1] * t->dims[2] * t->dims[3], /* its product with cols was checked */
            .data = t->data,
        };
    }
    return 0;
}

/* Whether the model can be computed: its hyperparameters, and every tensor by role and shape. */
static int check(struct ks_model *m, struct ks_error *err)
{
    struct ks_net net;
    if (ks_hparams_read(m->gguf, m->shown, &m->hparams, err) ||
        ks_net_bind(&net, m, m->tensors, 1, err))
        return err->code == KS_BAD_INPUT
                   ? ks_fail_advice(err, "download the file again, or convert the model again")
                   : -1;
    ks_net_finish(&net);
    return 0;
}

static uint64_t matrix_bytes(const struct ks_matrix *t)
{
    uint64_t row = 0;
    ks_type_row_bytes(t->type, t->cols, &row);
    return row * t->rows;
}

static void count_weights(struct ks_model *m)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        m->info.bytes += matrix_bytes(&m->tensors[i]);
        m->info.elements += m->tensors[i].rows * m->tensors[i].cols;
    }
    if (m->info.elements)
        m->info.bits_per_weight = 8.0 * (double)m->info.bytes / (double)m->info.elements;
}

static int copy_texts(struct ks_model *m, struct ks_error *err)
{
    const struct ks_gguf *g = m->gguf;
    m->name = copy_value(g, "general.name", ks_path_file(m->path), err);
    m->tokenizer_model = m->name ? copy_value(g, "tokenizer.ggml.model", "", err) : NULL;
    m->tokenizer_pre = m->tokenizer_model ? copy_value(g, "tokenizer.ggml.pre", "", err) : NULL;
    return m->tokenizer_pre ? 0 : -1;
}

static int fill_info(struct ks_model *m, struct ks_error *err)
{
    if (copy_texts(m, err))
        return -1;
    const struct ks_hparams *h = &m->hparams;
    m->info = (struct ks_model_info){
        .path = m->path,
        .shown = m->shown,
        .name = m->name,
        .architecture = h->architecture,
        .layers = h->layers,
        .hidden = h->hidden,
        .heads = h->heads,
        .kv_heads = h->kv_heads,
        .head_dim = h->head_dim,
        .ffn = h->ffn,
        .vocab = h->vocab,
        .context = h->context,
        .tied = ks_gguf_find_tensor(m->gguf, "token_embd.weight") &&
                !ks_gguf_find_tensor(m->gguf, "output.weight"),
        .file_bytes = ks_gguf_file_bytes(m->gguf),
        .n_tensors = m->n_tensors,
        .tokenizer_model = m->tokenizer_model,
        .tokenizer_pre = m->tokenizer_pre,
        .chat_family = ks_chat_family(m->gguf),
        .refusal = m->refusal.code == KS_OK ? NULL : m->refusal.text,
    };
    count_weights(m);
    return 0;
}

static struct ks_model *create(const char *path, const char *shown, struct ks_error *err)
{
    struct ks_model *m = calloc(1, sizeof *m);
    if (!m) {
        ks_fail_memory(err, sizeof *m, "a model");
        return NULL;
    }
    atomic_init(&m->references, 1);
    pthread_mutex_init(&m->lock, NULL);
    m->path = copy_text(path, strlen(path), err);
    m->shown = m->path ? copy_text(shown ? shown : path, strlen(shown ? shown : path), err) : NULL;
    if (m->shown)
        m->gguf = ks_gguf_open(path, err);
    if (!m->gguf || list_tensors(m, err)) {
        ks_model_unref(m);
        return NULL;
    }
    return m;
}

struct ks_model *ks_model_open(const char *path, const char *shown, const char *convert_to,
                               struct ks_error *err)
{
    struct ks_model *m = create(path, shown, err);
    if (!m)
        return NULL;
    if (check(m, err) || (convert_to && ks_model_convert(m, convert_to, err)) ||
        fill_info(m, err)) {
        ks_model_unref(m);
        return NULL;
    }
    return m;
}

/* Keeps what is wrong with the file as the model's refusal; fails for want of memory alone. */
static int check_and_keep(struct ks_model *m, struct ks_error *err)
{
    struct ks_error found;
    if (check(m, &found) == 0)
        return 0;
    if (found.code == KS_NO_MEMORY) {
        *err = found;
        return -1;
    }
    m->refusal = found;
    ks_hparams_glance(m->gguf, &m->hparams);
    return 0;
}

struct ks_model *ks_model_peek(const char *path, const char *shown, struct ks_error *err)
{
    struct ks_model *m = create(path, shown, err);
    if (!m)
        return NULL;
    if (check_and_keep(m, err) || fill_info(m, err)) {
        ks_model_unref(m);
        return NULL;
    }
    return m;
}

struct ks_model *ks_model_ref(struct ks_model *m)
{
    atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
    return m;
}

void ks_model_unref(struct ks_model *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; m->converted && i < m->n_tensors; i++)
        free(m->converted[i]);
    free(m->converted);
    free(m->tensors);
    ks_tokenizer_destroy(m->tokenizer);
    ks_gguf_close(m->gguf);
    pthread_mutex_destroy(&m->lock);
    free(m->name);
    free(m->tokenizer_model);
    free(m->tokenizer_pre);
    free(m->shown);
    free(m->path);
    free(m);
}

const struct ks_model_info *ks_model_info(const struct ks_model *m)
{
    return &m->info;
}

struct ks_tensor_info ks_model_tensor_info(const struct ks_model *m, size_t i)
{
    const struct ks_gguf_tensor *t = ks_gguf_tensor(m->gguf, i);
    struct ks_tensor_info info = {
        .name = t->name,
        .type = ks_type_info(m->tensors[i].type)->name,
        .n_dims = t->n_dims,
        .bytes = matrix_bytes(&m->tensors[i]),
    };
    memcpy(info.dims, t->dims, sizeof info.dims);
    return info;
}

const char *ks_model_file_at(const void *address)
{
    return ks_mapped_file_at(address);
}

const struct ks_hparams *ks_model_hparams(const struct ks_model *m)
{
    return &m->hparams;
}

size_t ks_model_n_tensors(const struct ks_model *m)
{
    return m->n_tensors;
}

const struct ks_matrix *ks_model_tensor(const struct ks_model *m, size_t i)
{
    return &m->tensors[i];
}

const struct ks_gguf *ks_model_gguf(const struct ks_model *m)
{
    return m->gguf;
}

const char *ks_model_tensor_name(const struct ks_model *m, size_t i)
{
    return ks_gguf_tensor(m->gguf, i)->name;
}

const struct ks_matrix *ks_model_head(const struct ks_model *m)
{
    const char *name = m->info.tied ? "token_embd.weight" : "output.weight";
    for (size_t i = 0; i < m->n_tensors; i++)
        if (strcmp(ks_model_tensor_name(m, i), name) == 0)
            return &m->tensors[i];
    return NULL;
}
