#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/cli/cli.h"

/* A token's bytes in double quotes: printable ASCII as it is, the rest escaped, since a token may
 * end inside a UTF-8 character. */
static void print_piece(const char *bytes, size_t len)
{
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == '\n')
            printf("\\n");
        else if (c < 0x20 || c >= 0x7f)
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static int print_pieces(struct ks_model *m, const int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct ks_error err;
        size_t len;
        const char *bytes = ks_model_token_bytes(m, ids[i], &len, &err);
        if (!bytes)
            return cli_fail(&err);
        printf("%7d  ", ids[i]);
        print_piece(bytes, len);
        putchar('\n');
    }
    return cli_finish_output();
}

static int print_ids(const int32_t *ids, size_t n, bool json)
{
    if (json)
        putchar('[');
    for (size_t i = 0; i < n; i++)
        printf("%s%d", i == 0 ? "" : json ? ", " : " ", ids[i]);
    printf(json ? "]\n" : "\n");
    return cli_finish_output();
}

struct wishes {
    bool pieces, bos, special, json;
    const char *file, *pre;
};

static int print_tokens(struct ks_model *m, const struct wishes *w)
{
    struct ks_error err;
    size_t len, n;
    char *text = cli_read_file(w->file ? w->file : "-", &len, &err);
    if (!text)
        return cli_fail(&err);
    int32_t *ids;
    unsigned flags = (w->bos ? KS_ADD_SPECIAL : 0) | (w->special ? KS_PARSE_SPECIAL : 0);
    int failed = ks_model_tokenize(m, w->pre, text, len, flags, &ids, &n, &err);
    free(text);
    if (failed)
        return cli_fail(&err);
    int status = w->pieces ? print_pieces(m, ids, n) : print_ids(ids, n, w->json);
    free(ids);
    return status;
}

int cli_tokens(const struct cli_command *self, int argc, char **argv)
{
    struct wishes w = {0};
    const struct cli_option options[] = {
        {"file", 0, "FILE", "read this file instead of standard input", CLI_STRING, &w.file},
        {"pieces", 0, NULL, "one token a line, with its bytes", CLI_FLAG, &w.pieces},
        {"bos", 0, NULL, "add the tokens that the vocabulary wants before and after", CLI_FLAG,
         &w.bos},
        {"parse-special", 0, NULL, "control tokens written in the text become those tokens",
         CLI_FLAG, &w.special},
        {"json", 0, NULL, "a JSON array", CLI_FLAG, &w.json},
        {"pre", 0, "NAME", "split words as this kind does, not as the file says", CLI_STRING,
         &w.pre},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    struct ks_model *m =
        status < 0 ? cli_open_model(self, &operands, CLI_TO_LOOK_AT, &status) : NULL;
    if (m)
        status = print_tokens(m, &w);
    ks_model_unref(m);
    free(operands.items);
    return status;
}
