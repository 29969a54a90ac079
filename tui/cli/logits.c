#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/path.h"
#include "engine/base/whole.h"
#include "tui/cli/head.h"

struct wishes {
    const char *ids, *file, *out;
    struct cli_head_words head;
    size_t threads;
};

struct output {
    const char *path;
    bool standard; /* to standard output */
    struct ks_whole_file file;
    bool npy;
    size_t n;
};

static int put(struct output *o, const void *bytes, size_t len, struct ks_error *err)
{
    if (!o->standard)
        return ks_whole_write(&o->file, bytes, len, err);
    return fwrite(bytes, 1, len, stdout) == len ? 0
                                                : ks_fail_errno(err, "%s: cannot write", o->path);
}

/* NumPy's format 1.0: magic, version, header length, a Python dict padded so that data begins at a
 * multiple of 64 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */
static int write_npy_header(struct output *o, size_t vocab, struct ks_error *err)
{
    char dict[118];
    int len =
        snprintf(dict, sizeof dict,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", o->n, vocab);
    memset(dict + len, ' ', sizeof dict - (size_t)len);
    dict[sizeof dict - 1] = '\n';
    return put(o, "\x93NUMPY\x01\x00\x76\x00", 10, err) || put(o, dict, sizeof dict, err) ? -1 : 0;
}

static int write_row(void *ctx, size_t position, const float *logits, size_t vocab,
                     struct ks_error *err)
{
    struct output *o = ctx;
    if (cli_interrupted)
        return ks_fail(err, KS_CANCELLED, "interrupted; nothing was written");
    if (position == 0 && o->npy && write_npy_header(o, vocab, err))
        return -1;
    return put(o, logits, vocab * sizeof *logits, err);
}

static int parse_ids(const char *path, const char *text, int32_t **ids, size_t *n,
                     struct ks_error *err)
{
    size_t cap = 0;
    *ids = NULL;
    *n = 0;
    for (const char *at = text; *(at += strspn(at, " \t\r\n"));) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        if (end == at || errno || id < 0 || id > INT32_MAX ||
            (*end && !isspace((unsigned char)*end)))
            return ks_fail(err, KS_BAD_INPUT, "%s: byte %zu: \"%.16s\" is no token id", path,
                           (size_t)(at - text), at);
        int32_t *grown = ks_grow(*ids, &cap, *n, sizeof *grown, "token ids", err);
        if (!grown)
            return -1;
        *ids = grown;
        grown[(*n)++] = (int32_t)id;
        at = end;
    }
    return *n ? 0 : ks_fail(err, KS_BAD_INPUT, "%s: no token ids in it", path);
}

static int read_ids(struct ks_model *m, const struct wishes *w, int32_t **ids, size_t *n,
                    struct ks_error *err)
{
    size_t len;
    const char *path = w->ids ? w->ids : w->file;
    char *text = cli_read_file(path, &len, err);
    if (!text)
        return -1;
    int failed = w->ids ? parse_ids(path, text, ids, n, err)
                        : ks_model_tokenize(m, NULL, text, len, KS_ADD_SPECIAL, ids, n, err);
    free(text);
    if (!failed && *n == 0)
        failed = ks_fail(err, KS_BAD_INPUT, "%s: it holds no token", path);
    return failed;
}

/* A head that is asked for is the one that is used: nothing is chosen here. */
static int compute_logits(struct ks_model *m, const struct wishes *w, const int32_t *ids, size_t n,
                          struct output *o, struct ks_error *err)
{
    enum ks_head_choice head;
    enum ks_head_path path;
    if (cli_read_head(&w->head, &head, &path, err))
        return -1;
    if (head == KS_HEAD_VULKAN)
        return ks_model_logits_on_device(m, ids, n, (int)w->threads, w->head.device, path,
                                         write_row, o, err);
    return ks_model_logits(m, ids, n, (int)w->threads, write_row, o, err);
}

static int write_logits(struct ks_model *m, const struct wishes *w, const int32_t *ids, size_t n,
                        struct ks_error *err)
{
    struct output o = {.path = w->out,
                       .standard = strcmp(w->out, "-") == 0,
                       .npy = ks_path_ends(w->out, ".npy"),
                       .n = n};
    if (!o.standard && ks_whole_open(&o.file, w->out, err))
        return -1;
    int failed = compute_logits(m, w, ids, n, &o, err);
    if (!o.standard)
        return ks_whole_close(&o.file, failed, err);
    return fflush(stdout) && !failed ? ks_fail_errno(err, "%s: cannot write", w->out) : failed;
}

static int run_logits(struct ks_model *m, const struct wishes *w)
{
    struct ks_error err;
    int32_t *ids = NULL;
    size_t n = 0;
    int failed = read_ids(m, w, &ids, &n, &err) || write_logits(m, w, ids, n, &err);
    free(ids);
    if (failed)
        return cli_fail(&err);
    if (strcmp(w->out, "-") == 0)
        return CLI_DONE;
    cli_put(stdout, w->out, 0);
    printf(": %zu positions x %u\n", n, ks_model_info(m)->vocab);
    return cli_finish_output();
}

static int check(const struct cli_command *self, const struct wishes *w)
{
    if (!w->ids == !w->file)
        return cli_usage(self, "give the text as --ids FILE or as --file TEXT");
    if (!w->out)
        return cli_usage(self, "name the output: -o OUT.f32 or -o OUT.npy");
    if (w->head.head && strcmp(w->head.head, "auto") == 0)
        return cli_usage(self, "--head auto: nothing is chosen here, it is cpu or vulkan");
    if (!w->head.head && (w->head.device || w->head.path))
        return cli_usage(self, "--%s is for --head vulkan",
                         w->head.device ? "device" : "head-path");
    return -1;
}

int cli_logits(const struct cli_command *self, int argc, char **argv)
{
    cli_catch_interrupts();
    struct wishes w = {0};
    const struct cli_option options[] = {
        {"ids", 0, "FILE", "token ids, separated by white space, fed as they are", CLI_STRING,
         &w.ids},
        {"file", 0, "TEXT", "a text to tokenize, with the specials its vocabulary adds", CLI_STRING,
         &w.file},
        {"output", 'o', "OUT",
         "where the rows go: .f32 raw, .npy for NumPy, - for raw on standard output", CLI_STRING,
         &w.out},
        {"head", 0, "cpu|vulkan", "where the output head runs (cpu)", CLI_STRING, &w.head.head},
        {"device", 0, "DEVICE", "a GPU by index, UUID or a part of its name", CLI_STRING,
         &w.head.device},
        {"head-path", 0, "auto|few|many|matrix",
         "how a GPU multiplies: few rows, many rows, matrix cores (the fastest it has)", CLI_STRING,
         &w.head.path},
        {"threads", 0, "N", "worker threads (all that are allowed)", CLI_THREADS, &w.threads},
        {0},
    };
    struct cli_list operands = {0};
    int status = cli_parse(self, options, argc, argv, &operands);
    if (status < 0)
        status = check(self, &w);
    struct ks_model *m =
        status < 0 ? cli_open_model(self, &operands, CLI_TO_COMPUTE, &status) : NULL;
    if (m)
        status = run_logits(m, &w);
    ks_model_unref(m);
    free(operands.items);
    return status;
}
