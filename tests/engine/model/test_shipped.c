/*
 * The shipped model on a shipped document: tokens, forward pass and vocabulary together.
 */
#include "tests/engine/model/samples.h"

#include <jansson.h>
#include <math.h>

static const char *shipped(const char *name)
{
    static char path[1024];
    const char *root = getenv("KS_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/scenarios/%s", root ? root : ".", name);
    return path;
}

/* The text of the first document, a json_t that owns it. */
static json_t *first_document(const char **text)
{
    FILE *f = fopen(shipped("corpora/stories.jsonl"), "rb");
    assert_non_null(f);
    json_t *line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
    fclose(f);
    *text = json_string_value(json_object_get(line, "text"));
    assert_non_null(*text);
    return line;
}

struct likelihood {
    const int32_t *ids;
    size_t n;
    double sum;
};

static int add_row(void *ctx, size_t position, const float *logits, size_t vocab,
                   struct ks_error *err)
{
    (void)err;
    struct likelihood *l = ctx;
    if (position + 1 == l->n)
        return 0;
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < vocab; i++)
        max = fmax(max, (double)logits[i]);
    for (size_t i = 0; i < vocab; i++)
        sum += exp((double)logits[i] - max);
    l->sum += max + log(sum) - (double)logits[l->ids[position + 1]];
    return 0;
}

/* The likelihood is that of a forward pass in numpy and f64 over the weights as gguf-py decodes
 * them.
 */
static void the_shipped_model_reads_a_story_as_well_as_it_should(void **state)
{
    (void)state;
    struct ks_model *m = open_model(shipped("models/scope-6m.f16.gguf"), NULL);
    struct ks_error err = {0};
    const char *text;
    json_t *document = first_document(&text);
    int32_t *ids;
    struct likelihood l = {0};
    if (ks_model_tokenize(m, NULL, text, strlen(text), 0, &ids, &l.n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(l.n, 395);
    l.ids = ids;
    l.n = 128; /* enough, and quick under sanitizers where there is only plain C */
    if (ks_model_logits(m, ids, l.n, 2, add_row, &l, &err))
        fail_msg("%s", err.text);
    double mean = l.sum / (double)(l.n - 1);
    print_message("# mean negative log-likelihood %.10f\n", mean);
    assert_true(fabs(mean - 2.3253838514) < 1e-5);
    free(ids);
    json_decref(document);
    ks_model_unref(m);
}

static void the_shipped_model_knows_its_chat_format(void **state)
{
    (void)state;
    struct ks_model *m = open_model(shipped("models/scope-6m.f16.gguf"), NULL);
    assert_string_equal(ks_model_info(m)->chat_family, "chatml");
    assert_string_equal(ks_model_info(m)->name, "Scope 6M");
    assert_true(ks_model_info(m)->tied);
    ks_model_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_model_reads_a_story_as_well_as_it_should),
        cmocka_unit_test(the_shipped_model_knows_its_chat_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
