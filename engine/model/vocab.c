/* What a model's vocabulary does for the engine's callers. */
#include "engine/model/object.h"

_Static_assert((int)KS_PARSE_SPECIAL == (int)KS_TOKENIZE_SPECIAL &&
                   (int)KS_ADD_SPECIAL == (int)KS_TOKENIZE_ADD,
               "the public flags are the tokenizer's");

static struct ks_tokenizer *create(const struct ks_model *m, const char *pre, struct ks_error *err)
{
    struct ks_tokenizer *t = ks_tokenizer_create(m->gguf, pre, err);
    if (!t)
        ks_fail_prefix(err, "%s", m->shown);
    return t;
}

const struct ks_tokenizer *ks_model_tokenizer(struct ks_model *m, struct ks_error *err)
{
    pthread_mutex_lock(&m->lock);
    if (!m->tokenizer)
        m->tokenizer = create(m, NULL, err);
    const struct ks_tokenizer *t = m->tokenizer;
    pthread_mutex_unlock(&m->lock);
    return t;
}

int ks_model_tokenize(struct ks_model *m, const char *pre, const char *text, size_t len,
                      unsigned flags, int32_t **ids, size_t *n, struct ks_error *err)
{
    struct ks_tokenizer *own = NULL;
    const struct ks_tokenizer *t;
    if (pre)
        t = own = create(m, pre, err);
    else
        t = ks_model_tokenizer(m, err);
    if (!t)
        return -1;
    struct ks_tokens out = {0};
    int failed = ks_tokenize(t, text, len, flags, &out, err);
    ks_tokenizer_destroy(own);
    if (failed) {
        ks_tokens_finish(&out);
        return -1;
    }
    *ids = out.ids;
    *n = out.n;
    return 0;
}

const char *ks_model_token_bytes(struct ks_model *m, int32_t id, size_t *len, struct ks_error *err)
{
    const struct ks_tokenizer *t = ks_model_tokenizer(m, err);
    if (!t)
        return NULL;
    if (id < 0 || (size_t)id >= ks_tokenizer_vocab(t)) {
        ks_fail(err, KS_BAD_INPUT, "%s: token id %d is not in the vocabulary's 0..%zu", m->shown,
                id, ks_tokenizer_vocab(t) - 1);
        return NULL;
    }
    struct ks_str s = ks_token_bytes(t, id);
    *len = s.len;
    return s.bytes;
}
