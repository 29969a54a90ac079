#include "tests/testing.h"

#include <string.h>

#include "engine/run/windows.h"

static void a_short_document_is_one_window(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    assert_int_equal(ks_windows_cut((size_t[]){2, 512}, 2, 512, 256, &w, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(w[0].rows, 1);
    assert_int_equal(w[0].scored, 1);
    assert_int_equal(w[1].document, 1);
    assert_int_equal(w[1].rows, 511);
    assert_int_equal(w[1].first, 0);
    free(w);
}

/* 513 tokens: the first window covers tokens 0..511, and its last position has a successor, so it
 * scores all 512 and no second window is formed. 514 need one more position. */
static void the_position_at_the_cut_is_not_lost(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    assert_int_equal(ks_windows_cut((size_t[]){513}, 1, 512, 256, &w, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(w[0].scored, 512);
    free(w);
    assert_int_equal(ks_windows_cut((size_t[]){514}, 1, 512, 256, &w, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(w[1].start, 256);
    assert_int_equal(w[1].first, 256);
    assert_int_equal(w[1].scored, 1);
    free(w);
}

/* Every position with a successor once, in order, with at least c tokens before it. */
static void check_cover(size_t tokens, size_t window, size_t context_min)
{
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    assert_int_equal(ks_windows_cut(&tokens, 1, window, context_min, &w, &n, &err), 0);
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(w[i].scored > 0);
        assert_true(w[i].rows <= window);
        assert_int_equal(w[i].rows, w[i].first + w[i].scored);
        assert_int_equal(w[i].start, i * (window - context_min));
        assert_int_equal(w[i].start + w[i].first, next);
        if (i > 0)
            assert_true(w[i].first >= context_min);
        next = w[i].start + w[i].rows;
    }
    assert_int_equal(next, tokens - 1);
    free(w);
}

static void every_position_scores_once_for_all_small_shapes(void **state)
{
    (void)state;
    for (size_t window = 2; window <= 9; window++)
        for (size_t c = 1; c < window; c++)
            for (size_t tokens = 2; tokens < 60; tokens++)
                check_cover(tokens, window, c);
}

/* Two documents cut at 8 with 4 of context: of the first only tokens 3 and 9 count as targets. */
static void a_mask_leaves_the_targets_that_count(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    const uint8_t mask[16] = {[3] = 1, [9] = 1};
    const uint8_t *masks[] = {mask, NULL};
    assert_int_equal(ks_windows_cut((size_t[]){16, 5}, 2, 8, 4, &w, &n, &err), 0);
    assert_int_equal(n, 4);
    n = ks_windows_mask(w, n, masks);
    assert_int_equal(n, 3); /* the first document's last window has nothing that counts */
    assert_int_equal(w[0].rows, 3);
    assert_int_equal(w[0].scored, 1);
    assert_int_equal(w[1].start, 4);
    assert_int_equal(w[1].rows, 5); /* token 9 is the target of row 4, position 8 */
    assert_int_equal(w[1].scored, 1);
    assert_int_equal(w[2].document, 1);
    assert_int_equal(w[2].scored, 4);
    free(w);
}

/* Whole windows side by side; of 8 tokens the positions 4..6 are scored, of 7 3..5. */
static void chunks_score_their_second_half_but_for_the_last_position(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    for (size_t window = 7; window <= 8; window++) {
        assert_int_equal(ks_windows_chunk(3 * window + window - 1, window, &w, &n, &err), 0);
        assert_int_equal(n, 3);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(w[i].document, 0);
            assert_int_equal(w[i].start, i * window);
            assert_int_equal(w[i].rows, window - 1);
            assert_int_equal(w[i].first, window == 8 ? 4 : 3);
            assert_int_equal(w[i].scored, 3);
        }
        free(w);
    }
}

static void what_fills_no_chunk_makes_none(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_window *w;
    size_t n;
    assert_int_equal(ks_windows_chunk(511, 512, &w, &n, &err), 0);
    assert_int_equal(n, 0);
    free(w);
    assert_int_equal(ks_windows_chunk(512, 512, &w, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(w[0].scored, 255);
    free(w);
}

static void shards_have_each_window_once(void **state)
{
    (void)state;
    for (uint32_t of = 1; of <= 5; of++) {
        for (size_t n = 0; n <= 12; n++) {
            size_t in_all = 0;
            for (uint32_t i = 1; i <= of; i++) {
                const struct ks_shard s = {i, of};
                struct ks_window w[12];
                for (size_t k = 0; k < n; k++)
                    w[k] = (struct ks_window){.start = k};
                size_t left = ks_windows_take(w, n, &s);
                assert_int_equal(left, ks_shard_count(&s, n));
                for (size_t k = 0; k < left; k++) {
                    assert_int_equal(w[k].start % of, i - 1);
                    assert_int_equal(w[k].start, ks_shard_window(&s, k));
                }
                in_all += left;
            }
            assert_int_equal(in_all, n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_document_is_one_window),
        cmocka_unit_test(the_position_at_the_cut_is_not_lost),
        cmocka_unit_test(a_mask_leaves_the_targets_that_count),
        cmocka_unit_test(every_position_scores_once_for_all_small_shapes),
        cmocka_unit_test(chunks_score_their_second_half_but_for_the_last_position),
        cmocka_unit_test(what_fills_no_chunk_makes_none),
        cmocka_unit_test(shards_have_each_window_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
