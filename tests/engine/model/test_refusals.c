/*
 * Each row breaks a good model in one way; the refusal must come, name the file and say the words.
 */
#include "tests/engine/model/samples.h"

#include <math.h>

#include "tests/engine/model/edit.h"

#define U32(key, value)                                                                            \
    {                                                                                              \
        EDIT_SET_U32, .name = (key), .u = (value)                                                  \
    }
#define F32(key, value)                                                                            \
    {                                                                                              \
        EDIT_SET_F32, .name = (key), .f = (value)                                                  \
    }
#define STRING(key, value)                                                                         \
    {                                                                                              \
        EDIT_SET_STRING, .name = (key), .text = (value)                                            \
    }
#define NO_KEY(key)                                                                                \
    {                                                                                              \
        EDIT_DROP_KEY, .name = (key)                                                               \
    }
#define NO_TENSOR(tensor)                                                                          \
    {                                                                                              \
        EDIT_DROP_TENSOR, .name = (tensor)                                                         \
    }
#define VECTOR(tensor, n, v)                                                                       \
    {                                                                                              \
        EDIT_ADD_VECTOR, .name = (tensor), .u = (n), .f = (v)                                      \
    }
#define SHAPE(tensor, c, r)                                                                        \
    {                                                                                              \
        EDIT_RESHAPE, .name = (tensor), .u = (c), .rows = (r)                                      \
    }
#define NAME(tensor, to)                                                                           \
    {                                                                                              \
        EDIT_RENAME_TENSOR, .name = (tensor), .text = (to)                                         \
    }

struct refusal {
    enum ks_code code;
    struct edit edits[3];
    const char *words[6];
};

static const struct refusal refusals[] = {
    /* what is no model, and the architecture */
    {KS_UNSUPPORTED,
     {STRING("general.type", "adapter"), NO_KEY("llama.block_count")},
     {"general.type is \"adapter\"", "no model"}},
    {KS_BAD_INPUT, {U32("general.type", 1)}, {"general.type"}},
    {KS_BAD_INPUT, {NO_KEY("general.architecture")}, {"general.architecture", "missing"}},
    {KS_UNSUPPORTED,
     {STRING("general.architecture", "mamba")},
     {"general.architecture", "\"mamba\"", "knows llama"}},
    {KS_BAD_INPUT, {U32("general.architecture", 3)}, {"general.architecture"}},
    {KS_BAD_INPUT, {U32("llama.expert_count", 8)}, {"llama.expert_used_count is 0", "1..8"}},

    /* numbers missing, of a wrong type or out of range */
    {KS_BAD_INPUT, {NO_KEY("llama.block_count")}, {"llama.block_count", "missing"}},
    {KS_BAD_INPUT, {NO_KEY("llama.context_length")}, {"llama.context_length", "missing"}},
    {KS_BAD_INPUT, {NO_KEY("llama.embedding_length")}, {"llama.embedding_length", "missing"}},
    {KS_BAD_INPUT, {NO_KEY("llama.feed_forward_length")}, {"llama.feed_forward_length", "missing"}},
    {KS_BAD_INPUT,
     {NO_KEY("llama.attention.head_count")},
     {"llama.attention.head_count", "missing"}},
    {KS_BAD_INPUT,
     {NO_KEY("llama.attention.layer_norm_rms_epsilon")},
     {"llama.attention.layer_norm_rms_epsilon", "missing"}},
    {KS_BAD_INPUT, {STRING("llama.block_count", "two")}, {"llama.block_count"}},
    {KS_BAD_INPUT, {U32("llama.block_count", 0)}, {"llama.block_count is 0"}},
    {KS_BAD_INPUT, {U32("llama.block_count", 4000000000u)}, {"llama.block_count is 4000000000"}},
    {KS_BAD_INPUT, {U32("llama.context_length", 0)}, {"llama.context_length is 0"}},
    {KS_BAD_INPUT, {U32("llama.embedding_length", 0)}, {"llama.embedding_length is 0"}},
    {KS_BAD_INPUT, {U32("llama.embedding_length", 2000000)}, {"llama.embedding_length", "1048576"}},
    {KS_BAD_INPUT, {U32("llama.feed_forward_length", 0)}, {"llama.feed_forward_length is 0"}},
    {KS_BAD_INPUT, {U32("llama.attention.head_count", 0)}, {"llama.attention.head_count is 0"}},
    {KS_BAD_INPUT,
     {U32("llama.attention.head_count_kv", 0)},
     {"llama.attention.head_count_kv is 0"}},
    {KS_BAD_INPUT, {U32("llama.attention.key_length", 0)}, {"llama.attention.key_length is 0"}},
    {KS_BAD_INPUT,
     {U32("llama.attention.value_length", 100000)},
     {"llama.attention.value_length is 100000"}},
    {KS_BAD_INPUT,
     {F32("llama.attention.layer_norm_rms_epsilon", NAN)},
     {"llama.attention.layer_norm_rms_epsilon is nan"}},
    {KS_BAD_INPUT,
     {F32("llama.attention.layer_norm_rms_epsilon", -1e-5f)},
     {"llama.attention.layer_norm_rms_epsilon is -1e-05"}},
    {KS_BAD_INPUT, {F32("llama.rope.freq_base", INFINITY)}, {"llama.rope.freq_base is inf"}},
    {KS_BAD_INPUT, {F32("llama.rope.freq_base", 0.5f)}, {"llama.rope.freq_base is 0.5"}},
    {KS_BAD_INPUT, {F32("llama.rope.scaling.factor", -4)}, {"llama.rope.scaling.factor is -4"}},
    {KS_BAD_INPUT, {F32("llama.rope.scaling.factor", NAN)}, {"llama.rope.scaling.factor is nan"}},

    /* options of other architectures, and of none */
    {KS_UNSUPPORTED,
     {U32("llama.attention.sliding_window", 16)},
     {"key llama.attention.sliding_window", "architecture llama"}},
    {KS_UNSUPPORTED, {F32("llama.residual_scale", 0.5f)}, {"key llama.residual_scale"}},
    {KS_UNSUPPORTED, {STRING("llama.attention.kind", "new")}, {"key llama.attention.kind"}},
    {KS_UNSUPPORTED,
     {F32("llama.attention.layer_norm_epsilon", 1e-5f)},
     {"key llama.attention.layer_norm_epsilon"}},

    {KS_UNSUPPORTED,
     {{EDIT_SET_FALSE, .name = "llama.attention.causal"}},
     {"llama.attention.causal is false"}},

    /* numbers that do not go together */
    {KS_BAD_INPUT,
     {U32("llama.attention.head_count_kv", 3)},
     {"llama.attention.head_count (4)", "llama.attention.head_count_kv (3)"}},
    {KS_BAD_INPUT,
     {NO_KEY("llama.attention.key_length"), U32("llama.attention.head_count", 6)},
     {"llama.embedding_length (64)", "llama.attention.head_count (6)", "key_length"}},
    {KS_BAD_INPUT, {U32("llama.rope.dimension_count", 7)}, {"llama.rope.dimension_count is 7"}},
    {KS_BAD_INPUT, {U32("llama.rope.dimension_count", 0)}, {"llama.rope.dimension_count is 0"}},
    {KS_BAD_INPUT,
     {U32("llama.rope.dimension_count", 32)},
     {"llama.rope.dimension_count is 32", "16"}},
    {KS_UNSUPPORTED,
     {STRING("llama.rope.scaling.type", "ntk")},
     {"llama.rope.scaling.type", "\"ntk\"", "none, linear, yarn, longrope"}},
    {KS_BAD_INPUT,
     {U32("llama.vocab_size", 319)},
     {"llama.vocab_size is 319", "token_embd.weight has 320 rows"}},
    {KS_BAD_INPUT,
     {SHAPE("token_embd.weight", 128, 160)},
     {"tokenizer.ggml.tokens has 320 tokens", "token_embd.weight 160 rows"}},

    /* tensors */
    {KS_BAD_INPUT, {NO_TENSOR("token_embd.weight")}, {"tensor token_embd.weight is missing"}},
    {KS_BAD_INPUT, {NO_TENSOR("output_norm.weight")}, {"tensor output_norm.weight is missing"}},
    {KS_BAD_INPUT, {NO_TENSOR("blk.1.attn_k.weight")}, {"tensor blk.1.attn_k.weight is missing"}},
    {KS_BAD_INPUT, {NO_TENSOR("blk.0.ffn_norm.weight")}, {"tensor blk.0.ffn_norm.weight"}},
    {KS_BAD_INPUT,
     {VECTOR("blk.1.attn_q.bias", 64, 0), VECTOR("blk.1.attn_qkv.bias", 128, 0)},
     {"tensor blk.1.attn_qkv.bias is given twice"}},
    {KS_UNSUPPORTED,
     {VECTOR("blk.1.attn_sinks.weight", 4, 0)},
     {"tensor blk.1.attn_sinks.weight", "no place in architecture llama"}},
    {KS_UNSUPPORTED, {VECTOR("blk.01.attn_q.bias", 64, 0)}, {"tensor blk.01.attn_q.bias"}},
    {KS_BAD_INPUT,
     {VECTOR("blk.2.attn_q.bias", 64, 0)},
     {"tensor blk.2.attn_q.bias", "2 layers", "llama.block_count"}},
    {KS_BAD_INPUT, {U32("llama.block_count", 1)}, {"tensor blk.1.", "beyond the 1 layers"}},
    {KS_BAD_INPUT, {U32("llama.block_count", 3)}, {"tensor blk.2.", "missing"}},
    {KS_BAD_INPUT,
     {SHAPE("blk.0.ffn_down.weight", 64, 80)},
     {"tensor blk.0.ffn_down.weight is 64 x 80", "80 (feed_forward_length)",
      "64 (embedding_length)"}},
    {KS_BAD_INPUT,
     {U32("llama.embedding_length", 32), U32("llama.attention.key_length", 16)},
     {"token_embd.weight", "32 (embedding_length)"}},
    {KS_BAD_INPUT, {U32("llama.attention.head_count", 8)}, {"attn_", "head_count x "}},
    {KS_BAD_INPUT,
     {SHAPE("output_norm.weight", 32, 2)},
     {"tensor output_norm.weight is 32 x 2", "vector of 64 (embedding_length)"}},
    {KS_BAD_INPUT,
     {VECTOR("blk.0.attn_v.bias", 64, 0)},
     {"tensor blk.0.attn_v.bias", "vector of 32 (head_count_kv x value_length)"}},
    {KS_BAD_INPUT,
     {VECTOR("rope_freqs.weight", 16, 1)},
     {"tensor rope_freqs.weight", "vector of 8 (half of rope.dimension_count)"}},
    {KS_BAD_INPUT, {VECTOR("rope_freqs.weight", 8, 0)}, {"rope factor 0 is 0"}},
    {KS_BAD_INPUT, {VECTOR("rope_freqs.weight", 8, NAN)}, {"rope factor 0 is nan"}},
    {KS_UNSUPPORTED,
     {NAME("output_norm.weight", "output_nurm.weight")},
     {"tensor output_nurm.weight"}},
};

static void broken_models_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        struct edit edits[4] = {r->edits[0], r->edits[1], r->edits[2], {EDIT_END}};
        const char *path = edited(sample_path("llama-tied", "gguf"), edits);
        struct ks_error err = {0};
        struct ks_model *m = ks_model_open(path, NULL, NULL, &err);
        if (m)
            fail_msg("row %zu (%s) was opened", i, r->words[0]);
        assert_says(&err, r->words);
        assert_says(&err, (const char *const[]){path, NULL});
        if (err.code != r->code)
            fail_msg("row %zu: code %d of \"%s\"", i, (int)err.code, err.text);
        edit_finish();
    }
}

/* ------------------------------------------------------------------ other families */

struct family_refusal {
    const char *sample;
    struct edit edit;
    enum ks_code code;
    const char *words[4];
};

static const struct family_refusal family_refusals[] = {
    {"qwen3moe",
     {EDIT_SET_U32, .name = "qwen3moe.expert_used_count", .u = 5},
     KS_BAD_INPUT,
     {"qwen3moe.expert_used_count is 5", "1..4"}},
    {"qwen3moe",
     {EDIT_DROP_KEY, .name = "qwen3moe.expert_count"},
     KS_BAD_INPUT,
     {"qwen3moe.expert_count is missing"}},
    {"qwen3moe",
     {EDIT_SET_U32, .name = "qwen3moe.expert_count", .u = 8},
     KS_BAD_INPUT,
     {"_exps.weight", "4 matrices, not 8"}},
    {"qwen3moe",
     {EDIT_SET_U32, .name = "qwen3moe.expert_group_count", .u = 2},
     KS_UNSUPPORTED,
     {"qwen3moe.expert_group_count", "none that this program knows"}},
    {"qwen3moe",
     {EDIT_SET_U32, .name = "qwen3moe.expert_gating_func", .u = 2},
     KS_UNSUPPORTED,
     {"qwen3moe.expert_gating_func is 2"}},
    {"gpt-oss",
     {EDIT_DROP_TENSOR, .name = "blk.1.ffn_down_exps.bias"},
     KS_BAD_INPUT,
     {"blk.1.ffn_down_exps.bias is missing"}},
    {"gpt-oss",
     {EDIT_DROP_TENSOR, .name = "blk.0.attn_sinks.weight"},
     KS_BAD_INPUT,
     {"blk.0.attn_sinks.weight is missing"}},
    {"lfm2",
     {EDIT_DROP_KEY, .name = "lfm2.shortconv.l_cache"},
     KS_BAD_INPUT,
     {"lfm2.shortconv.l_cache is missing"}},
    {"lfm2",
     {EDIT_SET_U32, .name = "lfm2.shortconv.l_cache", .u = 4},
     KS_BAD_INPUT,
     {"shortconv.conv.weight is 3 x 64, not 4"}},
    {"lfm2",
     {EDIT_SET_U32, .name = "lfm2.expert_count", .u = 4},
     KS_UNSUPPORTED,
     {"lfm2.expert_count is 4"}},
    {"gemma4",
     {EDIT_SET_U32, .name = "gemma4.attention.shared_kv_layers", .u = 2},
     KS_UNSUPPORTED,
     {"gemma4.attention.shared_kv_layers", "none that this program knows"}},
    {"gemma4",
     {EDIT_SET_U32, .name = "gemma4.embedding_length_per_layer_input", .u = 16},
     KS_UNSUPPORTED,
     {"gemma4.embedding_length_per_layer_input"}},
    {"gemma4",
     {EDIT_SET_U32, .name = "gemma4.rope.dimension_count_swa", .u = 18},
     KS_BAD_INPUT,
     {"rope.dimension_count_swa is 18", "16 dimensions"}},
    {"qwen35moe",
     {EDIT_SET_U32, .name = "qwen35moe.nextn_predict_layers", .u = 5},
     KS_BAD_INPUT,
     {"nextn_predict_layers (5)", "block_count (5)"}},
    {"qwen35",
     {EDIT_SET_U32, .name = "qwen35.ssm.time_step_rank", .u = 3},
     KS_BAD_INPUT,
     {"time_step_rank (3)", "group_count (2)"}},
    {"qwen35",
     {EDIT_SET_U32, .name = "qwen35.full_attention_interval", .u = 2},
     KS_UNSUPPORTED,
     {"blk.1.", "no place in architecture qwen35"}},
    {"qwen35", {EDIT_DROP_TENSOR, .name = "blk.2.ssm_a"}, KS_BAD_INPUT, {"blk.2.ssm_a is missing"}},
};

static void broken_models_of_other_families_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof family_refusals / sizeof *family_refusals; i++) {
        const struct family_refusal *r = &family_refusals[i];
        const struct edit edits[2] = {r->edit, {EDIT_END}};
        struct ks_error err = {0};
        assert_null(ks_model_open(edited(sample_path(r->sample, "gguf"), edits), NULL, NULL, &err));
        if (err.code != r->code)
            fail_msg("code %d: %s", err.code, err.text);
        assert_says(&err, r->words);
        edit_finish();
    }
}

static void other_numbers_that_files_hold_are_accepted(void **state)
{
    (void)state;
    static const struct edit accepted[][3] = {
        {NO_KEY("llama.attention.key_length"), NO_KEY("llama.attention.value_length")},
        {NO_KEY("llama.rope.freq_base"), NO_KEY("llama.rope.dimension_count")},
        {F32("llama.rope.scaling.factor", 0)},
        {F32("llama.rope.scale_linear", 2)},
        {STRING("llama.rope.scaling.type", "none"), F32("llama.rope.scaling.factor", 8)},
        {NO_KEY("llama.vocab_size"), NO_KEY("tokenizer.ggml.tokens")},
        {U32("llama.expert_count", 0)},
        {F32("llama.attention.layer_norm_rms_epsilon", 0)},
        {U32("llama.rope.dimension_count", 8)},
        {{EDIT_SET_FALSE, .name = "llama.rope.scaling.finetuned"}},
        {U32("llama.attention.sliding_window", 0), F32("llama.attention.clamp_kqv", 0)},
        {STRING("llama.tensor_data_layout", "Meta AI original pth"), U32("other.option", 1)},
    };
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct edit edits[4] = {accepted[i][0], accepted[i][1], accepted[i][2], {EDIT_END}};
        ks_model_unref(open_model(edited(sample_path("llama-tied", "gguf"), edits), NULL));
        edit_finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_models_are_refused_by_name),
        cmocka_unit_test(broken_models_of_other_families_are_refused_by_name),
        cmocka_unit_test(other_numbers_that_files_hold_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
