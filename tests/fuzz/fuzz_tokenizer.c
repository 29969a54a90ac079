/*
 * Any bytes as a vocabulary: refused with a reason, or a tokenizer that keeps its promises on any
 * text. The text is the file's own bytes.
 */

#include "engine/gguf/parse.h"
#include "engine/text/tokenizer.h"
#include "tests/fuzz/target.h"

static void tokenize(const struct ks_tokenizer *t, const uint8_t *bytes, size_t len)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        struct ks_tokens out = {0};
        struct ks_error err = {0};
        if (ks_tokenize(t, (const char *)bytes, len, flags, &out, &err))
            abort();
        for (size_t i = 0; i < out.n; i++) {
            if (out.ids[i] < 0 || (size_t)out.ids[i] >= ks_tokenizer_vocab(t))
                abort();
            if (!ks_token_bytes(t, out.ids[i]).bytes)
                abort();
        }
        ks_tokens_finish(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ks_error err = {0};
    struct ks_gguf *g = ks_gguf_open_memory("fuzz.gguf", bytes, len, &err);
    if (!g)
        return 0;
    err.code = KS_OK;
    struct ks_tokenizer *t = ks_tokenizer_create(g, NULL, &err);
    if (t)
        tokenize(t, bytes, len);
    else if (err.code != KS_BAD_INPUT && err.code != KS_UNSUPPORTED)
        abort();
    ks_chat_family(g);
    ks_tokenizer_destroy(t);
    ks_gguf_close(g);
    return 0;
}
