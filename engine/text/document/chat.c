#include "engine/text/document/chat.h"

#include <string.h>

#include "engine/text/tokenizer.h"

static bool contains(struct ks_str s, const char *part)
{
    return memmem(s.bytes, s.len, part, strlen(part)) != NULL;
}

/*
 * A template is a program; what it writes shows in the marks that it holds. A family's marks all
 * stand in its template; the first family whose marks do is it, so that one with more of its own
 * stands before those that it is like.
 */
static const struct {
    const char *family;
    const char *marks[3], *never[2];
} families[] = {
    {"harmony", {"<|start|>", "<|channel|>", "<|return|>"}, {NULL}},
    {"granite", {"<|start_of_role|>", "<|end_of_role|>"}, {NULL}},
    {"llama3.1", {"<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date"}, {NULL}},
    {"llama3", {"<|start_header_id|>", "<|eot_id|>"}, {"<|python_tag|>", ">>>"}},
    {"gemma4", {"<|turn>", "<turn|>"}, {NULL}},
    {"gemma", {"<start_of_turn>", "<end_of_turn>"}, {NULL}},
    {"mistral-v7", {"[SYSTEM_PROMPT] ", "[INST] "}, {NULL}},
    {"mistral-v7-tekken", {"[SYSTEM_PROMPT]", "[INST]"}, {NULL}},
    {"mistral-v1", {"[INST] ", " [/INST]"}, {"<<SYS>>", "[AVAILABLE_TOOLS]"}},
    {"mistral-v3", {"[INST] ", "[/INST]"}, {"<<SYS>>"}},
    {"mistral-tekken", {"[INST]", "[/INST]"}, {"<<SYS>>"}},
    {"phi4", {"<|im_start|>", "<|im_sep|>"}, {NULL}},
    {"phi3", {"<|user|>", "<|assistant|>", "<|end|>"}, {"[BEGIN FINAL RESPONSE]"}},
    {"phi4-mini", {"message['role'] + '|>' + message['content']", "<|end|>"}, {NULL}},
    {"smollm3", {"<|im_start|>", "Reasoning Mode: ", "Today Date: "}, {NULL}},
    {"qwen3.5", {"</think>", "<function=", "<|vision_start|>"}, {NULL}},
    {"qwen3", {"<|im_start|>", "</think>", "last_query_index"}, {"<function="}},
    {"chatml", {"<|im_start|>", "<|im_end|>"}, {"Reasoning Mode: ", "</think>"}},
};

static bool holds(struct ks_str template, const char *const *marks, size_t n, bool all)
{
    for (size_t i = 0; i < n && marks[i]; i++) {
        if (contains(template, marks[i]) != all)
            return !all;
    }
    return all;
}

const char *ks_chat_family(const struct ks_gguf *g)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, "tokenizer.chat_template");
    if (!v || v->type != KS_GGUF_STRING)
        return NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (holds(v->s, families[i].marks, 3, true) && !holds(v->s, families[i].never, 2, false))
            return families[i].family;
    }
    return NULL;
}

bool ks_chat_known(const char *family)
{
    return family && strcmp(family, "chatml") == 0;
}

int ks_chat_render(const char *family, const struct ks_message *messages, size_t n,
                   struct ks_buf *out, struct ks_span *spans, struct ks_error *err)
{
    if (!ks_chat_known(family))
        return ks_fail(err, KS_INTERNAL, "the chat format \"%s\" is not known", family);
    for (size_t i = 0; i < n; i++) {
        if (ks_buf_printf(out, err, "<|im_start|>%s\n", messages[i].role))
            return -1;
        size_t start = out->len;
        if (ks_buf_printf(out, err, "%s<|im_end|>", messages[i].content))
            return -1;
        if (spans)
            spans[i] = (struct ks_span){start, out->len};
        if (ks_buf_put(out, "\n", 1, err))
            return -1;
    }
    return 0;
}
