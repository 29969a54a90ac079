/*
 * The tokenizer of a real model over a real text, in bytes of text a second that the one thread
 * ran. A tokenizer remembers words, and texts repeat them; so three lines: the text by a tokenizer
 * that has met none of its words, the text again, and a text in which no word comes twice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/bench/bench.h"
#include "engine/gguf/gguf.h"
#include "engine/text/document/record.h"
#include "engine/text/document/source.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocab/index.h"

/* ------------------------------------------------------------------ texts */

/* Appends the texts of a .jsonl's records, each with a line end. */
static int read_records(struct ks_source *s, const char *path, struct ks_buf *out,
                        struct ks_error *err)
{
    const char *line;
    size_t len;
    uint32_t number;
    int failed = 0;
    while (!failed && ks_source_line(s, &line, &len, &number)) {
        struct ks_record r = {0};
        failed = ks_record_parse(KS_CORPUS_TEXT, line, len, &r, err);
        if (failed)
            ks_fail_prefix(err, "%s:%u", path, number);
        else
            failed = ks_buf_put(out, r.text, r.len, err) || ks_buf_put(out, "\n", 1, err);
        ks_record_finish(&r);
    }
    return failed ? -1 : 0;
}

static int read_text(const char *path, struct ks_buf *out, struct ks_error *err)
{
    struct ks_source s = {0};
    size_t n = strlen(path);
    int failed = ks_source_read(path, path, &s, err);
    if (!failed && n > 6 && strcmp(path + n - 6, ".jsonl") == 0)
        failed = read_records(&s, path, out, err);
    else if (!failed)
        failed = ks_buf_put(out, s.bytes, s.len, err);
    ks_source_finish(&s);
    if (!failed && out->len == 0)
        failed = ks_fail(err, KS_BAD_INPUT, "%s: has no text to measure with", path);
    return failed ? -1 : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The next run of what is not blank from *at on; len 0: there is none. */
static struct ks_str next_word(const struct ks_buf *text, size_t *at)
{
    while (*at < text->len && is_blank(text->bytes[*at]))
        ++*at;
    size_t start = *at;
    while (*at < text->len && !is_blank(text->bytes[*at]))
        ++*at;
    return (struct ks_str){text->bytes + start, *at - start};
}

/* Each word of text once, in its order, with a blank before it. */
static int list_words(const struct ks_buf *text, struct ks_buf *out, struct ks_error *err)
{
    size_t max = text->len / 2 + 2; /* words, and the end */
    struct ks_index seen = {0};
    struct ks_str *words = calloc(max, sizeof *words);
    int failed = words ? ks_index_create(&seen, words, max, err)
                       : ks_fail_memory(err, max * sizeof *words, "the benchmark's words");
    size_t n = 0, at = 0;
    while (!failed && (words[n] = next_word(text, &at)).len) {
        if (ks_index_add(&seen, (int32_t)n) != (int32_t)n)
            continue;
        failed = ks_buf_put(out, " ", 1, err) || ks_buf_put(out, words[n].bytes, words[n].len, err);
        n++;
    }
    ks_index_finish(&seen);
    free(words);
    return failed ? -1 : 0;
}

/* ------------------------------------------------------------------ measuring */

static int time_once(const struct ks_tokenizer *t, const struct ks_buf *text, double *best,
                     struct ks_error *err)
{
    struct ks_tokens ids = {0};
    int64_t begin = ks_clock_thread_ns();
    int failed = ks_tokenize(t, text->bytes, text->len, 0, &ids, err);
    double seconds = (double)(ks_clock_thread_ns() - begin) * 1e-9;
    ks_tokens_finish(&ids);
    *best = seconds < *best ? seconds : *best;
    return failed;
}

/* The best of five tokenizers: their first time with the text, and their second. */
static int measure(const struct ks_gguf *g, const struct ks_buf *text, double *first, double *again,
                   struct ks_error *err)
{
    int failed = 0;
    *first = *again = INFINITY;
    for (int i = 0; i < 5 && !failed; i++) {
        struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, err);
        failed = !t || time_once(t, text, first, err) || time_once(t, text, again, err);
        ks_tokenizer_destroy(t);
    }
    return failed ? -1 : 0;
}

static int measure_all(struct bench *b, const struct ks_gguf *g, const struct ks_buf *text,
                       const struct ks_buf *words, struct ks_error *err)
{
    double first, again, once, unused;
    if (measure(g, text, &first, &again, err) || measure(g, words, &once, &unused, err))
        return -1;
    double mb = (double)text->len * 1e-6;
    ks_bench_line(b, "tokenizer", "the corpus, by a tokenizer just made", mb / first, "MB/s", NAN,
                  NULL);
    ks_bench_line(b, "tokenizer", "the corpus again, by the same", mb / again, "MB/s", NAN, NULL);
    ks_bench_line(b, "tokenizer", "each of its words once, by one just made",
                  (double)words->len * 1e-6 / once, "MB/s", NAN, NULL);
    return 0;
}

int ks_bench_tokenizer(struct bench *b, struct ks_error *err)
{
    if (!b->model || !b->corpus)
        return 0;
    struct ks_buf text = {0}, words = {0};
    struct ks_gguf *g = NULL;
    int failed = read_text(b->corpus, &text, err) || list_words(&text, &words, err) ||
                 !(g = ks_gguf_open(b->model, err)) || measure_all(b, g, &text, &words, err);
    ks_gguf_close(g);
    ks_buf_finish(&words);
    ks_buf_finish(&text);
    return failed ? -1 : 0;
}
