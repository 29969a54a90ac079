#include "tui/cli/inspect/inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    if (i->refusal)
        print_text("cannot be run", i->refusal);
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

static int longer(int width, const char *text)
{
    int columns = cli_put(NULL, text, 0);
    return columns > width ? columns : width;
}

static void print_metadata(const struct ks_model *m)
{
    const char *key, *type;
    char text[72];
    int keys = 0, types = 0;
    for (size_t i = 0; ks_model_metadata(m, i, &key, &type, text, sizeof text); i++) {
        keys = longer(keys, key);
        types = longer(types, type);
    }
    printf("\nmetadata\n");
    for (size_t i = 0; ks_model_metadata(m, i, &key, &type, text, sizeof text); i++) {
        printf("  ");
        cli_put(stdout, key, keys);
        printf("  %-*s  ", types, type);
        cli_put(stdout, text, 0);
        putchar('\n');
    }
}

const char *inspect_shape(const struct ks_tensor_info *t, char text[INSPECT_SHAPE])
{
    int at = 0;
    for (uint32_t d = 0; d < t->n_dims; d++)
        at += snprintf(text + at, INSPECT_SHAPE - (size_t)at, "%s%" PRIu64, d ? " x " : "",
                       t->dims[d]);
    return text;
}

static void print_tensors(const struct ks_model *m)
{
    static const char heading[] = "columns x rows";
    size_t n = ks_model_info(m)->n_tensors;
    char shape[INSPECT_SHAPE];
    int names = (int)strlen("name"), shapes = (int)strlen(heading);
    for (size_t i = 0; i < n; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        names = longer(names, t.name);
        shapes = longer(shapes, inspect_shape(&t, shape));
    }
    printf("\ntensors, %zu\n  %-*s  %-7s  %*s %14s %8s\n", n, names, "name", "type", shapes,
           heading, "bytes", "bits");
    for (size_t i = 0; i < n; i++) {
        struct ks_tensor_info t = ks_model_tensor_info(m, i);
        double elements = 1;
        for (uint32_t d = 0; d < t.n_dims; d++)
            elements *= (double)t.dims[d];
        printf("  ");
        cli_put(stdout, t.name, names);
        printf("  %-7s  %*s %14" PRIu64 " %8.4f\n", t.type, shapes, inspect_shape(&t, shape),
               t.bytes, elements > 0 ? 8 * (double)t.bytes / elements : 0);
    }
}

static int inspect_one(const struct cli_command *self, const struct cli_list *operands, bool json)
{
    int status;
    struct ks_model *m = cli_open_model(self, operands, CLI_TO_LOOK_AT, &status);
    if (!m)
        return status;
    if (json) {
        status = inspect_print_json(m);
    } else {
        print_summary(ks_model_info(m));
        print_traits(m);
        print_metadata(m);
        print_tensors(m);
        status = cli_finish_output();
    }
    ks_model_unref(m);
    return status;
}

int cli_inspect(const struct cli_command *self, int argc, char **argv)
{
    bool json = false, diff = false;
    const struct cli_option options[] = {
        {"diff", 0, NULL, "compare two files: keys, tokenizers, tensors; 1 where they differ",
         CLI_FLAG, &diff},
        {"json", 0, NULL, "one JSON object instead of a table", CLI_FLAG, &json},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0 && !diff)
        status = inspect_one(self, &operands, json);
    else if (status < 0 && operands.n != 2)
        status = cli_usage(self, "--diff takes two models, and %zu %s named", operands.n,
                           operands.n == 1 ? "is" : "are");
    else if (status < 0)
        status = inspect_diff(operands.items[0], operands.items[1], json);
    free(operands.items);
    return status;
}
