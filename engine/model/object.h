/*
 * The inside of a ks_model, for the files of this folder.
 *
 * All but the guarded members are fixed once ks_model_open has returned.
 */
#ifndef KS_ENGINE_MODEL_OBJECT_H
#define KS_ENGINE_MODEL_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/model/model.h"

struct ks_model {
    atomic_int references;
    struct ks_gguf *gguf;
    struct ks_hparams hparams;
    struct ks_matrix *tensors; /* (n_tensors) */
    size_t n_tensors;
    uint8_t **converted; /* (n_tensors): memory of converted tensors, NULL where not; or NULL */
    struct ks_model_info info;
    char *path, *shown, *name, *tokenizer_model, *tokenizer_pre; /* what info points to */
    struct ks_error refusal; /* why it can't be computed; code KS_OK if it can */

    pthread_mutex_t lock; /* guards what follows */
    struct ks_tokenizer *tokenizer;
    struct ks_hash hash;
    bool hashed;
};

/* Replaces quantizable matrices by ones of the type named, in memory of the model. */
int ks_model_convert(struct ks_model *m, const char *type, struct ks_error *err);

#endif
