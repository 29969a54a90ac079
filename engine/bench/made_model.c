#include "engine/bench/made_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/quant/blocks.h"
#include "engine/quant/type.h"

enum { ALIGNMENT = 32, VALUES = 13, LETTERS = 26 };
enum { TYPE_U32 = 4, TYPE_F32 = 6, TYPE_STRING = 8, TYPE_ARRAY = 9, TYPE_I32 = 5 };

/* Numbers go out as they lie in memory: every host we build for is little-endian. What fails shows
 * when the file is closed. */
static void put(FILE *f, const void *bytes, size_t n)
{
    fwrite(bytes, 1, n, f);
}

static void put_u32(FILE *f, uint32_t v)
{
    put(f, &v, sizeof v);
}

static void put_u64(FILE *f, uint64_t v)
{
    put(f, &v, sizeof v);
}

static void put_text(FILE *f, const char *text)
{
    put_u64(f, strlen(text));
    put(f, text, strlen(text));
}

static void put_key(FILE *f, const char *key, uint32_t type)
{
    put_text(f, key);
    put_u32(f, type);
}

static void put_number(FILE *f, const char *key, uint32_t v)
{
    put_key(f, key, TYPE_U32);
    put_u32(f, v);
}

static void put_name(FILE *f, const char *key, const char *v)
{
    put_key(f, key, TYPE_STRING);
    put_text(f, v);
}

static void put_array(FILE *f, const char *key, uint32_t type, uint64_t n)
{
    put_key(f, key, TYPE_ARRAY);
    put_u32(f, type);
    put_u64(f, n);
}

static void put_metadata(FILE *f, const struct made_model *m)
{
    const float eps = 1e-5f;
    put_name(f, "general.architecture", "llama");
    put_number(f, "llama.block_count", m->layers);
    put_number(f, "llama.context_length", m->context);
    put_number(f, "llama.embedding_length", m->hidden);
    put_number(f, "llama.feed_forward_length", m->ffn);
    put_number(f, "llama.attention.head_count", m->heads);
    put_number(f, "llama.attention.head_count_kv", m->kv_heads);
    put_key(f, "llama.attention.layer_norm_rms_epsilon", TYPE_F32);
    put(f, &eps, sizeof eps);
    put_name(f, "tokenizer.ggml.model", "gpt2");
    put_name(f, "tokenizer.ggml.pre", "default");
    put_array(f, "tokenizer.ggml.tokens", TYPE_STRING, m->vocab);
    for (uint32_t i = 0; i < m->vocab; i++) {
        char token[16] = {(char)('a' + i), '\0'};
        if (i >= LETTERS)
            snprintf(token, sizeof token, "%u", i); /* which no text is cut into */
        put_text(f, token);
    }
    put_array(f, "tokenizer.ggml.token_type", TYPE_I32, m->vocab);
    for (uint32_t i = 0; i < m->vocab; i++)
        put_u32(f, 1); /* normal */
    put_array(f, "tokenizer.ggml.merges", TYPE_STRING, 0);
}

/* ------------------------------------------------------------------ tensors */

struct shape {
    const char *name; /* of a layer it follows "blk.N." */
    uint64_t cols, rows;
};

enum { IN_LAYER = 9, OUTSIDE = 2 };

static void shapes_of(const struct made_model *m, struct shape layer[IN_LAYER],
                      struct shape outside[OUTSIDE])
{
    uint64_t kv = (uint64_t)m->hidden / m->heads * m->kv_heads;
    const struct shape in[IN_LAYER] = {
        {"attn_norm.weight", m->hidden, 1},
        {"attn_q.weight", m->hidden, m->hidden},
        {"attn_k.weight", m->hidden, kv},
        {"attn_v.weight", m->hidden, kv},
        {"attn_output.weight", m->hidden, m->hidden},
        {"ffn_norm.weight", m->hidden, 1},
        {"ffn_gate.weight", m->hidden, m->ffn},
        {"ffn_up.weight", m->hidden, m->ffn},
        {"ffn_down.weight", m->ffn, m->hidden},
    };
    memcpy(layer, in, sizeof in);
    outside[0] = (struct shape){"token_embd.weight", m->hidden, m->vocab};
    outside[1] = (struct shape){"output_norm.weight", m->hidden, 1};
}

static uint64_t bytes_of(const struct shape *s)
{
    uint64_t row = 0;
    ks_type_row_bytes(s->rows == 1 ? KS_F32 : KS_Q4_0, s->cols, &row);
    return (row * s->rows + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_info(FILE *f, const struct shape *s, int layer, uint64_t *offset)
{
    char name[64];
    if (layer < 0)
        snprintf(name, sizeof name, "%s", s->name);
    else
        snprintf(name, sizeof name, "blk.%d.%s", layer, s->name);
    put_text(f, name);
    put_u32(f, s->rows == 1 ? 1 : 2);
    put_u64(f, s->cols);
    if (s->rows > 1)
        put_u64(f, s->rows);
    put_u32(f, s->rows == 1 ? KS_F32 : KS_Q4_0);
    put_u64(f, *offset);
    *offset += bytes_of(s);
}

static void put_data(FILE *f, const struct shape *s, uint64_t *random)
{
    const float one = 1;
    uint64_t left = bytes_of(s);
    if (s->rows == 1)
        for (; left > 0; left -= sizeof one)
            put(f, &one, sizeof one);
    struct ks_block_q4_0 block = {.d = {0x00, 0x24}}; /* 2^-6 */
    for (; left >= sizeof block; left -= sizeof block) {
        for (size_t i = 0; i < sizeof block.qs; i += 8) {
            uint64_t bits = ks_random_next(random);
            memcpy(block.qs + i, &bits, sizeof bits);
        }
        put(f, &block, sizeof block);
    }
    for (; left > 0; left--)
        fputc(0, f);
}

static void put_tensors(FILE *f, const struct made_model *m)
{
    struct shape layer[IN_LAYER], outside[OUTSIDE];
    uint64_t offset = 0, random = 1;
    shapes_of(m, layer, outside);
    for (int i = 0; i < OUTSIDE; i++)
        put_info(f, &outside[i], -1, &offset);
    for (int l = 0; l < (int)m->layers; l++)
        for (int i = 0; i < IN_LAYER; i++)
            put_info(f, &layer[i], l, &offset);
    while (ftell(f) % ALIGNMENT != 0)
        fputc(0, f);
    for (int i = 0; i < OUTSIDE; i++)
        put_data(f, &outside[i], &random);
    for (int l = 0; l < (int)m->layers; l++)
        for (int i = 0; i < IN_LAYER; i++)
            put_data(f, &layer[i], &random);
}

int made_model_write(const struct made_model *m, int fd, struct ks_error *err)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *f = own < 0 ? NULL : fdopen(own, "wb");
    if (!f) {
        ks_fail_errno(err, "a model made up for the benchmark: cannot write");
        if (own >= 0)
            close(own);
        return -1;
    }
    put(f, "GGUF", 4);
    put_u32(f, 3);
    put_u64(f, OUTSIDE + (uint64_t)m->layers * IN_LAYER);
    put_u64(f, VALUES);
    put_metadata(f, m);
    put_tensors(f, m);
    bool written = !ferror(f);
    if (fclose(f) != 0 || !written)
        return ks_fail_errno(err, "a model made up for the benchmark: cannot write");
    return 0;
}
