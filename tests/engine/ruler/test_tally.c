#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/ruler/tally.h"

#define MOST 4000

/* Positions in order, with what is needed to compute every number the slow way. */
struct position {
    uint32_t corpus, document;
    struct ks_ref_row ref;
    struct ks_arm_row arm;
};

static double unit(uint64_t *seed)
{
    return (double)(ks_random_next(seed) >> 11) * 0x1p-53;
}

static struct position draw(uint64_t *seed, uint32_t corpus, uint32_t document)
{
    double harder = (document * 7 % 5) * 0.3; /* positions of a document are alike */
    struct position p = {.corpus = corpus, .document = document};
    p.ref.measurement = p.arm.measurement = true;
    p.ref.n_top = 10;
    p.ref.logprob = -harder - 4 * unit(seed);
    p.arm.logprob = p.ref.logprob - 0.1 * harder + 0.2 * (unit(seed) - 0.5);
    p.arm.kld = exp(6 * unit(seed) - 8 + harder);
    p.arm.reverse = p.arm.kld * (0.9 + 0.2 * unit(seed));
    p.arm.overlap = (int32_t)ks_random_below(seed, 11);
    p.arm.top1 = ks_random_below(seed, 10) < 9;
    return p;
}

struct ruled {
    struct ks_numbers numbers;
    struct ks_corpus_numbers corpora[4];
    float trend[MOST];
};

/* Adds positions[n] in windows of at most `window`, each of one document, and reads. */
static void rule(const struct position *p, size_t n, size_t window, size_t documents, bool with_arm,
                 struct ruled *out)
{
    struct ks_error err;
    struct ks_tally *t = ks_tally_create(4, documents, n, &err);
    assert_non_null(t);
    struct ks_ref_row ref[512];
    struct ks_arm_row arm[512];
    int32_t offsets[512];
    size_t in_document = 0;
    for (size_t i = 0; i < n;) {
        size_t m = 0;
        if (i == 0 || p[i].document != p[i - 1].document)
            in_document = 0;
        while (i + m < n && m < window && p[i + m].document == p[i].document) {
            ref[m] = p[i + m].ref;
            arm[m] = p[i + m].arm;
            offsets[m] = (int32_t)(in_document + m);
            m++;
        }
        struct ks_tally_window w = {p[i].corpus, p[i].document, offsets};
        if (ks_tally_add(t, &w, ref, with_arm ? arm : NULL, m, &err))
            fail_msg("%s", err.text);
        in_document += m;
        i += m;
    }
    memset(out, 0, sizeof *out);
    out->numbers.corpora = out->corpora;
    out->numbers.trend = out->trend;
    assert_true(ks_tally_windows(t) <= MOST);
    assert_int_equal(ks_tally_read(t, &out->numbers, &err), 0);
    ks_tally_destroy(t);
}

static size_t draw_documents(uint64_t seed, size_t documents, struct position *p)
{
    size_t n = 0;
    for (uint32_t d = 0; d < documents; d++) {
        size_t length = 1 + ks_random_below(&seed, 60);
        for (size_t i = 0; i < length; i++)
            p[n++] = draw(&seed, d % 3, d); /* corpus 3 stays empty */
    }
    return n;
}

static void assert_close(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-12 * (fabs(wanted) + 1e-3)))
        fail_msg("%.17g is not %.17g", found, wanted);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ------------------------------------------------------------------ against the slow way */

static double kld_of(const struct position *p)
{
    return p->arm.kld;
}

static double nll_ref_of(const struct position *p)
{
    return -p->ref.logprob;
}

static double nll_arm_of(const struct position *p)
{
    return -p->arm.logprob;
}

static double ratio_of(const struct position *p)
{
    return p->ref.logprob - p->arm.logprob;
}

static double mean_of(const struct position *p, size_t n, double (*x)(const struct position *))
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x(&p[i]);
    return sum / (double)n;
}

/* The formula word by word: group[i] says which cluster position i is in, groups in a row. */
static double sem_of(const struct position *p, const size_t *group, size_t n, size_t n_groups,
                     double (*x)(const struct position *))
{
    double mean = mean_of(p, n, x), outer = 0;
    for (size_t g = 0; g < n_groups; g++) {
        double inner = 0;
        for (size_t i = 0; i < n; i++) {
            if (group[i] == g)
                inner += x(&p[i]) - mean;
        }
        outer += inner * inner;
    }
    return sqrt((double)n_groups / ((double)n_groups - 1) * outer) / (double)n;
}

static void means_and_quantiles_agree_with_the_slow_way(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    static double sorted[MOST];
    size_t n = draw_documents(31, 40, p), top1 = 0, overlap = 0;
    double delta = 0, squares = 0, reverse = 0;
    for (size_t i = 0; i < n; i++) {
        double d = exp(p[i].arm.logprob) - exp(p[i].ref.logprob);
        delta += d;
        squares += d * d;
        reverse += p[i].arm.reverse;
        top1 += p[i].arm.top1;
        overlap += (size_t)p[i].arm.overlap;
        sorted[i] = p[i].arm.kld;
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    rule(p, n, 25, 40, true, &out);
    const struct ks_numbers *s = &out.numbers;
    double many = (double)n;
    assert_int_equal(s->n, n);
    assert_close(s->kld_mean, mean_of(p, n, kld_of));
    assert_close(s->kld_reverse_mean, reverse / many);
    assert_close(s->ppl_ref, exp(mean_of(p, n, nll_ref_of)));
    assert_close(s->ppl_arm, exp(mean_of(p, n, nll_arm_of)));
    assert_close(s->ln_ppl_ratio, log(s->ppl_arm / s->ppl_ref));
    assert_close(s->delta_p_mean, delta / many);
    assert_close(s->delta_p_rms, sqrt(squares / many));
    assert_close(s->top1_agreement, (double)top1 / many);
    assert_close(s->topk_overlap, (double)overlap / 10 / many);
    assert_true(s->kld_median == sorted[(n * 500 + 999) / 1000 - 1]);
    assert_true(s->kld_p90 == sorted[(n * 900 + 999) / 1000 - 1]);
    assert_true(s->kld_p95 == sorted[(n * 950 + 999) / 1000 - 1]);
    assert_true(s->kld_p99 == sorted[(n * 990 + 999) / 1000 - 1]);
    assert_true(s->kld_p999 == sorted[(n * 999 + 999) / 1000 - 1]);
    assert_true(s->kld_max == sorted[n - 1]);
    assert_int_equal(s->nonfinite, 0);
    assert_int_equal(s->infinite, 0);
}

static void standard_errors_are_clustered_by_document(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    static size_t group[MOST];
    size_t n = draw_documents(32, 30, p);
    for (size_t i = 0; i < n; i++)
        group[i] = p[i].document;
    rule(p, n, 7, 30, true, &out);
    const struct ks_numbers *s = &out.numbers;
    assert_close(s->kld_sem, sem_of(p, group, n, 30, kld_of));
    assert_close(s->ppl_ref_sem, s->ppl_ref * sem_of(p, group, n, 30, nll_ref_of));
    assert_close(s->ppl_arm_sem, s->ppl_arm * sem_of(p, group, n, 30, nll_arm_of));
    assert_close(s->ln_ppl_ratio_sem, sem_of(p, group, n, 30, ratio_of));
}

static void standard_errors_of_one_document_are_clustered_by_window(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    static size_t group[MOST];
    uint64_t seed = 33;
    for (size_t i = 0; i < 1003; i++) {
        p[i] = draw(&seed, 1, 0);
        group[i] = i / 100;
    }
    rule(p, 1003, 100, 1, true, &out);
    assert_close(out.numbers.kld_sem, sem_of(p, group, 1003, 11, kld_of));
    assert_close(out.numbers.ln_ppl_ratio_sem, sem_of(p, group, 1003, 11, ratio_of));
}

static void one_cluster_has_no_standard_error(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    uint64_t seed = 34;
    for (size_t i = 0; i < 50; i++)
        p[i] = draw(&seed, 0, 0);
    rule(p, 50, 100, 1, true, &out);
    assert_true(isnan(out.numbers.kld_sem) && isnan(out.numbers.ppl_ref_sem));
    rule(p, 50, 10, 2, true, &out); /* five windows, but so far of the first document */
    assert_true(isnan(out.numbers.kld_sem) && isnan(out.numbers.ln_ppl_ratio_sem));
}

/* A cluster none of whose positions is a measurement is no cluster. */
static void an_unmeasured_document_does_not_count_as_a_cluster(void **state)
{
    (void)state;
    static struct position p[MOST], measured[MOST];
    static struct ruled out, without;
    size_t n = draw_documents(35, 12, p), m = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i].document == 5)
            p[i].arm = (struct ks_arm_row){.kld = NAN};
        else
            measured[m++] = p[i];
    }
    rule(p, n, 20, 12, true, &out);
    rule(measured, m, 20, 12, true, &without);
    assert_int_equal(out.numbers.nonfinite, n - m);
    assert_true(out.numbers.kld_sem == without.numbers.kld_sem);
    assert_true(out.numbers.ppl_ref == without.numbers.ppl_ref);
}

static void corpora_have_numbers_of_their_own(void **state)
{
    (void)state;
    static struct position p[MOST], part[MOST];
    static struct ruled out;
    size_t n = draw_documents(36, 25, p);
    rule(p, n, 30, 25, true, &out);
    for (uint32_t c = 0; c < 3; c++) {
        double klds[MOST];
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            if (p[i].corpus != c)
                continue;
            klds[m] = p[i].arm.kld;
            part[m++] = p[i];
        }
        assert_int_equal(out.corpora[c].n, m);
        assert_close(out.corpora[c].kld_mean, mean_of(part, m, kld_of));
        assert_close(out.corpora[c].ppl_arm, exp(mean_of(part, m, nll_arm_of)));
        assert_true(out.corpora[c].kld_p99 == ks_quantile(klds, m, 0.99));
    }
    assert_int_equal(out.corpora[3].n, 0);
    assert_true(isnan(out.corpora[3].kld_mean) && isnan(out.corpora[3].kld_p99));
}

static void the_trend_is_each_windows_p99(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    uint64_t seed = 37;
    for (size_t i = 0; i < 600; i++) {
        p[i] = draw(&seed, 0, 0);
        if (i / 200 == 1)
            p[i].ref.measurement = false;
    }
    rule(p, 600, 200, 1, true, &out);
    assert_int_equal(out.numbers.n_trend, 3);
    for (size_t w = 0; w < 3; w += 2) {
        double klds[200];
        for (size_t i = 0; i < 200; i++)
            klds[i] = p[w * 200 + i].arm.kld;
        assert_true(out.trend[w] == (float)ks_quantile(klds, 200, 0.99));
    }
    assert_true(isnan(out.trend[1]));
}

/* ------------------------------------------------------------------ the conventions */

static void hundred_positions_have_the_quantiles_of_the_convention(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    uint64_t seed = 38;
    for (int i = 0; i < 100; i++) {
        p[i] = draw(&seed, 0, 0);
        p[i].arm.kld = (i * 37 % 100) / 100.0;
    }
    rule(p, 100, 13, 1, true, &out);
    assert_true(out.numbers.kld_median == 0.49);
    assert_true(out.numbers.kld_p99 == 0.98);
    assert_true(out.numbers.kld_max == 0.99);
    assert_close(out.numbers.kld_mean, 0.495);
}

static void uniform_rows_of_64_have_the_perplexity_64(void **state)
{
    (void)state;
    static struct ruled out;
    static struct position p[300];
    for (size_t i = 0; i < 300; i++) {
        p[i].ref = (struct ks_ref_row){.measurement = true, .logprob = -log(64), .n_top = 10};
        p[i].arm = (struct ks_arm_row){.measurement = true, .logprob = -log(64), .overlap = 10};
        p[i].arm.top1 = true;
    }
    rule(p, 300, 100, 1, true, &out);
    assert_true(fabs(out.numbers.ppl_ref - 64) <= 1e-9);
    assert_true(fabs(out.numbers.ppl_arm - 64) <= 1e-9);
    assert_true(out.numbers.ln_ppl_ratio == 0 && out.numbers.ln_ppl_ratio_sem == 0);
    assert_true(out.numbers.kld_mean == 0 && out.numbers.kld_max == 0);
    assert_true(out.numbers.topk_overlap == 1 && out.numbers.top1_agreement == 1);
    assert_true(out.numbers.delta_p_mean == 0 && out.numbers.delta_p_rms == 0);
    assert_int_equal(out.numbers.hist_zero, 300);
}

static void nothing_measured_reads_as_absent_never_as_zero(void **state)
{
    (void)state;
    static struct ruled out;
    static struct position p[3];
    rule(p, 0, 10, 1, true, &out);
    assert_int_equal(out.numbers.n, 0);
    assert_true(isnan(out.numbers.kld_mean) && isnan(out.numbers.kld_p99));
    assert_true(isnan(out.numbers.ppl_ref) && isnan(out.numbers.top1_agreement));
    rule(p, 3, 10, 1, true, &out); /* three positions, none of them a measurement */
    assert_int_equal(out.numbers.n, 0);
    assert_int_equal(out.numbers.nonfinite, 3);
    assert_true(isnan(out.numbers.kld_mean) && isnan(out.numbers.kld_max));
}

static void what_is_no_measurement_stays_out_of_every_mean_and_is_listed(void **state)
{
    (void)state;
    static struct position p[MOST], rest[MOST];
    static struct ruled out, without;
    size_t n = draw_documents(39, 20, p), m = 0, in_document = 0;
    size_t first_document = 0, first_offset = 0, bad = 0;
    for (size_t i = 0; i < n; i++) {
        in_document = i > 0 && p[i].document == p[i - 1].document ? in_document + 1 : 0;
        if (i < 40 || i % 17 != 0) {
            rest[m++] = p[i];
            continue;
        }
        p[i].arm = (struct ks_arm_row){.kld = NAN, .reverse = NAN, .logprob = NAN};
        if (i % 2)
            p[i].ref = (struct ks_ref_row){.logprob = NAN};
        if (bad++ == 0) {
            first_document = p[i].document;
            first_offset = in_document;
        }
    }
    rule(p, n, 15, 20, true, &out);
    rule(rest, m, 15, 20, true, &without);
    assert_int_equal(out.numbers.n, m);
    assert_int_equal(out.numbers.nonfinite, bad);
    assert_int_equal(out.numbers.first_nonfinite_document, first_document);
    assert_int_equal(out.numbers.first_nonfinite_offset, first_offset);
    assert_close(out.numbers.kld_mean, without.numbers.kld_mean);
    assert_close(out.numbers.kld_sem, without.numbers.kld_sem);
    assert_close(out.numbers.ppl_ref, without.numbers.ppl_ref);
    assert_true(out.numbers.kld_p99 == without.numbers.kld_p99);
}

static void an_infinite_position_is_counted_and_sorts_last(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    size_t n = draw_documents(40, 10, p);
    p[7].arm.kld = INFINITY;
    rule(p, n, 15, 10, true, &out);
    assert_int_equal(out.numbers.n, n);
    assert_int_equal(out.numbers.infinite, 1);
    assert_int_equal(out.numbers.nonfinite, 0);
    assert_true(isinf(out.numbers.kld_mean) && isinf(out.numbers.kld_max));
    assert_true(isnan(out.numbers.kld_sem));
    assert_true(isfinite(out.numbers.kld_p99) && isfinite(out.numbers.ppl_arm_sem));
    assert_int_equal(out.numbers.hist_above, 1);
}

static void the_reference_alone_has_its_perplexity_and_nothing_else(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out, with_arm;
    size_t n = draw_documents(41, 10, p);
    rule(p, n, 15, 10, true, &with_arm);
    p[3].arm.measurement = false; /* an arm's fault is not the reference's */
    rule(p, n, 15, 10, false, &out);
    assert_int_equal(out.numbers.n, n);
    assert_true(out.numbers.ppl_ref == with_arm.numbers.ppl_ref);
    assert_true(out.numbers.ppl_ref_sem == with_arm.numbers.ppl_ref_sem);
    assert_true(isnan(out.numbers.kld_mean) && isnan(out.numbers.ppl_arm));
    assert_int_equal(out.numbers.nonfinite, 0);
    p[3].ref.measurement = false;
    rule(p, n, 15, 10, false, &out);
    assert_int_equal(out.numbers.n, n - 1);
    assert_int_equal(out.numbers.nonfinite, 1);
}

/* ------------------------------------------------------------------ the histogram */

static void histogram_bins_are_tenths_of_a_decade(void **state)
{
    (void)state;
    static const struct {
        double kld;
        int bin; /* -1: zero, -2: below, -3: above */
    } cases[] = {
        {0, -1},        {-1e-17, -1},    {1e-300, -2},    {0.9999e-12, -2}, {1e-12, 0},
        {1.2e-12, 0},   {1.3e-12, 1},    {1e-4, 80},      {0.9999e-4, 79},  {1.25e-4, 80},
        {1.26e-4, 81},  {1.5848e-4, 81}, {1.5849e-4, 82}, {1, 120},         {9.9, 129},
        {10, 130},      {7943, 158},     {7944, 159},     {9999, 159},      {10000, -3},
        {INFINITY, -3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct ruled out;
        uint64_t seed = 42;
        struct position p = draw(&seed, 0, 0);
        p.arm.kld = cases[i].kld;
        rule(&p, 1, 1, 1, true, &out);
        const struct ks_numbers *s = &out.numbers;
        int bin = cases[i].bin;
        uint64_t found = bin == -1   ? s->hist_zero
                         : bin == -2 ? s->hist_below
                         : bin == -3 ? s->hist_above
                                     : s->hist[bin];
        if (found != 1)
            fail_msg("%g is not in bin %d", cases[i].kld, bin);
    }
}

static void histogram_counts_every_position_once(void **state)
{
    (void)state;
    static struct position p[MOST];
    static struct ruled out;
    size_t n = draw_documents(43, 60, p);
    rule(p, n, 15, 60, true, &out);
    uint64_t sum = out.numbers.hist_zero + out.numbers.hist_below + out.numbers.hist_above;
    for (int b = 0; b < KS_HIST_BINS; b++)
        sum += out.numbers.hist[b];
    assert_int_equal(sum, n);
}

/* ------------------------------------------------------------------ refusals */

static void a_refused_window_leaves_the_tally_as_it_was(void **state)
{
    (void)state;
    struct ks_error err;
    struct ks_tally *t = ks_tally_create(2, 3, 10, &err);
    struct ks_ref_row ref[20] = {0};
    struct ks_arm_row arm[20] = {0};
    int32_t offsets[20] = {0};
    uint64_t seed = 44;
    for (int i = 0; i < 20; i++) {
        struct position p = draw(&seed, 0, 0);
        ref[i] = p.ref;
        arm[i] = p.arm;
    }
    struct ks_tally_window w = {1, 1, offsets};
    assert_int_equal(ks_tally_add(t, &w, ref, arm, 4, &err), 0);
    struct ks_numbers before = {0}, after = {0};
    assert_int_equal(ks_tally_read(t, &before, &err), 0);

    assert_int_equal(ks_tally_add(t, &w, ref, arm, 7, &err), -1);
    assert_int_equal(err.code, KS_INTERNAL);
    assert_non_null(strstr(err.text, "7 positions, but only 6 of 10"));
    w.corpus = 2;
    assert_int_equal(ks_tally_add(t, &w, ref, arm, 1, &err), -1);
    assert_non_null(strstr(err.text, "corpus 2"));
    w = (struct ks_tally_window){1, 0, offsets};
    assert_int_equal(ks_tally_add(t, &w, ref, arm, 1, &err), -1);
    assert_non_null(strstr(err.text, "document 0, after one of document 1"));
    w.document = 1;
    assert_int_equal(ks_tally_add(t, &w, ref, NULL, 1, &err), -1);
    ref[1].n_top = 9;
    assert_int_equal(ks_tally_add(t, &w, ref, arm, 2, &err), -1);
    assert_non_null(strstr(err.text, "top-9 among rows of top-10"));

    assert_int_equal(ks_tally_windows(t), 1);
    assert_int_equal(ks_tally_read(t, &after, &err), 0);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(ks_tally_add(t, &w, ref, arm, 1, &err), 0);
    ks_tally_destroy(t);
    ks_tally_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_quantiles_agree_with_the_slow_way),
        cmocka_unit_test(standard_errors_are_clustered_by_document),
        cmocka_unit_test(standard_errors_of_one_document_are_clustered_by_window),
        cmocka_unit_test(one_cluster_has_no_standard_error),
        cmocka_unit_test(an_unmeasured_document_does_not_count_as_a_cluster),
        cmocka_unit_test(corpora_have_numbers_of_their_own),
        cmocka_unit_test(the_trend_is_each_windows_p99),
        cmocka_unit_test(hundred_positions_have_the_quantiles_of_the_convention),
        cmocka_unit_test(uniform_rows_of_64_have_the_perplexity_64),
        cmocka_unit_test(nothing_measured_reads_as_absent_never_as_zero),
        cmocka_unit_test(what_is_no_measurement_stays_out_of_every_mean_and_is_listed),
        cmocka_unit_test(an_infinite_position_is_counted_and_sorts_last),
        cmocka_unit_test(the_reference_alone_has_its_perplexity_and_nothing_else),
        cmocka_unit_test(histogram_bins_are_tenths_of_a_decade),
        cmocka_unit_test(histogram_counts_every_position_once),
        cmocka_unit_test(a_refused_window_leaves_the_tally_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
