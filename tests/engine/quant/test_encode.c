#include "tests/testing.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/quant/decode.h"
#include "engine/quant/encode/encode.h"
#include "tests/sha256.h"

enum { ROWS = 16, COLS = 512, DENORMAL_ROW = 5 };

struct fixture {
    json_t *root;
    uint8_t *bin;
    size_t bin_len;
    float *input, *importance;
};

static struct ks_encoders *encoders;

static void encode(enum ks_type type, const float *x, size_t rows, size_t cols,
                   const float *importance, void *out)
{
    struct ks_error err;
    ks_encode_rows(ks_encoders_get(encoders, type, &err), x, rows, cols, importance, out);
}

static int load(void **state)
{
    struct ks_error err;
    encoders = ks_encoders_create(&err);
    assert_non_null(encoders);
    struct fixture *f = calloc(1, sizeof *f);
    json_error_t why;
    size_t len;
    f->root = json_load_file(test_data("quant/quant.json"), 0, &why);
    f->bin = (uint8_t *)test_read_file(test_data("quant/quant.bin"), &f->bin_len);
    f->input = (float *)(void *)test_read_file(test_data("quant/input.f32"), &len);
    assert_int_equal(len, ROWS * COLS * sizeof(float));
    f->importance = (float *)(void *)test_read_file(test_data("quant/imatrix.f32"), &len);
    assert_int_equal(len, COLS * sizeof(float));
    *state = f;
    return f->root ? 0 : -1;
}

static int unload(void **state)
{
    struct fixture *f = *state;
    ks_encoders_destroy(encoders);
    json_decref(f->root);
    free(f->bin);
    free(f->input);
    free(f->importance);
    free(f);
    return 0;
}

static size_t number(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

/* The reference leaves its own range on this row; its bytes there are no example. */
static void check_denormal_row(enum ks_type type, const uint8_t *row)
{
    float out[COLS];
    ks_decode_row(type, row, out, COLS);
    for (int i = 0; i < COLS; i++)
        assert_true(fabsf(out[i]) <= 1e-38f);
}

/* Returns the rows that have the reference's bytes, the denormal one not counted. */
static int equal_rows(const struct fixture *f, const struct ks_type_info *t, const char *name)
{
    const json_t *entry = json_object_get(json_object_get(f->root, "types"), t->name);
    const json_t *mode = json_object_get(entry, name);
    size_t row_bytes = number(mode, "bytes_per_row"), offset = number(mode, "q_offset");
    assert_true(offset + ROWS * row_bytes <= f->bin_len);
    const float *importance = strcmp(name, "imatrix") == 0 ? f->importance : NULL;
    uint8_t *out = malloc(ROWS * row_bytes);
    assert_non_null(out);
    encode(t->type, f->input, ROWS, COLS, importance, out);
    int equal = 0;
    for (size_t r = 0; r < ROWS; r++) {
        const uint8_t *row = out + r * row_bytes, *want = f->bin + offset + r * row_bytes;
        bool same = memcmp(row, want, row_bytes) == 0;
        if (r == DENORMAL_ROW)
            check_denormal_row(t->type, row);
        else if (!same)
            print_message("# %s %s: row %zu differs\n", t->name, name, r);
        else
            equal++;
    }
    free(out);
    return equal;
}

static void every_type_gives_the_reference_bytes(void **state)
{
    const struct fixture *f = *state;
    int modes = 0;
    bool all = true;
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        const json_t *entry = json_object_get(json_object_get(f->root, "types"), t->name);
        const char *const names[] = {"plain", "imatrix"};
        for (int m = 0; t->quantizes && m < 2; m++) {
            if (!json_object_get(entry, names[m]))
                continue;
            all &= equal_rows(f, t, names[m]) == ROWS - 1;
            modes++;
        }
    }
    assert_true(all);
    assert_int_equal(modes, 40); /* 25 types, 15 of which also with the other mode */
}

/* The rows of tests/data/quant/digests.py: sums of four uniforms, by row all positive, mostly zero,
 * in steps, or with outliers, in sizes from 2^-12 to 2^-27 of 16 bits. */
static float made_value(uint64_t u, size_t row, size_t col)
{
    int s = (int)(u & 0xffff) + (int)(u >> 16 & 0xffff) + (int)(u >> 32 & 0xffff) + (int)(u >> 48) -
            2 * 0xffff;
    switch (row % 8) {
    case 4:
        s = abs(s);
        break;
    case 5:
        s = u % 16 == 0 ? s : 0;
        break;
    case 6:
        s = (int)floor(s / 8192.0) * 8192;
        break;
    case 7:
        s = col % 61 == 0 ? s * 16 : s;
        break;
    }
    return ldexpf((float)s, -(12 + (int)(row % 16)));
}

enum { MADE_ROWS = 128, MADE_COLS = 1024 };

/* Whether the bytes are the reference's, or there is no such mode. */
static bool digest_is_right(const json_t *modes, const char *name, enum ks_type type,
                            const float *x, const float *importance)
{
    const json_t *want = json_object_get(modes, name);
    if (!want)
        return true;
    uint64_t row_bytes;
    assert_true(ks_type_row_bytes(type, MADE_COLS, &row_bytes));
    uint8_t *out = malloc(MADE_ROWS * row_bytes);
    assert_non_null(out);
    encode(type, x, MADE_ROWS, MADE_COLS, importance, out);
    char hex[65];
    sha256_hex(out, MADE_ROWS * row_bytes, hex);
    free(out);
    bool right = strcmp(hex, json_string_value(want)) == 0;
    if (!right)
        print_message("# %s %s: other bytes\n", ks_type_info((uint32_t)type)->name, name);
    return right;
}

static void many_made_rows_give_the_reference_bytes(void **state)
{
    (void)state;
    float *x = malloc(MADE_ROWS * MADE_COLS * sizeof *x), importance[MADE_COLS];
    assert_non_null(x);
    uint64_t seed = 2026;
    for (size_t r = 0; r < MADE_ROWS; r++)
        for (size_t c = 0; c < MADE_COLS; c++)
            x[r * MADE_COLS + c] = made_value(ks_random_next(&seed), r, c);
    for (int c = 0; c < MADE_COLS; c++)
        importance[c] = (float)(7919 * c % 97 + 1) / 64;
    json_error_t why;
    json_t *root = json_load_file(test_data("quant/digests.json"), 0, &why), *modes;
    assert_non_null(root);
    const char *name;
    bool all = true;
    assert_int_equal(json_object_size(root), 23);
    json_object_foreach(root, name, modes)
    {
        enum ks_type type = ks_type_named(name)->type;
        all &= digest_is_right(modes, "plain", type, x, NULL);
        all &= digest_is_right(modes, "imatrix", type, x, importance);
    }
    assert_true(all);
    json_decref(root);
    free(x);
}

/* Root of the summed squares over n, of 0.1 + 2 cos(i), as ggml's own test takes it. */
static double error_of(enum ks_type type, const float *x, const float *importance, size_t n)
{
    uint64_t bytes;
    assert_true(ks_type_row_bytes(type, n, &bytes));
    uint8_t *q = malloc(bytes);
    float *y = malloc(n * sizeof *y);
    assert_non_null(q);
    assert_non_null(y);
    encode(type, x, 1, n, importance, q);
    ks_decode_row(type, q, y, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
    free(q);
    free(y);
    return sqrt(sum) / (double)n;
}

/* As ggml's own test sets them; IQ1 and IQ2_XXS, IQ2_XS are too coarse for any. */
static double error_limit(enum ks_type type)
{
    switch (type) {
    case KS_Q2_K:
    case KS_IQ2_S:
        return 0.0075;
    case KS_Q3_K:
    case KS_IQ3_S:
        return 0.004;
    case KS_IQ3_XXS:
        return 0.005;
    case KS_TQ1_0:
    case KS_TQ2_0:
        return 0.01;
    case KS_NVFP4:
        return 0.003;
    case KS_IQ1_S:
    case KS_IQ1_M:
    case KS_IQ2_XXS:
    case KS_IQ2_XS:
        return 0.02;
    default:
        return 0.002;
    }
}

static void errors_stay_below_each_type_s_limit(void **state)
{
    (void)state;
    enum { N = 4096 };
    static float x[N], even[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(0.1 + 2 * cos(i));
        even[i] = 1;
    }
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        if (!t->quantizes)
            continue;
        double limit = error_limit(t->type);
        if (t->weighing != KS_MUST_BE_WEIGHED)
            assert_true(error_of(t->type, x, NULL, N) < limit);
        assert_true(error_of(t->type, x, even, N) < limit);
    }
}

/* A row's bytes are its own: not a matter of the rows around it, of where it is written, or of how
 * many blocks share a search. */
static void a_row_has_the_same_bytes_alone_and_among_others(void **state)
{
    const struct fixture *f = *state;
    enum { R = 3, C = 1280, BYTES = R * C * sizeof(float) };
    static uint8_t many[BYTES + 1], one[BYTES];
    static float importance[C];
    for (int i = 0; i < C; i++)
        importance[i] = f->importance[i % COLS];
    for (uint32_t i = 0; ks_type_at(i); i++) {
        const struct ks_type_info *t = ks_type_at(i);
        if (!t->quantizes)
            continue;
        size_t cols = t->block_elems < 256 ? 5 * 64 : C;
        uint64_t row_bytes;
        assert_true(ks_type_row_bytes(t->type, cols, &row_bytes));
        for (int weighed = t->weighing == KS_MUST_BE_WEIGHED; weighed < 2; weighed++) {
            const float *w = weighed ? importance : NULL;
            encode(t->type, f->input, R, cols, w, many + 1);
            for (size_t r = 0; r < R; r++) {
                encode(t->type, f->input + r * cols, 1, cols, w, one);
                assert_memory_equal(one, many + 1 + r * row_bytes, row_bytes);
            }
        }
    }
}

/* Nothing finite may be undefined behaviour; the sanitizers watch. */
static void any_finite_input_is_encoded(void **state)
{
    (void)state;
    const float sizes[] = {1e-45f, 1e-40f,   1.2e-38f, 1e-30f, 1e-15f,
                           1.0f,   65504.0f, 1e30f,    3.4e38f};
    enum { N = 256, SIZES = sizeof sizes / sizeof *sizes };
    static float x[N], importance[N];
    static uint8_t out[N * sizeof(float)];
    uint64_t seed = 7;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < N; i++) {
            uint64_t r = ks_random_next(&seed);
            float size = round < SIZES ? sizes[round] : sizes[r % SIZES];
            x[i] = r >> 20 & 1 ? size : r >> 21 & 1 ? -size : 0.0f;
            importance[i] = r >> 30 & 3 ? sizes[(r >> 40) % 6] : 0.0f;
        }
        for (uint32_t i = 0; ks_type_at(i); i++) {
            if (!ks_type_at(i)->quantizes)
                continue;
            if (ks_type_at(i)->weighing != KS_MUST_BE_WEIGHED)
                encode(ks_type_at(i)->type, x, 1, N, NULL, out);
            encode(ks_type_at(i)->type, x, 1, N, importance, out);
        }
    }
}

/* With an extreme of 127 the scale is 1, and what is stored is the rounding itself. */
static void q8_0_rounds_to_nearest_with_halves_away_from_zero(void **state)
{
    (void)state;
    float x[32] = {127.0f};
    for (int step = -127 * 8; step <= 127 * 8; step++) {
        float exact = (float)step / 8, down = nextafterf(exact, -1e9f),
              up = nextafterf(exact, 1e9f);
        const float near[3] = {exact, fmaxf(down, -127.0f), fminf(up, 127.0f)};
        memcpy(x + 1, near, sizeof near);
        uint8_t block[34];
        encode(KS_Q8_0, x, 1, 32, NULL, block);
        for (int k = 0; k < 3; k++)
            assert_int_equal((int8_t)block[3 + k], (int)roundf(near[k]));
    }
}

/* The exponent of a block is cut from a logarithm that was rounded to a float first, which tells
 * just below powers of two; the C library's is what the reference calls. */
static void mxfp4_exponents_are_those_of_rounded_logarithms(void **state)
{
    (void)state;
    for (int power = -120; power <= 127; power++)
        for (int units = -2; units < 100; units++) {
            float x[32] = {ldexpf(1 - (float)units * 0x1p-24f, power)};
            uint8_t block[17];
            encode(KS_MXFP4, x, 1, 32, NULL, block);
            assert_int_equal(block[0], (int)floorf(log2f(x[0])) - 2 + 127);
        }
}

static void zeros_decode_to_zeros(void **state)
{
    (void)state;
    static const float x[256];
    static float even[256], y[256];
    static uint8_t out[sizeof x];
    for (int i = 0; i < 256; i++)
        even[i] = 1;
    for (uint32_t i = 0; ks_type_at(i); i++) {
        if (!ks_type_at(i)->quantizes)
            continue;
        for (int weighed = ks_type_at(i)->weighing == KS_MUST_BE_WEIGHED; weighed < 2; weighed++) {
            encode(ks_type_at(i)->type, x, 1, 256, weighed ? even : NULL, out);
            ks_decode_row(ks_type_at(i)->type, out, y, 256);
            for (int k = 0; k < 256; k++)
                assert_true(y[k] == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_gives_the_reference_bytes),
        cmocka_unit_test(many_made_rows_give_the_reference_bytes),
        cmocka_unit_test(errors_stay_below_each_type_s_limit),
        cmocka_unit_test(a_row_has_the_same_bytes_alone_and_among_others),
        cmocka_unit_test(any_finite_input_is_encoded),
        cmocka_unit_test(q8_0_rounds_to_nearest_with_halves_away_from_zero),
        cmocka_unit_test(mxfp4_exponents_are_those_of_rounded_logarithms),
        cmocka_unit_test(zeros_decode_to_zeros),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
