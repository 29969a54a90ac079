#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tui/cli/cli.h"

static void print_size(const char *name, uint64_t bytes)
{
    printf("%-18s %" PRIu64 " bytes (%.1f MB)\n", name, bytes, (double)bytes / 1e6);
}

static void print_text(const char *name, const char *text)
{
    printf("%-18s ", name);
    cli_put(stdout, text, 0);
    putchar('\n');
}

static void print_summary(const struct ks_model_info *i)
{
    print_text("file", i->shown);
    print_text("name", i->name);
    print_text("architecture", i->architecture);
    printf("%-18s %u layers, hidden %u, %u heads of %u, %u KV heads", "shape", i->layers, i->hidden,
           i->heads, i->head_dim, i->kv_heads);
    if (i->ffn) /* not where all MLPs are experts, which the mlp line tells of */
        printf(", ffn %u", i->ffn);
    putchar('\n');
    printf("%-18s %u tokens%s\n", "vocabulary", i->vocab,
           i->tied ? ", the head is the embedding table" : "");
    printf("%-18s ", "tokenizer");
    cli_put(stdout, i->tokenizer_model, 0);
    printf("%s", *i->tokenizer_pre ? " " : "");
    cli_put(stdout, i->tokenizer_pre, 0);
    putchar('\n');
    printf("%-18s %s\n", "chat", i->chat_family ? i->chat_family : "no template known here");
    printf("%-18s %u tokens\n", "context", i->context);
    printf("%-18s %" PRIu64 "\n", "weights", i->elements);
    print_size("tensor data", i->bytes);
    print_size("file size", i->file_bytes);
    printf("%-18s %.4f\n", "bits a weight", i->bits_per_weight);
}

static void print_traits(const struct ks_model *m)
{
    const char *name;
    char text[512];
    for (size_t i = 0; ks_model_trait(m, i, &name, text, sizeof text); i++)
        print_text(name, text);
}

static void print_metadata(const struct ks_model *m)
{
    const char *key, *type;
    char text[72];
    printf("\nmetadata\n");
    for (size_t i = 0; ks_model_metadata(m, i, &key, &type, text, sizeof text); i++) {
        printf("  ");
        cli_put(stdout, key, 42);
        printf(" %-8s ", type);
        cli_put(stdout, text, 0);
        putchar('\n');
    }
}

static void print_tensors(const struct ks_model *m)
{
    size_t n = ks_model_info(m)->n_tensors;
    printf("\ntensors, %zu\n  %-36s %-7s %22s %14s %8s\n", n, "name", "type", "columns x rows",
           "bytes", "bits");
    for (size_t i = 0; i < n; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        char shape[64];
        double elements = 1;
        int at = 0;
        for (uint32_t d = 0; d < t.n_dims; d++) {
            at += snprintf(shape + at, sizeof shape - (size_t)at, "%s%" PRIu64, d ? " x " : "",
                           t.dims[d]);
            elements *= (double)t.dims[d];
        }
        printf("  ");
        cli_put(stdout, t.name, 36);
        printf(" %-7s %22s %14" PRIu64 " %8.4f\n", t.type, shape, t.bytes,
               8 * (double)t.bytes / elements);
    }
}

static json_t *tensors_json(const struct ks_model *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ks_model_info(m)->n_tensors; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        json_t *shape = json_array();
        for (uint32_t d = 0; d < t.n_dims; d++)
            json_array_append_new(shape, json_integer((json_int_t)t.dims[d]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:I}", "name", t.name, "type", t.type,
                                        "shape", shape, "bytes", (json_int_t)t.bytes));
    }
    return list;
}

static json_t *traits_json(const struct ks_model *m)
{
    json_t *traits = json_object();
    const char *name;
    char text[512];
    for (size_t i = 0; ks_model_trait(m, i, &name, text, sizeof text); i++)
        json_object_set_new(traits, name, json_string(text));
    return traits;
}

static int print_json(const struct ks_model *m)
{
    const struct ks_model_info *i = ks_model_info(m);
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:I, s:I, s:f, s:s, s:s, "
        "s:s?, s:o, s:o}",
        "file", i->shown, "name", i->name, "architecture", i->architecture, "layers",
        (int)i->layers, "hidden", (int)i->hidden, "heads", (int)i->heads, "kv_heads",
        (int)i->kv_heads, "head_dim", (int)i->head_dim, "ffn", (int)i->ffn, "vocab", (int)i->vocab,
        "context", (int)i->context, "tied", (int)i->tied, "weights", (json_int_t)i->elements,
        "bytes", (json_int_t)i->bytes, "bits_per_weight", i->bits_per_weight, "tokenizer_model",
        i->tokenizer_model, "tokenizer_pre", i->tokenizer_pre, "chat_family", i->chat_family,
        "traits", traits_json(m), "tensors", tensors_json(m));
    if (!o)
        return cli_json_failed(i->shown);
    json_dumpf(o, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    printf("\n");
    json_decref(o);
    return cli_finish_output();
}

int cli_inspect(const struct cli_command *self, int argc, char **argv)
{
    bool json = false;
    const struct cli_option options[] = {
        {"json", 0, NULL, "one JSON object instead of a table", CLI_FLAG, &json},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    struct ks_model *m =
        status < 0 ? cli_open_model(self, &operands, CLI_TO_LOOK_AT, &status) : NULL;
    if (m && json) {
        status = print_json(m);
    } else if (m) {
        print_summary(ks_model_info(m));
        print_traits(m);
        print_metadata(m);
        print_tensors(m);
        status = cli_finish_output();
    }
    ks_model_unref(m);
    free(operands.items);
    return status;
}
