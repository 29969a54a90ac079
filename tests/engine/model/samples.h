/* The sample models of tests/data/model, opened. */
#ifndef KS_TESTS_ENGINE_MODEL_SAMPLES_H
#define KS_TESTS_ENGINE_MODEL_SAMPLES_H

#include "tests/testing.h"

#include <string.h>

#include "engine/model/model.h"

#define SAMPLE_IDS   96
#define SAMPLE_VOCAB 320

static inline const char *sample_path(const char *name, const char *extension)
{
    char file[128];
    snprintf(file, sizeof file, "model/%s.%s", name, extension);
    return test_data(file);
}

static inline struct ks_model *open_model(const char *path, const char *convert_to)
{
    struct ks_error err = {0};
    struct ks_model *m = ks_model_open(path, NULL, convert_to, &err);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

static inline struct ks_model *open_sample(const char *name)
{
    return open_model(sample_path(name, "gguf"), NULL);
}

/* malloc'ed (SAMPLE_IDS) */
static inline int32_t *sample_ids(const char *name)
{
    size_t len;
    char *bytes = test_read_file(sample_path(name, "ids.i32"), &len);
    assert_int_equal(len, SAMPLE_IDS * sizeof(int32_t));
    return (int32_t *)(void *)bytes;
}

/* Every word stands in the text of the error. */
static inline void assert_says(const struct ks_error *err, const char *const *words)
{
    for (; *words; words++) {
        if (!strstr(err->text, *words))
            fail_msg("\"%s\" does not say \"%s\"", err->text, *words);
    }
}

static inline size_t tensor_index(const struct ks_model *m, const char *name)
{
    for (size_t i = 0; i < ks_model_n_tensors(m); i++) {
        if (strcmp(ks_model_tensor_name(m, i), name) == 0)
            return i;
    }
    fail_msg("no tensor %s", name);
    return 0;
}

#endif
