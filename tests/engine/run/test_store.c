#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"
#include "engine/run/arms/store.h"

#define ROWS 300
#define COLS 512

static float values[ROWS * COLS];

static void fill_values(void)
{
    uint64_t random = 7;
    for (size_t i = 0; i < ROWS * COLS; i++)
        values[i] = (float)(ks_random_next(&random) >> 40) / 8388608.0f - 1.0f;
}

static struct ks_matrix as_f32(const float *data)
{
    return (struct ks_matrix){
        .type = KS_F32, .rows = ROWS, .cols = COLS, .data = (const uint8_t *)data};
}

static int with_store(void **state)
{
    struct ks_error err;
    fill_values();
    *state = ks_store_create(NULL, &err);
    return *state ? 0 : -1;
}

static int without_store(void **state)
{
    ks_store_destroy(*state);
    return 0;
}

/* The values as the encoder alone makes them. */
static void encode(enum ks_type type, uint8_t *out)
{
    struct ks_error err;
    struct ks_encoders *encoders = ks_encoders_create(&err);
    assert_non_null(encoders);
    ks_encode_rows(ks_encoders_get(encoders, type, &err), values, ROWS, COLS, NULL, out);
    ks_encoders_destroy(encoders);
}

static void quantizing_gives_the_encoders_bytes_for_any_thread_count(void **state)
{
    struct ks_error err;
    struct ks_matrix source = as_f32(values);
    size_t bytes = ROWS * COLS / 256 * 144;
    uint8_t *expected = malloc(bytes);
    assert_non_null(expected);
    encode(KS_Q4_K, expected);
    for (int threads = 1; threads <= 7; threads += 3) {
        struct ks_store *own = ks_store_create(NULL, &err);
        struct ks_pool *pool = ks_pool_create(threads, &err);
        struct ks_matrix made;
        assert_int_equal(ks_store_quantize(own, pool, &source, KS_Q4_K, NULL, &made, &err), 0);
        assert_int_equal(made.type, KS_Q4_K);
        assert_memory_equal(made.data, expected, bytes);
        assert_true(ks_store_tally(own).bytes == bytes);
        ks_pool_destroy(pool);
        ks_store_destroy(own);
    }
    free(expected);
    (void)state;
}

static void what_was_made_is_made_once(void **state)
{
    struct ks_error err;
    struct ks_pool *pool = ks_pool_create(1, &err);
    struct ks_matrix source = as_f32(values), first, second, other;
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q8_0, NULL, &first, &err), 0);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q8_0, NULL, &second, &err), 0);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q4_0, NULL, &other, &err), 0);
    assert_ptr_equal(first.data, second.data);
    assert_ptr_not_equal(first.data, other.data);
    ks_pool_destroy(pool);
}

/* Two halves of the rows have weights of their own, as a layer's experts. */
static void importance_decides_the_bytes_where_the_type_heeds_it(void **state)
{
    struct ks_error err;
    struct ks_pool *pool = ks_pool_create(2, &err);
    struct ks_matrix source = as_f32(values), plain, made, again, other, eight, eight_too;
    static float weights[2 * COLS], copy[2 * COLS];
    for (size_t i = 0; i < 2 * COLS; i++)
        copy[i] = weights[i] = (float)(i * 7919 % 97 + 1);
    const struct ks_importance by = {weights, 2}, by_copy = {copy, 2};
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q4_K, NULL, &plain, &err), 0);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q4_K, &by, &made, &err), 0);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q4_K, &by_copy, &again, &err), 0);
    copy[3] = 0;
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q4_K, &by_copy, &other, &err), 0);
    assert_ptr_equal(made.data, again.data);
    assert_ptr_not_equal(made.data, other.data);
    assert_ptr_not_equal(made.data, plain.data);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q8_0, NULL, &eight, &err), 0);
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q8_0, &by, &eight_too, &err), 0);
    assert_ptr_equal(eight.data, eight_too.data);

    enum { BYTES = ROWS * COLS / 256 * 144 };
    uint8_t *expected = malloc(BYTES);
    struct ks_encoders *encoders = ks_encoders_create(&err);
    const struct ks_encoder *encoder = ks_encoders_get(encoders, KS_Q4_K, &err);
    for (size_t half = 0; half < 2; half++)
        ks_encode_rows(encoder, values + half * ROWS / 2 * COLS, ROWS / 2, COLS,
                       weights + half * COLS, expected + half * BYTES / 2);
    assert_memory_equal(made.data, expected, BYTES);
    ks_encoders_destroy(encoders);
    free(expected);
    ks_pool_destroy(pool);
}

static void no_notes(void *ctx, const char *text)
{
    (void)ctx;
    fail_msg("%s", text);
}

/* A run's store over the cache in folder: whether it found the tensor there, or made it. */
static bool finds_in_cache(const char *folder, struct ks_pool *pool, enum ks_type type)
{
    struct ks_error err;
    struct ks_matrix source = as_f32(values), made, again;
    struct ks_cache *cache = ks_cache_open(folder, no_notes, NULL);
    struct ks_store *store = ks_store_create(cache, &err);
    uint64_t row;
    assert_true(ks_type_row_bytes(type, COLS, &row));
    uint8_t *expected = malloc(ROWS * row);
    assert_non_null(expected);
    encode(type, expected);
    assert_int_equal(ks_store_quantize(store, pool, &source, type, NULL, &made, &err), 0);
    assert_int_equal(ks_store_quantize(store, pool, &source, type, NULL, &again, &err), 0);
    assert_ptr_equal(made.data, again.data);
    assert_memory_equal(made.data, expected, ROWS * row);
    assert_true(ks_hash_equal(ks_store_hash(store, &made), ks_hash_bytes(expected, ROWS * row)));
    struct ks_store_tally tally = ks_store_tally(store);
    assert_true(tally.made + tally.found == 1 && tally.bytes == ROWS * row);
    free(expected);
    ks_store_destroy(store);
    ks_cache_close(cache);
    return tally.found == 1;
}

static void the_cache_answers_for_equal_sources_and_types_alone(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_pool *pool = ks_pool_create(2, &err);
    char folder[] = "/tmp/kldscope-store-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    assert_false(finds_in_cache(folder, pool, KS_Q5_K));
    assert_true(finds_in_cache(folder, pool, KS_Q5_K));
    assert_false(finds_in_cache(folder, pool, KS_Q4_K));
    values[ROWS * COLS - 1] += 1;
    assert_false(finds_in_cache(folder, pool, KS_Q5_K));
    values[ROWS * COLS - 1] -= 1;
    assert_true(finds_in_cache(folder, pool, KS_Q5_K));
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    ks_pool_destroy(pool);
}

static void equal_content_shares_one_pointer(void **state)
{
    struct ks_error err;
    float *copy = malloc(sizeof values), *changed = malloc(sizeof values);
    assert_non_null(copy);
    assert_non_null(changed);
    memcpy(copy, values, sizeof values);
    memcpy(changed, values, sizeof values);
    changed[ROWS * COLS - 1] += 1;
    struct ks_matrix a = as_f32(values), b = as_f32(copy), c = as_f32(changed);
    assert_int_equal(ks_store_intern(*state, &a, &err), 0);
    assert_int_equal(ks_store_intern(*state, &b, &err), 0);
    assert_int_equal(ks_store_intern(*state, &c, &err), 0);
    assert_ptr_equal(a.data, values);
    assert_ptr_equal(b.data, values);
    assert_ptr_equal(c.data, changed);
    struct ks_matrix reshaped = {.type = KS_F32, .rows = COLS, .cols = ROWS, .data = b.data};
    reshaped.data = (const uint8_t *)copy;
    assert_int_equal(ks_store_intern(*state, &reshaped, &err), 0);
    assert_ptr_equal(reshaped.data, copy);
    free(copy);
    free(changed);
}

static void a_weight_that_is_no_number_is_refused_with_its_row(void **state)
{
    struct ks_error err;
    struct ks_pool *pool = ks_pool_create(2, &err);
    struct ks_matrix source = as_f32(values), made = {0};
    values[201 * COLS + 3] = NAN;
    values[250 * COLS + 3] = INFINITY;
    assert_int_equal(ks_store_quantize(*state, pool, &source, KS_Q8_0, NULL, &made, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "row 201"));
    assert_null(made.data);
    ks_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantizing_gives_the_encoders_bytes_for_any_thread_count),
        cmocka_unit_test_setup_teardown(what_was_made_is_made_once, with_store, without_store),
        cmocka_unit_test_setup_teardown(importance_decides_the_bytes_where_the_type_heeds_it,
                                        with_store, without_store),
        cmocka_unit_test(the_cache_answers_for_equal_sources_and_types_alone),
        cmocka_unit_test_setup_teardown(equal_content_shares_one_pointer, with_store,
                                        without_store),
        cmocka_unit_test_setup_teardown(a_weight_that_is_no_number_is_refused_with_its_row,
                                        with_store, without_store),
    };
    fill_values();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
