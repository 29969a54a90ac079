/* The cache: what is kept, what is found, what goes when the limit is reached. */
#include "tests/testing.h"

#include <fcntl.h>

#include "tests/engine/cache/folder.h"

/* ------------------------------------------------------------------ keeping and finding */

static void what_was_kept_is_found_by_a_later_run(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    assert_false(has(c, 0));
    assert_true(keep(c, 0));
    assert_true(has(c, 0));
    ks_cache_close(c);
    c = open_cache(&notes);
    assert_true(has(c, 0));
    assert_false(has(c, 1));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void what_was_found_outlives_its_file(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cached found;
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    assert_true(ks_cache_find(c, key_of(0), BYTES, &found));
    assert_int_equal(ks_cache_clear(&facts, &err), 0);
    assert_int_equal(files_in_folder(), 0);
    assert_memory_equal(found.data, data[0], BYTES);
    ks_cached_release(&found);
    assert_false(has(c, 0));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

/* ------------------------------------------------------------------ the limit */

static void the_longest_unused_goes_first_and_the_limit_holds(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 6; i++)
        assert_true(keep(c, i));
    ks_cache_close(c);
    for (int i = 0; i < 6; i++)
        set_age(i, i == 1 ? 5 : 1000 - i); /* 0 is the oldest; 1 was used again */
    set_limit(6 * (BYTES + 64) + 100);
    c = open_cache(&notes);
    assert_true(keep(c, 6));
    ks_cache_close(c);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.bytes <= facts.limit_bytes && facts.tensors >= 4);
    c = open_cache(&notes);
    assert_false(has(c, 0));
    assert_true(has(c, 1));
    assert_true(has(c, 5));
    assert_true(has(c, 6));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void what_a_run_has_used_is_not_thrown_away_by_it(void **state)
{
    (void)state;
    struct notes notes = {0};
    set_limit(3 * (BYTES + 64));
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 3; i++)
        assert_true(keep(c, i));
    assert_false(keep(c, 3));
    assert_false(keep(c, 4));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.last, "kldscope cache --limit"));
    for (int i = 0; i < 3; i++)
        assert_true(has(c, i));
    ks_cache_close(c);
    for (int i = 0; i < 3; i++)
        set_age(i, 100);
    c = open_cache(&notes);
    assert_true(has(c, 0));
    assert_true(has(c, 1));
    assert_true(keep(c, 3)); /* in the place of 2 */
    assert_false(has(c, 2));
    assert_true(has(c, 0));
    assert_true(has(c, 1));
    ks_cache_close(c);
    assert_int_equal(notes.n, 1);
}

static void a_smaller_limit_holds_at_once_and_zero_keeps_nothing(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 5; i++)
        assert_true(keep(c, i));
    ks_cache_close(c);
    set_limit(2 * (BYTES + 64));
    assert_int_equal(files_in_folder(), 2);
    set_limit(0);
    assert_int_equal(files_in_folder(), 0);
    c = open_cache(&notes);
    assert_false(keep(c, 0));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void a_look_at_the_cache_counts_what_is_there(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_string_equal(facts.folder, folder);
    assert_true(facts.tensors == 0 && facts.bytes == 0 && facts.oldest_unix_ns == 0);
    assert_true(facts.limit_bytes > 0);
    assert_int_equal(access(folder, F_OK), -1); /* looking makes no folder */
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0) && keep(c, 1));
    ks_cache_close(c);
    set_age(1, 3600);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.tensors == 2 && facts.bytes == 2 * (BYTES + 64));
    assert_true(facts.oldest_unix_ns / 1000000000 + 3590 < time(NULL));
}

static void a_limit_that_is_no_number_is_the_usual_one(void **state)
{
    (void)state;
    static const char *const texts[] = {"",  "\n", "-5\n", "7x\n", "99999999999999999999999\n",
                                        "12"};
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    ks_cache_close(open_cache(&notes));
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    uint64_t usual = facts.limit_bytes;
    char path[192];
    snprintf(path, sizeof path, "%s/limit", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *f = fopen(path, "w");
        fputs(texts[i], f);
        fclose(f);
        assert_int_equal(ks_cache_look(&facts, &err), 0);
        assert_true(facts.limit_bytes == usual);
    }
}

static void a_time_beyond_the_clock_does_no_harm(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    ks_cache_close(c);
    const struct timespec late[2] = {{.tv_sec = 15000000000}, {.tv_sec = 15000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(0), late, 0), 0);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.tensors == 1);
    assert_int_equal(ks_cache_clear(&facts, &err), 0);
    assert_true(facts.tensors == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_kept_is_found_by_a_later_run),
        CASE(what_was_found_outlives_its_file),
        CASE(the_longest_unused_goes_first_and_the_limit_holds),
        CASE(what_a_run_has_used_is_not_thrown_away_by_it),
        CASE(a_smaller_limit_holds_at_once_and_zero_keeps_nothing),
        CASE(a_look_at_the_cache_counts_what_is_there),
        CASE(a_limit_that_is_no_number_is_the_usual_one),
        CASE(a_time_beyond_the_clock_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
