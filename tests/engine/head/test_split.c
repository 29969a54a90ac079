#include "tests/testing.h"

#include <jansson.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/head/head.h"
#include "engine/quant/decode.h"
#include "gpu/head/proof/twin.h"

enum { TYPES = 16 };

static const enum ks_type types[TYPES] = {
    KS_F32,  KS_F16,    KS_BF16,  KS_Q8_0, KS_Q4_0, KS_Q4_1, KS_Q5_0, KS_Q5_1,
    KS_Q2_K, KS_IQ4_NL, KS_MXFP4, KS_Q3_K, KS_Q4_K, KS_Q5_K, KS_Q6_K, KS_IQ4_XS,
};

static void *must(void *p)
{
    assert_non_null(p);
    return p;
}

static uint64_t bytes_of(const struct ks_matrix *m)
{
    uint64_t row;
    assert_true(ks_type_row_bytes(m->type, m->cols, &row));
    return m->rows * row;
}

/* Taken apart in two portions of exactly the bytes that were told. */
static void split_in_two(const struct ks_matrix *m, uint8_t *parts[KS_GPU_MAX_PARTS])
{
    uint64_t all[KS_GPU_MAX_PARTS], lower[KS_GPU_MAX_PARTS];
    uint64_t half = m->rows / 2;
    uint8_t *upper[KS_GPU_MAX_PARTS];
    ks_head_part_bytes(m, m->rows, all);
    ks_head_part_bytes(m, half, lower);
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++) {
        parts[i] = must(malloc(all[i] ? all[i] : 1));
        upper[i] = parts[i] + lower[i];
    }
    ks_head_split(m, 0, half, parts);
    ks_head_split(m, half, m->rows - half, upper);
}

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

/* What a device's twin reads of the parts is what the file's decoder reads of the blocks. */
static void check_matrix(const struct ks_matrix *m)
{
    struct ks_error err = {0};
    if (ks_head_check(m, bytes_of(m), "head", &err) != 0)
        fail_msg("%s", err.text);
    enum ks_gpu_layout layout;
    assert_true(ks_head_layout(m->type, &layout));
    uint8_t *parts[KS_GPU_MAX_PARTS];
    split_in_two(m, parts);
    float *want = must(malloc(m->cols * sizeof *want)), *got = must(malloc(m->cols * sizeof *got));
    for (uint64_t r = 0; r < m->rows; r++) {
        ks_decode_row(m->type, m->data + r * (bytes_of(m) / m->rows), want, m->cols);
        ks_gpu_twin_row(layout, (const void *const *)parts, m->cols, r, got);
        for (uint64_t c = 0; c < m->cols; c++)
            if (!same(want[c], got[c]))
                fail_msg("%s, row %llu, column %llu: %a, not %a", ks_type_info(m->type)->name,
                         (unsigned long long)r, (unsigned long long)c, (double)got[c],
                         (double)want[c]);
    }
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        free(parts[i]);
    free(want);
    free(got);
}

static void any_bytes_of_every_type_mean_the_same_on_the_device(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ks_matrix m = {.type = types[t], .rows = 61, .cols = 768};
        uint8_t *data = must(malloc(bytes_of(&m)));
        uint64_t seed = (uint64_t)t;
        for (uint64_t i = 0; i < bytes_of(&m); i++)
            data[i] = (uint8_t)ks_random_next(&seed);
        m.data = data;
        check_matrix(&m);
        free(data);
    }
}

static void every_half_is_read_exactly(void **state)
{
    (void)state;
    uint16_t *halves = must(malloc(65536 * sizeof *halves));
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    struct ks_matrix m = {.type = KS_F16, .rows = 64, .cols = 1024, .data = (uint8_t *)halves};
    check_matrix(&m);
    m.type = KS_BF16;
    check_matrix(&m);
    free(halves);
}

static size_t number(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

static void rows_that_another_program_quantized_mean_the_same_on_the_device(void **state)
{
    (void)state;
    json_error_t why;
    size_t len;
    int checked = 0;
    json_t *root = json_load_file(test_data("quant/quant.json"), 0, &why);
    char *bin = test_read_file(test_data("quant/quant.bin"), &len);
    for (int t = 0; t < TYPES; t++) {
        const json_t *entry =
            json_object_get(json_object_get(root, "types"), ks_type_info(types[t])->name);
        const json_t *plain = json_object_get(entry, "plain");
        if (!plain)
            continue;
        struct ks_matrix m = {.type = types[t], .rows = 16, .cols = 512};
        m.data = (uint8_t *)bin + number(plain, "q_offset");
        assert_true(number(plain, "q_offset") + bytes_of(&m) <= len);
        check_matrix(&m);
        checked++;
    }
    assert_int_equal(checked, TYPES - 1); /* but for F32 */
    free(bin);
    json_decref(root);
}

/* ------------------------------------------------------------------ what is refused */

static void refused(struct ks_matrix m, uint64_t bytes, enum ks_code code, const char *says)
{
    struct ks_error err = {0};
    assert_int_equal(ks_head_check(&m, bytes, "output.weight", &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, "output.weight"));
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void a_length_that_is_not_exactly_right_is_malformed(void **state)
{
    (void)state;
    struct ks_matrix m = {.type = KS_Q8_0, .rows = 3, .cols = 64};
    refused(m, 3 * 68 - 1, KS_BAD_INPUT, "204 bytes, and the tensor has 203");
    refused(m, 3 * 68 + 1, KS_BAD_INPUT, "205");
    refused(m, 0, KS_BAD_INPUT, "damaged");
}

static void a_shape_that_is_no_whole_number_of_blocks_is_malformed(void **state)
{
    (void)state;
    refused((struct ks_matrix){.type = KS_Q8_0, .rows = 3, .cols = 33}, 102, KS_BAD_INPUT,
            "33 columns");
    refused((struct ks_matrix){.type = KS_Q8_0, .rows = 3, .cols = 0}, 0, KS_BAD_INPUT,
            "0 columns");
    refused((struct ks_matrix){.type = KS_Q8_0, .rows = 0, .cols = 32}, 0, KS_BAD_INPUT, "0 rows");
    refused((struct ks_matrix){.type = KS_Q6_K, .rows = 1, .cols = 128}, 105, KS_BAD_INPUT,
            "blocks of Q6_K");
}

static void a_size_that_overflows_is_malformed(void **state)
{
    (void)state;
    refused((struct ks_matrix){.type = KS_Q8_0, .rows = UINT64_MAX / 2, .cols = 64}, 136,
            KS_BAD_INPUT, "output.weight");
    refused((struct ks_matrix){.type = KS_F32, .rows = 1, .cols = UINT64_MAX / 2}, 4, KS_BAD_INPUT,
            "output.weight");
}

static void what_no_shader_reads_is_left_to_the_cpu_with_words(void **state)
{
    (void)state;
    enum ks_gpu_layout layout = KS_GPU_LAYOUTS;
    refused((struct ks_matrix){.type = KS_IQ2_XXS, .rows = 1, .cols = 256}, 66, KS_UNSUPPORTED,
            "IQ2_XXS");
    refused((struct ks_matrix){.type = KS_F16, .rows = 1, .cols = 24}, 48, KS_UNSUPPORTED,
            "rows of 24");
    assert_false(ks_head_layout(KS_IQ2_XXS, &layout));
    assert_int_equal(layout, KS_GPU_LAYOUTS);
}

static void every_layout_has_a_type_and_the_bytes_of_its_blocks(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (int t = 0; t < TYPES; t++) {
        enum ks_gpu_layout layout;
        assert_true(ks_head_layout(types[t], &layout));
        seen |= 1u << layout;
        const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
        uint64_t row;
        assert_true(ks_type_row_bytes(types[t], info->block_elems, &row));
        assert_int_equal(row, info->part_bytes[0] + info->part_bytes[1] + info->part_bytes[2]);
    }
    assert_int_equal(seen, (1u << KS_GPU_LAYOUTS) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_of_every_type_mean_the_same_on_the_device),
        cmocka_unit_test(every_half_is_read_exactly),
        cmocka_unit_test(rows_that_another_program_quantized_mean_the_same_on_the_device),
        cmocka_unit_test(a_length_that_is_not_exactly_right_is_malformed),
        cmocka_unit_test(a_shape_that_is_no_whole_number_of_blocks_is_malformed),
        cmocka_unit_test(a_size_that_overflows_is_malformed),
        cmocka_unit_test(what_no_shader_reads_is_left_to_the_cpu_with_words),
        cmocka_unit_test(every_layout_has_a_type_and_the_bytes_of_its_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
