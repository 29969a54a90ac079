#include "tests/testing.h"

#include <jansson.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/quant/mix/rules.h"

static int load(void **state)
{
    json_error_t why;
    *state = json_load_file(test_data("quant/types.json"), 0, &why);
    return *state ? 0 : -1;
}

static int unload(void **state)
{
    json_decref(*state);
    return 0;
}

/* ------------------------------------------------------------------ shapes of the file */

struct shape {
    struct ks_mix_model model;
    struct ks_mix_tensor *tensors;
    size_t n;
};

static uint32_t number(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    assert_true(json_is_integer(value));
    return (uint32_t)json_integer_value(value);
}

static void add_tensor(struct shape *s, const char *pattern, uint32_t layer, const json_t *dims)
{
    enum { MOST = 2000 };
    assert_true(s->n < MOST);
    if (!s->tensors)
        s->tensors = malloc(MOST * sizeof *s->tensors);
    assert_non_null(s->tensors);
    struct ks_mix_tensor *t = &s->tensors[s->n++];
    char *name = malloc(strlen(pattern) + 16);
    assert_non_null(name);
    if (strncmp(pattern, "blk.N.", 6) == 0)
        sprintf(name, "blk.%u.%s", layer, pattern + 6);
    else
        strcpy(name, pattern);
    *t = (struct ks_mix_tensor){.name = name, .type = KS_F32, .dims = {1, 1, 1, 1}};
    t->n_dims = (uint32_t)json_array_size(dims);
    for (uint32_t i = 0; i < t->n_dims; i++)
        t->dims[i] = (uint64_t)json_integer_value(json_array_get(dims, i));
}

/* "NAME with imatrix" is NAME. */
static struct shape make_shape(const json_t *root, const char *label)
{
    char name[100];
    snprintf(name, sizeof name, "%s", label);
    char *suffix = strstr(name, " with imatrix");
    if (suffix)
        *suffix = '\0';
    json_t *entry = json_object_get(json_object_get(root, "shapes"), name);
    assert_non_null(entry);
    struct shape s = {.model = {
                          .architecture = json_string_value(json_object_get(entry, "arch")),
                          .layers = number(entry, "n_layer"),
                          .heads = number(entry, "n_head"),
                          .kv_heads = number(entry, "n_head_kv"),
                          .experts = number(entry, "n_expert"),
                          .tied = json_is_true(json_object_get(entry, "tied")),
                      }};
    const char *pattern;
    json_t *dims;
    json_object_foreach(json_object_get(entry, "tensors"), pattern, dims)
    {
        uint32_t copies = strncmp(pattern, "blk.N.", 6) == 0 ? s.model.layers : 1;
        /* From the last layer to the first: the order of a file must not matter. */
        for (uint32_t layer = copies; layer-- > 0;)
            add_tensor(&s, pattern, layer, dims);
    }
    return s;
}

static void free_shape(struct shape *s)
{
    for (size_t i = 0; i < s->n; i++)
        free((char *)s->tensors[i].name);
    free(s->tensors);
}

/* ------------------------------------------------------------------ expected types */

/* A type for all layers, or runs [[type, layers], ...] in layer order. */
static const char *type_in_layer(const json_t *entry, int32_t layer)
{
    if (!json_is_array(entry))
        return entry ? json_string_value(entry) : "F32";
    for (size_t i = 0; i < json_array_size(entry); i++) {
        const json_t *run = json_array_get(entry, i);
        layer -= (int32_t)json_integer_value(json_array_get(run, 1));
        if (layer < 0)
            return json_string_value(json_array_get(run, 0));
    }
    return "past the runs";
}

static const char *expected_type(const json_t *types, const char *name)
{
    int32_t layer = ks_mix_layer(name);
    if (layer < 0)
        return type_in_layer(json_object_get(types, name), 0);
    char key[100];
    snprintf(key, sizeof key, "blk.N.%s", strchr(name + 4, '.') + 1);
    return type_in_layer(json_object_get(types, key), layer);
}

/* Returns the number of tensors that differ, and says which. */
static int compare(const char *label, const char *what, const struct shape *s,
                   const enum ks_type *types, const json_t *expected)
{
    int wrong = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *got = ks_type_info((uint32_t)types[i])->name;
        const char *want = expected_type(expected, s->tensors[i].name);
        if (strcmp(got, want) == 0)
            continue;
        print_message("# %s %s: %s is %s, not %s\n", label, what, s->tensors[i].name, got, want);
        wrong++;
    }
    return wrong;
}

static int check_case(const json_t *root, const char *label, const struct ks_mix *mix,
                      const char *what, const json_t *expected)
{
    struct shape s = make_shape(root, label);
    enum ks_type *types = calloc(s.n, sizeof *types);
    struct ks_error err;
    int failed = ks_mix_assign(mix, &s.model, s.tensors, s.n, types, NULL, NULL, &err);
    if (failed)
        print_message("# %s %s: %s\n", label, what, err.text);
    int wrong = failed ? 1 : compare(label, what, &s, types, expected);
    free(types);
    free_shape(&s);
    return wrong;
}

static void every_preset_over_every_shape_gives_llama_quantize_s_types(void **state)
{
    const json_t *root = *state;
    int cases = 0, wrong = 0;
    const char *label, *preset;
    json_t *presets, *expected;
    json_object_foreach(json_object_get(root, "types"), label, presets)
    {
        json_object_foreach(presets, preset, expected)
        {
            struct ks_mix mix = {.preset = preset,
                                 .has_importance = strstr(label, " with imatrix") != NULL};
            wrong += check_case(root, label, &mix, preset, expected);
            cases++;
        }
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(cases, 31 * 32 + 2);
}

/* llama-quantize's arguments as a mix. false for what has no counterpart here. */
static bool read_arguments(const json_t *arguments, bool tied, struct ks_mix *mix,
                           struct ks_mix_override *overrides, char (*text)[100])
{
    mix->overrides = overrides;
    mix->ordered = true;
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *word = json_string_value(json_array_get(arguments, i));
        struct ks_mix_override *o = &overrides[mix->n_overrides];
        if (strcmp(word, "--pure") == 0) {
            mix->pure = true;
            continue;
        }
        if (strcmp(word, "--leave-output-tensor") == 0)
            return false;
        const char *value = json_string_value(json_array_get(arguments, ++i));
        char *copy = text[mix->n_overrides++];
        snprintf(copy, 100, "%s", value);
        if (strcmp(word, "--output-tensor-type") == 0)
            *o = (struct ks_mix_override){"^output\\.weight$", copy};
        else if (strcmp(word, "--token-embedding-type") == 0)
            *o = (struct ks_mix_override){"^token_embd\\.weight$", copy};
        else {
            char *equals = strchr(copy, '=');
            *equals = '\0';
            *o = (struct ks_mix_override){copy, equals + 1};
        }
        /* A tied model has no output.weight; the option then speaks of nothing or the embedding. */
        if (tied && strcmp(word, "--output-tensor-type") == 0)
            mix->n_overrides--;
    }
    return true;
}

static void overrides_give_llama_quantize_s_types(void **state)
{
    const json_t *root = *state;
    int cases = 0, wrong = 0, left_out = 0;
    const char *label;
    json_t *list;
    json_object_foreach(json_object_get(root, "overrides"), label, list)
    {
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i);
            struct ks_mix_override overrides[4];
            char text[4][100];
            struct ks_mix mix = {.preset = json_string_value(json_object_get(one, "preset"))};
            bool tied = strstr(label, "tied") && !strstr(label, "untied");
            if (!read_arguments(json_object_get(one, "arguments"), tied, &mix, overrides, text)) {
                left_out++;
                continue;
            }
            wrong += check_case(root, label, &mix, json_string_value(json_object_get(one, "label")),
                                json_object_get(one, "types"));
            cases++;
        }
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(cases, 36);
    assert_int_equal(left_out, 4);
}

/* Where llama-quantize finds no type for the columns, so do we, naming the tensor. */
static void columns_that_no_type_fits_are_refused(void **state)
{
    const json_t *root = *state;
    int cases = 0;
    const char *label;
    json_t *lines;
    json_object_foreach(json_object_get(root, "errors"), label, lines)
    {
        char shape[100];
        snprintf(shape, sizeof shape, "%s", label);
        char *space = strchr(shape, ' ');
        assert_non_null(space);
        *space = '\0';
        struct shape s = make_shape(root, shape);
        enum ks_type *types = calloc(s.n, sizeof *types);
        struct ks_mix mix = {.preset = space + 1};
        struct ks_error err;
        assert_int_equal(ks_mix_assign(&mix, &s.model, s.tensors, s.n, types, NULL, NULL, &err),
                         -1);
        assert_int_equal(err.code, KS_BAD_INPUT);
        assert_non_null(strstr(err.text, "output.weight"));
        assert_non_null(strstr(err.text, "240 columns"));
        assert_non_null(strstr(err.text, "Q8_0"));
        free(types);
        free_shape(&s);
        cases++;
    }
    assert_int_equal(cases, 30);
}

/* ------------------------------------------------------------------ what can be made here */

static int resolve(const json_t *root, const char *shape, const char *preset, bool has_importance,
                   struct ks_error *err)
{
    struct shape s = make_shape(root, shape);
    enum ks_type *types = malloc(s.n * sizeof *types), *untouched = malloc(s.n * sizeof *types);
    memset(types, 0x55, s.n * sizeof *types);
    memset(untouched, 0x55, s.n * sizeof *types);
    struct ks_mix mix = {.preset = preset, .has_importance = has_importance};
    int failed = ks_mix_resolve(&mix, &s.model, s.tensors, s.n, types, NULL, NULL, err);
    if (failed)
        assert_memory_equal(types, untouched, s.n * sizeof *types);
    free(types);
    free(untouched);
    free_shape(&s);
    return failed;
}

static void every_preset_resolves_with_an_importance_matrix(void **state)
{
    size_t n = 0;
    struct ks_error err;
    for (; ks_preset_name(n); n++) {
        assert_ptr_equal(ks_preset_named(ks_preset_name(n)), ks_preset_name(n));
        assert_int_equal(resolve(*state, "llama-L8-gqa4", ks_preset_name(n), true, &err), 0);
        assert_int_equal(resolve(*state, "llama-L30-576-tied", ks_preset_name(n), true, &err), 0);
    }
    assert_int_equal(n, 33);
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void presets_of_very_few_bits_ask_for_an_importance_matrix(void **state)
{
    static const char *const asking[] = {"Q2_K_S", "IQ3_XS",  "IQ3_XXS", "IQ2_M", "IQ2_S",
                                         "IQ2_XS", "IQ2_XXS", "IQ1_M",   "IQ1_S"};
    const char *preset;
    for (size_t i = 0; (preset = ks_preset_name(i)); i++) {
        struct ks_error err = {0};
        int failed = resolve(*state, "llama-L8-gqa1", preset, false, &err);
        bool asks = is_among(preset, asking, sizeof asking / sizeof *asking);
        assert_int_equal(failed, asks ? -1 : 0);
        if (!asks)
            continue;
        assert_int_equal(err.code, KS_BAD_INPUT);
        assert_non_null(strstr(err.text, "tensor blk."));
        assert_non_null(strstr(err.text, preset));
        assert_non_null(strstr(err.text, "needs an importance matrix"));
    }
}

/* The head and the embedding may do without, but for types that cannot be searched for at all. */
static void a_type_that_cannot_do_without_importance_is_refused_anywhere(void **state)
{
    (void)state;
    struct ks_mix_tensor t = {"token_embd.weight", KS_F16, 2, {256, 256}};
    struct ks_mix_model model = {.architecture = "llama", .layers = 1, .heads = 4, .kv_heads = 4};
    struct ks_mix_override one = {"token_embd", "IQ2_XXS"};
    struct ks_mix mix = {.overrides = &one, .n_overrides = 1};
    struct ks_error err;
    enum ks_type type = KS_F32;
    assert_int_equal(ks_mix_resolve(&mix, &model, &t, 1, &type, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "token_embd.weight would be IQ2_XXS"));
    one.type = "IQ3_XXS";
    assert_int_equal(ks_mix_resolve(&mix, &model, &t, 1, &type, NULL, NULL, &err), 0);
    assert_int_equal(type, KS_IQ3_XXS);
}

static void a_tensor_that_keeps_its_type_need_not_be_made(void **state)
{
    (void)state;
    struct ks_mix_tensor t = {"blk.0.ffn_up.weight", KS_IQ1_S, 2, {256, 256}};
    struct ks_mix_model model = {.architecture = "llama", .layers = 1, .heads = 4, .kv_heads = 4};
    struct ks_mix mix = {.preset = "IQ1_S"};
    struct ks_error err;
    enum ks_type type = KS_F32;
    assert_int_equal(ks_mix_resolve(&mix, &model, &t, 1, &type, NULL, NULL, &err), 0);
    assert_int_equal(type, KS_IQ1_S);
}

static void an_unknown_preset_gets_a_suggestion(void **state)
{
    struct ks_error err;
    assert_int_equal(resolve(*state, "llama-L2-gqa1", "Q4_KM", false, &err), -1);
    assert_non_null(strstr(err.text, "unknown preset `Q4_KM`; did you mean `Q4_K_M`?"));
    assert_int_equal(resolve(*state, "llama-L2-gqa1", "something", false, &err), -1);
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "there are F32, BF16, F16, Q8_0, Q6_K, Q5_K_M"));
}

static void presets_are_found_in_any_case_and_by_short_forms(void **state)
{
    (void)state;
    assert_string_equal(ks_preset_named("q4_k_m"), "Q4_K_M");
    assert_string_equal(ks_preset_named("Q4_K"), "Q4_K_M");
    assert_string_equal(ks_preset_named("bf16"), "BF16");
    assert_null(ks_preset_named("Q4"));
}

static void types_of_the_help_can_be_made(void **state)
{
    (void)state;
    size_t n = 0;
    for (; ks_type_name(n); n++)
        assert_true(ks_type_named(ks_type_name(n))->quantizes);
    assert_int_equal(n, 26);
}

static void vectors_norms_routers_and_small_convolutions_are_left_alone(void **state)
{
    (void)state;
    static const struct ks_mix_tensor kept[] = {
        {"blk.0.attn_norm.weight", KS_F32, 1, {64}},
        {"blk.0.attn_q_norm.weight", KS_F32, 2, {64, 4}},
        {"blk.0.attn_q.bias", KS_F32, 2, {64, 64}},
        {"blk.0.ffn_gate_inp.weight", KS_F32, 2, {64, 8}},
        {"blk.0.shortconv.conv.weight", KS_F32, 2, {3, 64}},
        {"blk.0.ssm_conv1d.weight", KS_F32, 2, {4, 64}},
        {"blk.0.ffn_gate_inp_shexp.weight", KS_F32, 2, {64, 1}},
        {"rope_freqs.weight", KS_F32, 1, {32}},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_false(ks_mix_quantizable(&kept[i]));
    struct ks_mix_tensor experts = {"blk.0.ffn_up_exps.weight", KS_F32, 3, {64, 64, 4}};
    assert_true(ks_mix_quantizable(&experts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_over_every_shape_gives_llama_quantize_s_types),
        cmocka_unit_test(overrides_give_llama_quantize_s_types),
        cmocka_unit_test(columns_that_no_type_fits_are_refused),
        cmocka_unit_test(every_preset_resolves_with_an_importance_matrix),
        cmocka_unit_test(presets_of_very_few_bits_ask_for_an_importance_matrix),
        cmocka_unit_test(a_type_that_cannot_do_without_importance_is_refused_anywhere),
        cmocka_unit_test(a_tensor_that_keeps_its_type_need_not_be_made),
        cmocka_unit_test(an_unknown_preset_gets_a_suggestion),
        cmocka_unit_test(presets_are_found_in_any_case_and_by_short_forms),
        cmocka_unit_test(types_of_the_help_can_be_made),
        cmocka_unit_test(vectors_norms_routers_and_small_convolutions_are_left_alone),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
