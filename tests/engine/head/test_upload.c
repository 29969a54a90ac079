/*
 * Tensors from the file's blocks to logits: what comes back is what the CPU's decoder says.
 */
#include "tests/testing.h"

#include <jansson.h>

#include "engine/head/head.h"
#include "engine/quant/decode.h"
#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

enum { ROWS = 16, COLS = 512 };

/* y(COLS, ROWS) of the identity: column k of the tensor in row k. */
static void check_tensor(struct ks_gpu *gpu, const struct ks_matrix *m, uint64_t bytes)
{
    struct ks_error err = {0};
    struct product p = {.rows = ROWS, .cols = COLS, .w = ks_head_upload(gpu, m, bytes, "t", &err)};
    if (!p.w)
        fail_msg("%s", err.text);
    p.x = must(calloc((size_t)COLS * COLS, sizeof *p.x));
    for (size_t k = 0; k < COLS; k++)
        p.x[k * COLS + k] = 1;
    float *y = compute(&p, gpu, KS_GPU_MANY, p.x, COLS);
    float *few = compute(&p, gpu, KS_GPU_FEW, p.x, COLS);
    for (size_t r = 0; r < ROWS; r++) {
        float w[COLS];
        ks_decode_row(m->type, m->data + r * (bytes / ROWS), w, COLS);
        for (size_t k = 0; k < COLS; k++) {
            bool flushed = fabsf(w[k]) < 0x1p-126f; /* a device may take these for 0 */
            float want = flushed ? 0 : w[k], got = y[k * ROWS + r];
            if (!(got == want || (flushed && got == w[k])) || few[k * ROWS + r] != got)
                fail_msg("%s, row %zu, column %zu: %a, %a by few rows, not %a",
                         ks_type_info(m->type)->name, r, k, (double)got, (double)few[k * ROWS + r],
                         (double)w[k]);
        }
    }
    free(y);
    free(few);
    free_product(&p);
}

static void rows_that_another_program_quantized_come_back_decoded_bit_for_bit(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, NULL);
    json_error_t why;
    size_t len;
    int checked = 0;
    json_t *root = json_load_file(test_data("quant/quant.json"), 0, &why);
    char *bin = test_read_file(test_data("quant/quant.bin"), &len);
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        const json_t *entry = json_object_get(json_object_get(root, "types"), t->name);
        const json_t *plain = json_object_get(entry, "plain");
        enum ks_gpu_layout layout;
        if (!plain || !ks_head_layout(t->type, &layout))
            continue;
        size_t offset = (size_t)json_integer_value(json_object_get(plain, "q_offset"));
        uint64_t row_bytes;
        assert_true(ks_type_row_bytes(t->type, COLS, &row_bytes));
        struct ks_matrix m = {
            .type = t->type, .rows = ROWS, .cols = COLS, .data = (uint8_t *)bin + offset};
        check_tensor(l.gpu, &m, ROWS * row_bytes);
        checked++;
    }
    assert_int_equal(checked, KS_GPU_LAYOUTS - 1); /* but for F32 */
    free(bin);
    json_decref(root);
    close_listening(&l);
}

static void a_malformed_tensor_never_reaches_the_device(void **state)
{
    (void)state;
    struct ks_error err = {0};
    struct ks_matrix m = {.type = KS_Q8_0, .rows = 1, .cols = 32};
    assert_null(ks_head_upload(NULL, &m, 33, "output.weight", &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "output.weight"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_another_program_quantized_come_back_decoded_bit_for_bit),
        cmocka_unit_test(a_malformed_tensor_never_reaches_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
