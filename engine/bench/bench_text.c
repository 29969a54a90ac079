/* The tokenizer of a real model over a real text, in bytes of text, on one thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/bench/bench.h"

struct tokenizing {
    struct ks_model *model;
    const char *text;
    size_t len;
    int failed;
    struct ks_error err;
};

static void tokenize(void *ctx)
{
    struct tokenizing *t = ctx;
    int32_t *ids;
    size_t n;
    if (ks_model_tokenize(t->model, NULL, t->text, t->len, 0, &ids, &n, &t->err))
        t->failed = -1;
    else
        free(ids);
}

/* The first time words are met, and when they are remembered. */
static int measure(struct bench *b, struct tokenizing *t, struct ks_error *err)
{
    int64_t begin = ks_clock_ns();
    tokenize(t);
    double first = (double)(ks_clock_ns() - begin) * 1e-9;
    double again = ks_bench_seconds(tokenize, t);
    if (t->failed) {
        *err = t->err;
        return -1;
    }
    double mb = (double)t->len / 1e6;
    ks_bench_line(b, "tokenizer", "words met for the first time", mb / first, "MB/s", NAN, NULL);
    ks_bench_line(b, "tokenizer", "words met before", mb / again, "MB/s", NAN, NULL);
    return 0;
}

static char *read_text(const char *path, size_t *len, struct ks_error *err)
{
    FILE *f = fopen(path, "re");
    struct ks_buf b = {0};
    char piece[4096];
    size_t n;
    int failed = f ? 0 : ks_fail_errno(err, "%s: cannot open", path);
    while (!failed && (n = fread(piece, 1, sizeof piece, f)) > 0)
        failed = ks_buf_put(&b, piece, n, err);
    if (!failed && (ferror(f) || b.len == 0))
        failed = ks_fail(err, KS_BAD_INPUT, "%s: has no text to measure with", path);
    if (f)
        fclose(f);
    if (failed) {
        ks_buf_finish(&b);
        return NULL;
    }
    *len = b.len;
    return b.bytes;
}

int ks_bench_tokenizer(struct bench *b, struct ks_error *err)
{
    struct tokenizing t = {0};
    int32_t *ids;
    size_t n;
    if (!b->model || !b->corpus)
        return 0;
    char *text = read_text(b->corpus, &t.len, err);
    t.text = text;
    t.model = text ? ks_model_peek(b->model, NULL, err) : NULL;
    /* A first word makes the tokenizer itself. */
    int failed = !t.model || ks_model_tokenize(t.model, NULL, "a", 1, 0, &ids, &n, err);
    if (!failed) {
        free(ids);
        failed = measure(b, &t, err);
    }
    ks_model_unref(t.model);
    free(text);
    return failed ? -1 : 0;
}
