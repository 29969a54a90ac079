#include "engine/model/object.h"

#include <string.h>

#include "engine/base/bytes.h"

/* Name, type and shape as bytes that no two different tensors share: the name's end is marked. */
static struct ks_hash hash_of_tensor(const struct ks_gguf_tensor *t, const struct ks_matrix *w,
                                     struct ks_hash data)
{
    const uint64_t shape[6] = {w->type, t->n_dims, t->dims[0], t->dims[1], t->dims[2], t->dims[3]};
    struct ks_hash h = ks_hash_bytes(t->name, strlen(t->name) + 1);
    return ks_hash_join(ks_hash_join(h, ks_hash_bytes(shape, sizeof shape)), data);
}

static struct ks_hash hash_of_data(const struct ks_matrix *w)
{
    uint64_t row = 0;
    ks_type_row_bytes(w->type, w->cols, &row);
    return ks_hash_bytes(w->data, (size_t)(row * w->rows));
}

struct ks_hash ks_model_hash_with(const struct ks_model *m, const struct ks_matrix *tensors,
                                  const struct ks_hash *data_hashes)
{
    struct ks_hash all = ks_hash_bytes(NULL, 0);
    for (size_t i = 0; i < m->n_tensors; i++) {
        struct ks_hash data = data_hashes ? data_hashes[i] : hash_of_data(&tensors[i]);
        all = ks_hash_join(all, hash_of_tensor(ks_gguf_tensor(m->gguf, i), &tensors[i], data));
    }
    return all;
}

struct ks_hash ks_model_hash(struct ks_model *m)
{
    pthread_mutex_lock(&m->lock);
    if (!m->hashed)
        m->hash = ks_model_hash_with(m, m->tensors, NULL);
    m->hashed = true;
    struct ks_hash hash = m->hash;
    pthread_mutex_unlock(&m->lock);
    return hash;
}
