#include "tests/testing.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf/gguf.h"
#include "engine/imatrix/imatrix.h"
#include "tests/engine/gguf/writer.h"

static struct ks_imatrix *open_sample(const char *name)
{
    struct ks_error err;
    struct ks_imatrix *m = ks_imatrix_open(test_data(name), "sample", &err);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

static const float *weights_of(const struct ks_imatrix *m, const char *tensor, uint64_t cols,
                               uint64_t matrices)
{
    struct ks_importance found;
    struct ks_error err;
    assert_int_equal(ks_imatrix_find(m, tensor, cols, matrices, &found, &err), 1);
    assert_int_equal(found.slices, matrices);
    return found.weights;
}

static void check_sample(const char *name)
{
    struct ks_imatrix *m = open_sample(name);
    assert_int_equal(ks_imatrix_n(m), 3);
    assert_string_equal(ks_imatrix_name(m, 0), "blk.0.ffn_down_exps.weight");
    assert_string_equal(ks_imatrix_dataset(m), "words.txt");
    assert_int_equal(ks_imatrix_chunks(m), 2);
    const float *up = weights_of(m, "blk.0.ffn_up.weight", 256, 1);
    for (int c = 0; c < 256; c++)
        assert_true(up[c] == (float)(c % 7 + 1) / 4);
    const float *experts = weights_of(m, "blk.0.ffn_down_exps.weight", 8, 3);
    for (int e = 0; e < 3; e++)
        for (int c = 0; c < 8; c++)
            assert_true(experts[8 * e + c] == (e == 1 ? 1.0f : (float)(e + 1) + (float)c / 8));
    ks_imatrix_unref(m);
}

static void both_forms_give_the_means_and_ones_where_no_token_came(void **state)
{
    (void)state;
    check_sample("imatrix/small.gguf");
    check_sample("imatrix/small.dat");
}

static void the_same_matrix_has_the_same_hash_in_both_forms(void **state)
{
    (void)state;
    struct ks_imatrix *a = open_sample("imatrix/small.gguf"), *b = open_sample("imatrix/small.dat");
    assert_true(ks_hash_equal(ks_imatrix_hash(a), ks_imatrix_hash(b)));
    assert_string_equal(ks_imatrix_shown(a), "sample");
    ks_imatrix_unref(a);
    ks_imatrix_unref(b);
}

static void a_tensor_of_another_size_is_refused_but_for_the_embedding(void **state)
{
    (void)state;
    struct ks_imatrix *m = open_sample("imatrix/small.gguf");
    struct ks_importance found = {NULL, 0};
    struct ks_error err;
    assert_int_equal(ks_imatrix_find(m, "blk.0.ffn_gate.weight", 256, 1, &found, &err), 0);
    assert_int_equal(ks_imatrix_find(m, "token_embd.weight", 256, 1, &found, &err), 0);
    assert_null(found.weights);
    assert_int_equal(ks_imatrix_find(m, "blk.0.ffn_up.weight", 512, 1, &found, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "sample: tensor blk.0.ffn_up.weight has 256 weights"));
    assert_non_null(strstr(err.text, "512 columns"));
    assert_int_equal(ks_imatrix_find(m, "blk.0.ffn_down_exps.weight", 8, 2, &found, &err), -1);
    ks_imatrix_unref(m);
}

/* ------------------------------------------------------------------ bad files */

static void assert_refused(const void *bytes, size_t len, const char *words)
{
    struct ks_error err = {0};
    assert_null(ks_imatrix_parse("bad.dat", bytes, len, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_int_equal(strncmp(err.text, "bad.dat: ", 9), 0);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

/* The old form may end behind its entries; GGUF's last bytes only fill up. */
static void every_cut_of_a_file_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t whole, fine_from, fine_to;
    } files[] = {{"imatrix/small.gguf", 3232, 3220, 3232}, {"imatrix/small.dat", 1259, 1242, 1243}};
    for (int i = 0; i < 2; i++) {
        size_t whole;
        char *bytes = test_read_file(test_data(files[i].name), &whole);
        assert_int_equal(whole, files[i].whole);
        for (size_t len = 0; len < whole; len++) {
            char *cut = malloc(len ? len : 1); /* no room behind it, for the sanitizer */
            assert_non_null(cut);
            memcpy(cut, bytes, len);
            if (len < files[i].fine_from || len >= files[i].fine_to)
                assert_refused(cut, len, "");
            free(cut);
        }
        free(bytes);
    }
}

static void what_is_no_importance_matrix_is_told_so(void **state)
{
    (void)state;
    struct ks_error err;
    assert_null(ks_imatrix_open(test_data("model/llama-tied.gguf"), NULL, &err));
    assert_non_null(strstr(err.text, "llama-tied.gguf"));
    assert_non_null(strstr(err.text, "importance matrix"));
    assert_refused("Once upon a time, there was a text.", 35, "not an importance matrix");
    assert_refused("", 0, "not an importance matrix");
    assert_null(ks_imatrix_open("/none/imatrix.dat", NULL, &err));
    assert_int_equal(err.code, KS_SYSTEM);
    assert_null(ks_imatrix_open("/tmp", NULL, &err));
    assert_non_null(strstr(err.text, "is a directory"));
}

static void put_entry(struct ks_buf *b, const char *name, uint32_t chunks, uint32_t n, float value)
{
    gw_u32(b, (uint32_t)strlen(name));
    gw_bytes(b, name, strlen(name));
    gw_u32(b, chunks);
    gw_u32(b, n);
    for (uint32_t i = 0; i < n; i++)
        gw_f32(b, value);
}

/* Two entries, the second with what is wrong. */
static void refuse_second(const char *name, uint32_t n, float value, const char *words)
{
    struct ks_buf b = {0};
    gw_u32(&b, 2);
    put_entry(&b, "blk.0.attn_q.weight", 1, 4, 1);
    put_entry(&b, name, 1, n, value);
    assert_refused(b.bytes, b.len, words);
    ks_buf_finish(&b);
}

static void wrong_entries_of_the_old_form_are_refused_with_their_place(void **state)
{
    (void)state;
    refuse_second("blk.0.attn_q.weight", 4, 1, "tensor blk.0.attn_q.weight is there twice");
    refuse_second("blk.0.attn_k.weight", 4, NAN, "tensor blk.0.attn_k.weight: column 0 weighs nan");
    refuse_second("blk.0.attn_k.weight", 4, INFINITY, "column 0 weighs inf");
    refuse_second("blk.0.attn_k.weight", 4, -1, "column 0 weighs -1");
    refuse_second("blk.0.attn_k.weight", 0, 1, "entry 1: the number of values is 0");
    refuse_second("", 4, 1, "byte 51, entry 1: the length of a name is 0");
    refuse_second("a\nb", 4, 1, "byte 56, entry 1: a name holds the byte 10");
}

static void chunks_divide_sums_and_none_leaves_them(void **state)
{
    (void)state;
    for (uint32_t chunks = 0; chunks < 4; chunks++) {
        struct ks_buf b = {0};
        struct ks_error err;
        gw_u32(&b, 1);
        put_entry(&b, "x.weight", chunks, 4, 12);
        struct ks_imatrix *m = ks_imatrix_parse("x", (const uint8_t *)b.bytes, b.len, &err);
        assert_non_null(m);
        assert_string_equal(ks_imatrix_dataset(m), ""); /* it ends behind the entries */
        assert_true(weights_of(m, "x.weight", 4, 1)[3] == 12.0f / (float)(chunks ? chunks : 1));
        ks_imatrix_unref(m);
        ks_buf_finish(&b);
    }
}

/* x.weight.in_sum2 of 4 columns, and a second tensor. */
static void refuse_gguf(const char *first, uint32_t type, const char *second, uint64_t counts,
                        const char *words)
{
    struct ks_buf b = {0};
    gw_header(&b, 3, 2, 1);
    gw_key_str(&b, "general.type", "imatrix");
    gw_tensor(&b, first, type, 4, 1, 0);
    gw_tensor(&b, second, 0, 1, counts, 32);
    gw_pad(&b, 32);
    gw_data(&b, 64, 1);
    assert_refused(b.bytes, b.len, words);
    ks_buf_finish(&b);
}

static void wrong_tensors_of_the_gguf_form_are_refused_by_name(void **state)
{
    (void)state;
    refuse_gguf("x.weight.in_sum2", 0, "y.weight.counts", 1, "x.weight.in_sum2 has no .counts");
    refuse_gguf("x.weight.in_sum2", 0, "x.weight.counts", 2, "has 2 counts for 1 rows");
    refuse_gguf("x.weight.in_sum2", 1, "x.weight.counts", 1, "x.weight.in_sum2 is not F32");
    refuse_gguf(".in_sum2", 0, ".counts", 1, "names no tensor of a model");
    refuse_gguf("x.weight", 0, "x.weight.counts", 1, "without any tensor");
}

static void what_is_no_number_of_tokens_is_refused(void **state)
{
    (void)state;
    static const float counts[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct ks_buf b = {0};
        gw_header(&b, 3, 2, 1);
        gw_key_str(&b, "general.type", "imatrix");
        gw_tensor(&b, "x.weight.in_sum2", 0, 8, 1, 0);
        gw_tensor(&b, "x.weight.counts", 0, 1, 1, 32);
        gw_pad(&b, 32);
        for (int c = 0; c < 8; c++)
            gw_f32(&b, 4);
        gw_f32(&b, counts[i]);
        gw_pad(&b, 32);
        assert_refused(b.bytes, b.len, "tensor x.weight.counts: item 0 is ");
        ks_buf_finish(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_give_the_means_and_ones_where_no_token_came),
        cmocka_unit_test(the_same_matrix_has_the_same_hash_in_both_forms),
        cmocka_unit_test(a_tensor_of_another_size_is_refused_but_for_the_embedding),
        cmocka_unit_test(every_cut_of_a_file_is_refused),
        cmocka_unit_test(what_is_no_importance_matrix_is_told_so),
        cmocka_unit_test(wrong_entries_of_the_old_form_are_refused_with_their_place),
        cmocka_unit_test(chunks_divide_sums_and_none_leaves_them),
        cmocka_unit_test(wrong_tensors_of_the_gguf_form_are_refused_by_name),
        cmocka_unit_test(what_is_no_number_of_tokens_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
