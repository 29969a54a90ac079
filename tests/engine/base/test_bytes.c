#include "tests/testing.h"

#include <string.h>

#include "engine/base/bytes.h"

static void arithmetic_says_when_it_overflows(void **state)
{
    (void)state;
    uint64_t out = 5;
    assert_true(ks_mul_u64(1u << 31, 1u << 31, &out));
    assert_true(out == 1ull << 62);
    assert_false(ks_mul_u64(1ull << 33, 1ull << 33, &out));
    assert_true(out == 1ull << 62);
    assert_false(ks_add_u64(UINT64_MAX, 1, &out));
}

static void aligned_memory_is_zeroed_and_refuses_overflow(void **state)
{
    (void)state;
    unsigned char *p = ks_alloc_aligned(3, 7);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (int i = 0; i < 21; i++)
        assert_int_equal(p[i], 0);
    free(p);
    assert_null(ks_alloc_aligned(SIZE_MAX / 2, 3));
}

static void a_buffer_grows_and_ends_in_nul(void **state)
{
    (void)state;
    struct ks_buf b = {0};
    struct ks_error err;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ks_buf_printf(&b, &err, "%d,", i), 0);
    assert_int_equal(ks_buf_put(&b, "end", 3, &err), 0);
    assert_int_equal(b.len, strlen(b.bytes));
    assert_string_equal(b.bytes + b.len - 7, "999,end");
    ks_buf_finish(&b);
    assert_null(b.bytes);
}

/* XXH3_128bits("") from the xxHash specification's test vectors. */
static void the_hash_is_xxh3(void **state)
{
    (void)state;
    char hex[33];
    ks_hash_hex(ks_hash_bytes("", 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    struct ks_hash a = ks_hash_bytes("a", 1), b = ks_hash_bytes("b", 1);
    assert_false(ks_hash_equal(ks_hash_join(a, b), ks_hash_join(b, a)));
}

/* The first outputs for seed 1234567 that the SplitMix64 paper's reference code gives. */
static void the_generator_is_splitmix64(void **state)
{
    (void)state;
    uint64_t s = 1234567;
    assert_true(ks_random_next(&s) == 6457827717110365317u);
    assert_true(ks_random_next(&s) == 3203168211198807973u);
    assert_true(ks_random_next(&s) == 9817491932198370423u);
}

static void below_stays_below_and_reaches_all(void **state)
{
    (void)state;
    uint64_t s = 1;
    unsigned seen = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t r = ks_random_below(&s, 7);
        assert_true(r < 7);
        seen |= 1u << r;
    }
    assert_int_equal(seen, 0x7f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_says_when_it_overflows),
        cmocka_unit_test(aligned_memory_is_zeroed_and_refuses_overflow),
        cmocka_unit_test(a_buffer_grows_and_ends_in_nul),
        cmocka_unit_test(the_hash_is_xxh3),
        cmocka_unit_test(the_generator_is_splitmix64),
        cmocka_unit_test(below_stays_below_and_reaches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
