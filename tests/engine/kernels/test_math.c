#include "tests/engine/kernels/kernels.h"

#include "engine/kernels/elementary/math.h"

/* An ulp of f64 or f32 around a value. */
static double ulp_of(double value, bool f32)
{
    int e;
    frexp(value, &e);
    int least = f32 ? -149 : -1074;
    e -= f32 ? 24 : 53;
    return ldexp(1.0, e < least ? least : e);
}

static double evaluate(const char *name, double x, double y)
{
    static const struct {
        const char *name;
        double (*f)(double);
    } functions[] = {
        {"exp", ks_exp}, {"log", ks_log}, {"log1p", ks_log1p}, {"sin", ks_sin}, {"cos", ks_cos},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].f(x);
    if (strcmp(name, "pow") == 0)
        return ks_pow(x, y);
    if (strcmp(name, "expf") == 0)
        return (double)ks_expf((float)x);
    assert_string_equal(name, "tanhf");
    return (double)ks_tanhf((float)x);
}

/* The worst error in ulp over the table's lines of a function; its count in *n. */
static double worst(const char *function, size_t *n)
{
    FILE *f = fopen(test_data("kernels/math.txt"), "r");
    assert_non_null(f);
    char name[16];
    double x, y, high, low, most = 0.0;
    *n = 0;
    while (fscanf(f, "%15s %la %la %la %la", name, &x, &y, &high, &low) == 5) {
        if (strcmp(name, function) != 0)
            continue;
        bool f32 = name[strlen(name) - 1] == 'f';
        double got = evaluate(name, x, y), error = 0.0;
        if (got != high || low != 0.0)
            error = fabs((got - high) - low) / ulp_of(high, f32);
        if (!(error <= most)) {
            most = error;
            if (getenv("KS_TEST_VERBOSE"))
                fprintf(stderr, "%s(%a, %a) = %a: %.3f ulp\n", name, x, y, got, error);
        }
        (*n)++;
    }
    fclose(f);
    return most;
}

static void errors_stay_within_the_bounds_that_the_header_gives(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        double bound;
    } bounds[] = {{"exp", 0.95}, {"log", 0.9}, {"log1p", 1.3}, {"pow", 0.97},
                  {"sin", 0.8},  {"cos", 0.8}, {"expf", 0.95}, {"tanhf", 0.501}};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        size_t n;
        double most = worst(bounds[i].function, &n);
        if (n < 100 || !(most <= bounds[i].bound))
            fail_msg("%s: %zu values, worst error %.3f ulp of %.3f allowed", bounds[i].function, n,
                     most, bounds[i].bound);
    }
}

static void special_values_are_those_of_the_functions(void **state)
{
    (void)state;
    assert_true(ks_exp(0.0) == 1.0 && ks_exp(-0.0) == 1.0);
    assert_true(ks_exp(710.0) == INFINITY && ks_exp(INFINITY) == INFINITY);
    assert_true(ks_exp(-746.0) == 0.0 && ks_exp(-INFINITY) == 0.0);
    assert_true(ks_exp(-745.0) == 0x1p-1074);
    assert_true(isnan(ks_exp(NAN)) && isnan(ks_expf(NAN)));
    assert_true(ks_log(1.0) == 0.0 && !signbit(ks_log(1.0)));
    assert_true(ks_log(0.0) == -INFINITY && ks_log(INFINITY) == INFINITY);
    assert_true(isnan(ks_log(-1.0)) && isnan(ks_log(-INFINITY)) && isnan(ks_log(NAN)));
    assert_true(ks_log1p(-1.0) == -INFINITY && isnan(ks_log1p(-1.5)) && isnan(ks_log1p(NAN)));
    assert_true(ks_log1p(INFINITY) == INFINITY && signbit(ks_log1p(-0.0)));
    assert_true(ks_pow(10000.0, 0.0) == 1.0 && ks_pow(1.0, INFINITY) == 1.0);
    assert_true(ks_pow(2.0, 10.0) == 1024.0 && ks_pow(2.0, -1074.0) == 0x1p-1074);
    assert_true(ks_pow(2.0, 1024.0) == INFINITY && ks_pow(2.0, -1080.0) == 0.0);
    assert_true(ks_pow(0.0, 2.0) == 0.0 && ks_pow(INFINITY, -1.0) == 0.0);
    assert_true(isnan(ks_pow(-2.0, 0.5)) && isnan(ks_pow(NAN, 2.0)) && isnan(ks_pow(2.0, NAN)));
    assert_true(ks_sin(0.0) == 0.0 && signbit(ks_sin(-0.0)) && ks_cos(0.0) == 1.0);
    assert_true(isnan(ks_sin(NAN)) && isnan(ks_cos(INFINITY)));
    assert_true(ks_expf(0.0f) == 1.0f && ks_expf(89.0f) == INFINITY);
    assert_true(ks_expf(-INFINITY) == 0.0f && ks_expf(INFINITY) == INFINITY);
    assert_true(ks_expf(-103.0f) == 0x1p-149f && ks_expf(-104.0f) == 0.0f);
    assert_true(ks_tanhf(INFINITY) == 1.0f && ks_tanhf(-INFINITY) == -1.0f);
    assert_true(signbit(ks_tanhf(-0.0f)) && isnan(ks_tanhf(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stay_within_the_bounds_that_the_header_gives),
        cmocka_unit_test(special_values_are_those_of_the_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
