/* Merging against its definition, what it costs, and that remembered words change nothing. */
#include "tests/testing.h"

#include <string.h>

#include "engine/text/merge.h"
#include "engine/text/split/split.h"
#include "tests/engine/text/files.h"

/* Look-ups, the unit of merging's work, are counted on their way. */
static size_t n_looked_up;

const struct ks_pair *__real_ks_vocab_pair(const struct ks_vocab *v, int32_t left, int32_t right);
const struct ks_pair *__wrap_ks_vocab_pair(const struct ks_vocab *v, int32_t left, int32_t right);
int32_t __real_ks_index_find(const struct ks_index *x, const char *bytes, size_t len);
int32_t __wrap_ks_index_find(const struct ks_index *x, const char *bytes, size_t len);

const struct ks_pair *__wrap_ks_vocab_pair(const struct ks_vocab *v, int32_t left, int32_t right)
{
    n_looked_up++;
    return __real_ks_vocab_pair(v, left, right);
}

int32_t __wrap_ks_index_find(const struct ks_index *x, const char *bytes, size_t len)
{
    n_looked_up++;
    return __real_ks_index_find(x, bytes, len);
}

static void load(struct ks_vocab *v, const char *name)
{
    struct ks_error err;
    struct ks_gguf *g = open_file(name);
    if (ks_vocab_load(v, g, NULL, &err))
        fail_msg("%s", err.text);
    ks_gguf_close(g);
}

/* ------------------------------------------------------------------ the definition */

/* How good joining a and b is: the higher the better; false where it can't be. */
static bool judge(const struct ks_vocab *v, const char *word, const struct ks_piece *a,
                  const struct ks_piece *b, double *good, int32_t *id)
{
    if (v->model == KS_VOCAB_SPM) {
        *id = ks_index_find(&v->keys, word + a->start, a->len + b->len);
        *good = *id >= 0 ? (double)v->scores[*id] : 0.0;
        return *id >= 0;
    }
    const struct ks_pair *pair = ks_vocab_pair(v, a->id, b->id);
    if (pair) {
        *id = pair->id;
        *good = -(double)pair->rank;
    }
    return pair;
}

static void merge_by_definition(struct ks_merger *m, const struct ks_vocab *v, const char *word)
{
    for (;;) {
        size_t best = m->n;
        double best_good = 0, good;
        int32_t best_id = -1, id;
        for (size_t i = 0; i + 1 < m->n; i++) {
            if (!judge(v, word, &m->pieces[i], &m->pieces[i + 1], &good, &id))
                continue;
            if (best == m->n || good > best_good) {
                best = i;
                best_good = good;
                best_id = id;
            }
        }
        if (best == m->n)
            return;
        m->pieces[best].len += m->pieces[best + 1].len;
        m->pieces[best].id = best_id;
        m->n--;
        for (size_t i = best + 1; i < m->n; i++)
            m->pieces[i] = m->pieces[i + 1];
    }
}

static void start(struct ks_merger *m, const struct ks_vocab *v, const char *word, size_t len)
{
    struct ks_error err;
    if (v->model == KS_VOCAB_BPE ? ks_merger_bytes(m, v, word, len, &err)
                                 : ks_merger_chars(m, v, word, len, &err))
        fail_msg("%s", err.text);
}

static void run(struct ks_merger *m, const struct ks_vocab *v, const char *word)
{
    struct ks_error err;
    if (ks_merger_run(m, v, word, &err))
        fail_msg("%s", err.text);
}

static void assert_as_defined(const struct ks_vocab *v, const char *word, size_t len)
{
    struct ks_merger got = {0}, want = {0};
    start(&got, v, word, len);
    start(&want, v, word, len);
    run(&got, v, word);
    merge_by_definition(&want, v, word);
    bool same = got.n == want.n;
    for (size_t i = 0; same && i < got.n; i++)
        same = got.pieces[i].start == want.pieces[i].start &&
               got.pieces[i].len == want.pieces[i].len && got.pieces[i].id == want.pieces[i].id;
    if (!same)
        fail_msg("\"%.*s\" merges to %zu pieces, by definition to %zu", (int)len, word, got.n,
                 want.n);
    ks_merger_finish(&got);
    ks_merger_finish(&want);
}

static void of_all_pairs_the_best_is_joined_and_of_equals_the_leftmost(void **state)
{
    (void)state;
    static const char *const files[] = {"text/bpe-2048.gguf", "text/spm-1000.gguf",
                                        "text/bpe-gemma4.gguf"};
    static const char *const units[] = {"e", "t",  "a",  "th",   "in",          "er", "s",
                                        "n", "aa", "ss", "\xC3", KS_SPACE_MARK, "1",  "\n"};
    uint64_t seed = 7;
    for (int f = 0; f < 3; f++) {
        struct ks_vocab v = {0};
        load(&v, files[f]);
        for (int i = 0; i < 250; i++) {
            char word[256] = "";
            size_t n = 1 + ks_random_next(&seed) % 80;
            for (size_t k = 0; k < n; k++)
                strcat(word, units[ks_random_next(&seed) % (sizeof units / sizeof units[0])]);
            assert_as_defined(&v, word, strlen(word));
        }
        ks_vocab_finish(&v);
    }
}

/* text's ids are those of one merge of `spaced`, which is text as the vocabulary spells it. */
static void assert_ids_of_one_merge(const struct ks_tokenizer *t, const struct ks_vocab *v,
                                    const char *text, const char *spaced)
{
    struct ks_merger m = {0};
    struct ks_tokens got = {0}, want = {0};
    struct ks_error err;
    start(&m, v, spaced, strlen(spaced));
    run(&m, v, spaced);
    for (size_t i = 0; i < m.n; i++) {
        const struct ks_piece *p = &m.pieces[i];
        for (size_t k = 0; k < (p->id < 0 ? p->len : 1); k++) {
            int32_t byte = v->byte_id[(unsigned char)spaced[p->start + k]];
            assert_int_equal(ks_tokens_put(&want, p->id < 0 ? byte : p->id, &err), 0);
        }
    }
    if (ks_tokenize(t, text, strlen(text), 0, &got, &err))
        fail_msg("%s", err.text);
    if (got.n != want.n || memcmp(got.ids, want.ids, got.n * sizeof *got.ids) != 0)
        fail_msg("\"%s\" has other ids in parts", text);
    ks_tokens_finish(&got);
    ks_tokens_finish(&want);
    ks_merger_finish(&m);
}

/* Characters that no token joins are merged apart; the ids are those of merging all at once. */
static void a_text_merged_in_parts_has_the_ids_of_the_whole(void **state)
{
    (void)state;
    static const char *const files[] = {"text/spm-1000-nospace.gguf", "text/bpe-gemma4.gguf"};
    static const char *const units[] = {"the",  "in", "er",           "q",           ",", ".", "1",
                                        "\xC3", "\n", "\xE4\xBD\xA0", KS_SPACE_MARK, " "};
    uint64_t seed = 11;
    for (int f = 0; f < 2; f++) {
        struct ks_error err;
        struct ks_vocab v = {0};
        load(&v, files[f]);
        struct ks_gguf *g = open_file(files[f]);
        struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, &err);
        assert_non_null(t);
        for (int i = 0; i < 400; i++) {
            char text[200] = "", spaced[200] = "";
            for (size_t n = 1 + ks_random_next(&seed) % 60; n > 0; n--) {
                const char *unit = units[ks_random_next(&seed) % (sizeof units / sizeof units[0])];
                bool spm = v.model == KS_VOCAB_SPM;
                if (!spm && (unit[0] == '\n' || unit[0] == '\xC3'))
                    continue; /* cut and replaced there before anything merges */
                strcat(text, unit);
                strcat(spaced, unit[0] == ' ' ? KS_SPACE_MARK : unit);
            }
            strcat(text, "e");
            strcat(spaced, "e");
            assert_ids_of_one_merge(t, &v, text, spaced);
        }
        ks_tokenizer_destroy(t);
        ks_gguf_close(g);
        ks_vocab_finish(&v);
    }
}

/* ------------------------------------------------------------------ long lines */

/* A line that offers no place to cut costs each byte the same as a short word's. */
static void work_on_lines_without_spaces_grows_as_their_length(void **state)
{
    (void)state;
    static const struct {
        const char *file, *pre;
    } cases[] = {{"text/bpe-2048.gguf", "smollm"},
                 {"text/bpe-2048.gguf", "superbpe"},
                 {"text/spm-1000.gguf", NULL},
                 {"text/bpe-gemma4.gguf", NULL}};
    static const char *const units[] = {"a", "inthereandthere", "\xE4\xBD\xA0"};
    size_t len = 1 << 17;
    char *text = malloc(len);
    assert_non_null(text);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ks_error err;
        struct ks_gguf *g = open_file(cases[c].file);
        struct ks_tokenizer *t = ks_tokenizer_create(g, cases[c].pre, &err);
        assert_non_null(t);
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
            struct ks_tokens got = {0};
            for (size_t i = 0; i < len; i++)
                text[i] = units[u][i % strlen(units[u])];
            n_looked_up = 0;
            if (ks_tokenize(t, text, len, 0, &got, &err))
                fail_msg("%s", err.text);
            /* A character's own token, its pair, and two pairs more for each join. */
            if (n_looked_up > 4 * len + 16)
                fail_msg("%s, \"%s\": %zu look-ups for %zu bytes", cases[c].file, units[u],
                         n_looked_up, len);
            ks_tokens_finish(&got);
        }
        ks_tokenizer_destroy(t);
        ks_gguf_close(g);
    }
    free(text);
}

/* ------------------------------------------------------------------ remembering */

/* More different words than are remembered, each twice, far apart. Many begin or end alike. */
static char *write_words(size_t n, size_t *len)
{
    struct ks_buf b = {0};
    struct ks_error err;
    for (int round = 0; round < 2; round++) {
        uint64_t seed = 3;
        for (size_t i = 0; i < n; i++) {
            char word[24] = "";
            size_t letters = i % 3 ? 8 : 1 + ks_random_next(&seed) % 20;
            for (size_t k = 0; k < letters; k++)
                word[k] = "etaoinshrdlu"[ks_random_next(&seed) % 12];
            ks_buf_printf(&b, &err, " %s%s%s", i % 3 == 1 ? "another" : "", word,
                          i % 3 == 2 ? "another" : "");
        }
    }
    *len = b.len;
    return b.bytes;
}

static void put_merged(const struct ks_vocab *v, const char *word, size_t len,
                       struct ks_tokens *out)
{
    struct ks_merger m = {0};
    struct ks_error err;
    start(&m, v, word, len);
    run(&m, v, word);
    for (size_t i = 0; i < m.n; i++)
        assert_int_equal(ks_tokens_put(out, m.pieces[i].id, &err), 0);
    ks_merger_finish(&m);
}

static void words_that_were_remembered_or_forgotten_have_the_same_ids(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_vocab v = {0};
    struct ks_gguf *g = open_file("text/bpe-2048.gguf");
    struct ks_tokenizer *t = ks_tokenizer_create(g, "smollm", &err);
    assert_non_null(t);
    load(&v, "text/bpe-2048.gguf");
    size_t len, start = 0;
    char *text = write_words(9000, &len);
    struct ks_tokens want = {0};
    for (size_t i = 1; i <= len; i++) {
        if (i < len && text[i] != ' ')
            continue;
        put_merged(&v, text + start, i - start, &want);
        start = i;
    }
    for (int again = 0; again < 2; again++) {
        struct ks_tokens got = {0};
        if (ks_tokenize(t, text, len, 0, &got, &err))
            fail_msg("%s", err.text);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.ids, want.ids, want.n * sizeof *want.ids);
        ks_tokens_finish(&got);
    }
    ks_tokens_finish(&want);
    free(text);
    ks_vocab_finish(&v);
    ks_tokenizer_destroy(t);
    ks_gguf_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_all_pairs_the_best_is_joined_and_of_equals_the_leftmost),
        cmocka_unit_test(a_text_merged_in_parts_has_the_ids_of_the_whole),
        cmocka_unit_test(work_on_lines_without_spaces_grows_as_their_length),
        cmocka_unit_test(words_that_were_remembered_or_forgotten_have_the_same_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
