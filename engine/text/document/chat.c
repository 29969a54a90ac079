#include "engine/text/document/chat.h"

#include <string.h>

#include "engine/text/tokenizer.h"

static bool contains(struct ks_str s, const char *part)
{
    return memmem(s.bytes, s.len, part, strlen(part)) != NULL;
}

/*
 * A template is a program; what it writes shows in the marks it holds. <|im_sep|> is Phi-4's, which
 * has ChatML's other marks but no newline behind the role.
 */
const char *ks_chat_family(const struct ks_gguf *g)
{
    const struct ks_gguf_value *v = ks_gguf_find(g, "tokenizer.chat_template");
    if (!v || v->type != KS_GGUF_STRING)
        return NULL;
    if (contains(v->s, "<|im_start|>") && contains(v->s, "<|im_end|>") &&
        !contains(v->s, "<|im_sep|>"))
        return "chatml";
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
