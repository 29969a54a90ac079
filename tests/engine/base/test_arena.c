#include "tests/testing.h"

#include <string.h>

#include "engine/base/arena.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct ks_arena a = {0};
    unsigned char *last = NULL;
    for (size_t n = 1; n < 3000; n += 7) {
        unsigned char *p = ks_arena_alloc(&a, n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < 3 * n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, 3 * n);
        assert_ptr_not_equal(p, last);
        last = p;
    }
    ks_arena_finish(&a);
    assert_null(a.chunks);
}

static void strings_are_copied(void **state)
{
    (void)state;
    struct ks_arena a = {0};
    char text[] = "abc";
    char *copy = ks_arena_strdup(&a, text);
    text[0] = 'x';
    assert_string_equal(copy, "abc");
    assert_null(ks_arena_strdup(&a, NULL));
    assert_string_equal(ks_arena_printf(&a, "%d-%s", 7, copy), "7-abc");
    ks_arena_finish(&a);
}

static void an_overflowing_size_is_no_memory(void **state)
{
    (void)state;
    struct ks_arena a = {0};
    assert_null(ks_arena_alloc(&a, SIZE_MAX / 2, 4));
    ks_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(an_overflowing_size_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
