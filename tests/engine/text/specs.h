/*
 * Specs of corpora whose files are written for one test. Include tests/testing.h first.
 */
#ifndef KS_TESTS_ENGINE_TEXT_SPECS_H
#define KS_TESTS_ENGINE_TEXT_SPECS_H

#include <string.h>
#include <unistd.h>

#include "engine/text/corpus.h"

/* For mkdtemp and rmdir around the tests. */
static char specs_folder[64] = "/tmp/ks_corpus_XXXXXX";

static inline struct ks_tokenizer *open_tokenizer(const char *path)
{
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    struct ks_tokenizer *t = g ? ks_tokenizer_create(g, NULL, &err) : NULL;
    if (!t)
        fail_msg("%s", err.text);
    ks_gguf_close(g);
    return t;
}

/* A spec of one file, written for the occasion; remove_spec removes it. */
static inline struct ks_corpus_spec write_spec(enum ks_corpus_kind kind, const char *name,
                                               const char *bytes, size_t len)
{
    struct ks_corpus_spec s = {.kind = kind, .n_paths = 1};
    s.paths = calloc(1, sizeof *s.paths);
    s.shown = calloc(1, sizeof *s.shown);
    s.name = strdup("some");
    assert_true(asprintf(&s.paths[0], "%s/%s", specs_folder, name) > 0);
    s.shown[0] = strdup(name);
    FILE *f = fopen(s.paths[0], "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
    return s;
}

static inline void free_spec(struct ks_corpus_spec *s)
{
    for (size_t i = 0; i < s->n_paths; i++) {
        free(s->paths[i]);
        free(s->shown[i]);
    }
    free(s->paths);
    free(s->shown);
    free(s->name);
}

static inline void remove_spec(struct ks_corpus_spec *s)
{
    unlink(s->paths[0]);
    free_spec(s);
}

#endif
