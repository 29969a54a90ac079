/*
 * Special tokens: the ids that the metadata names, and the flags that decide which tokens are
 * recognised in text before anything else looks at it.
 *
 * Files are often wrong about types, so llama.cpp corrects them by the tokens' texts. Ids can only
 * equal its ids when the same corrections are made; they are the tables below.
 */
#include <stdio.h>
#include <strings.h>

#include "engine/text/vocab/vocab.h"

/* ------------------------------------------------------------------ ids and switches */

static int get_id(const struct ks_gguf *g, const char *key, size_t n, int32_t otherwise,
                  int32_t *out, struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    *out = otherwise >= 0 && (size_t)otherwise < n ? otherwise : -1;
    if (!v)
        return 0;
    if (v->type == KS_GGUF_STRING || v->type == KS_GGUF_ARRAY || v->type == KS_GGUF_F32 ||
        v->type == KS_GGUF_F64 || v->type == KS_GGUF_BOOL)
        return ks_fail(err, KS_BAD_INPUT, "%s is not a whole number", key);
    if (v->u >= n)
        return ks_fail(err, KS_BAD_INPUT, "%s is %lld, but there are %zu tokens", key,
                       (long long)v->i, n);
    *out = (int32_t)v->u;
    return 0;
}

static int get_switch(const struct ks_gguf *g, const char *key, bool *out, struct ks_error *err)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, key);
    if (v && v->type != KS_GGUF_BOOL)
        return ks_fail(err, KS_BAD_INPUT, "%s is not true or false", key);
    if (v)
        *out = v->u != 0;
    return 0;
}

static int load_ids(struct ks_vocab *v, const struct ks_gguf *g, struct ks_error *err)
{
    static const int32_t defaults[][3] = {[KS_VOCAB_BPE] = {11, 11, -1},
                                          [KS_VOCAB_SPM] = {1, 2, 0},
                                          [KS_VOCAB_GEMMA4] = {-1, -1, -1}};
    const int32_t *d = defaults[v->model];
    bool no_bos = v->pre && v->pre->flags & KS_PRE_NO_BOS;
    if (get_id(g, "tokenizer.ggml.bos_token_id", v->n, no_bos ? -1 : d[0], &v->bos, err) ||
        get_id(g, "tokenizer.ggml.eos_token_id", v->n, d[1], &v->eos, err) ||
        get_id(g, "tokenizer.ggml.unknown_token_id", v->n, d[2], &v->unk, err))
        return -1;
    v->add_bos = !v->pre || v->pre->flags & KS_PRE_ADDS_BOS;
    v->add_space_prefix = !v->pre;
    if (get_switch(g, "tokenizer.ggml.add_bos_token", &v->add_bos, err) ||
        get_switch(g, "tokenizer.ggml.add_eos_token", &v->add_eos, err) ||
        get_switch(g, "tokenizer.ggml.add_space_prefix", &v->add_space_prefix, err))
        return -1;
    v->add_bos |= v->pre && v->pre->flags & KS_PRE_FORCES_BOS;
    if (v->add_bos && v->bos < 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "the vocabulary wants a BOS, but tokenizer.ggml.bos_token_id is missing");
    if (v->add_eos && v->eos < 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "the vocabulary wants an EOS, but tokenizer.ggml.eos_token_id is missing");
    return 0;
}

/* ------------------------------------------------------------------ corrections by text */

static int32_t find_text(const struct ks_index *texts, const char *text)
{
    return ks_index_find(texts, text, strlen(text));
}

/* Ends of generation are control tokens, whatever their type says. */
static void mark_ends(struct ks_vocab *v, const struct ks_index *texts)
{
    static const char *const ends[] = {
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "</s>",
        "<|eom_id|>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "[EOS]",
        "<|end_of_text|>",
        "<eos>",
        "<end_of_utterance>",
        "<turn|>",
        "<|tool_response>",
        "[e~[",
        "<\xEF\xBD\x9C"
        "end" KS_SPACE_MARK "of" KS_SPACE_MARK "sentence\xEF\xBD\x9C>",
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        int32_t id = find_text(texts, ends[i]);
        if (id >= 0)
            v->flags[id] |= KS_TOKEN_IS_CONTROL;
    }
}

/* Fill-in-the-middle marks: where the metadata names none, the first of these in the vocabulary is
 * a control token. */
static void mark_infills(struct ks_vocab *v, const struct ks_gguf *g, const struct ks_index *texts)
{
#define BAR "\xEF\xBD\x9C"
    static const struct {
        const char *keys[2];
        const char *texts[9];
    } infills[] = {
        {{"fim_pre_token_id", "prefix_token_id"},
         {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
          "<" BAR "fim" KS_SPACE_MARK "begin" BAR ">", "<PRE>", KS_SPACE_MARK "<PRE>",
          "<|code_prefix|>", "<|prefix|>"}},
        {{"fim_suf_token_id", "suffix_token_id"},
         {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
          "<" BAR "fim" KS_SPACE_MARK "hole" BAR ">", "<SUF>", KS_SPACE_MARK "<SUF>",
          "<|code_suffix|>", "<|suffix|>"}},
        {{"fim_mid_token_id", "middle_token_id"},
         {"<|fim_middle|>", "<fim-middle>", "<fim_middle>",
          "<" BAR "fim" KS_SPACE_MARK "end" BAR ">", "<MID>", KS_SPACE_MARK "<MID>",
          "<|code_middle|>", "<|middle|>"}},
        {{"fim_pad_token_id"}, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
        {{"fim_rep_token_id"},
         {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
        {{"fim_sep_token_id"}, {"<|file_sep|>"}},
    };
#undef BAR
    for (size_t i = 0; i < sizeof infills / sizeof infills[0]; i++) {
        bool named = false;
        int32_t first = -1;
        for (size_t k = 0; k < 2 && infills[i].keys[k]; k++) {
            char key[64];
            snprintf(key, sizeof key, "tokenizer.ggml.%s", infills[i].keys[k]);
            named |= ks_gguf_find(g, key) != NULL;
        }
        for (size_t k = 0; infills[i].texts[k]; k++) {
            int32_t id = find_text(texts, infills[i].texts[k]);
            if (id >= 0 && (first < 0 || id < first))
                first = id;
        }
        if (!named && first >= 0)
            v->flags[first] |= KS_TOKEN_IS_CONTROL;
    }
}

/* Harmony's and Gemma 4's exceptions. */
static void mark_exceptions(struct ks_vocab *v, const struct ks_index *texts)
{
    static const char *const visible[] = {"<|channel|>", "<|message|>", "<|start|>",
                                          "<|constrain|>"};
    for (size_t i = 0; i < sizeof visible / sizeof visible[0]; i++) {
        int32_t id = find_text(texts, visible[i]);
        if (id >= 0)
            v->flags[id] = KS_TOKEN_IS_USER_DEFINED;
    }
    int32_t end = find_text(texts, "<|end|>"), s = find_text(texts, "</s>");
    bool calls = find_text(texts, "<|call|>") >= 0 || find_text(texts, "<|calls|>") >= 0;
    bool returns = find_text(texts, "<|return|>") >= 0 || find_text(texts, "<|flush|>") >= 0;
    if (end >= 0 && calls && returns)
        v->flags[end] = KS_TOKEN_IS_USER_DEFINED;
    if (s >= 0 && find_text(texts, "<|tool_response>") >= 0)
        v->flags[s] = 0;
}

static bool is_phi3(const struct ks_gguf *g)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, "general.name");
    if (!v || v->type != KS_GGUF_STRING)
        return false;
    for (size_t i = 0; i + 4 <= v->s.len; i++) {
        if (strncasecmp(v->s.bytes + i, "phi3", 4) == 0 ||
            (i + 5 <= v->s.len && strncasecmp(v->s.bytes + i, "phi-3", 5) == 0))
            return true;
    }
    return false;
}

/* Phi-3's special tokens take the white space behind them along; GGUF has no field for that. */
static void mark_space_eaters(struct ks_vocab *v, const struct ks_index *texts)
{
    static const char *const others[] = {"<unk>", "<s>", "<|endoftext|>"};
    for (size_t i = 0; i < v->n; i++) {
        if (v->flags[i])
            v->flags[i] |= KS_TOKEN_EATS_SPACE;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        int32_t id = find_text(texts, others[i]);
        if (id >= 0)
            v->flags[id] &= (uint8_t)~KS_TOKEN_EATS_SPACE;
    }
}

int ks_vocab_load_specials(struct ks_vocab *v, const struct ks_gguf *g,
                           const struct ks_index *texts, struct ks_error *err)
{
    if (load_ids(v, g, err))
        return -1;
    for (size_t i = 0; i < v->n; i++) {
        if (v->types[i] == KS_TOKEN_CONTROL || v->types[i] == KS_TOKEN_UNKNOWN)
            v->flags[i] = KS_TOKEN_IS_CONTROL;
        else if (v->types[i] == KS_TOKEN_USER_DEFINED)
            v->flags[i] = KS_TOKEN_IS_USER_DEFINED;
    }
    mark_ends(v, texts);
    mark_infills(v, g, texts);
    mark_exceptions(v, texts);
    if (is_phi3(g))
        mark_space_eaters(v, texts);
    return 0;
}
