#include "tui/cli/plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "engine/base/path.h"
#include "engine/base/text.h"
#include "lua/scenario.h"
#include "tui/cli/arm.h"

/* ------------------------------------------------------------------ scenarios */

static void free_params(struct ks_param *params, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)params[i].name);
    free(params);
}

static int split_param(const char *given, struct ks_param *out, struct ks_error *err)
{
    const char *equals = strchr(given, '=');
    if (!equals || equals == given)
        return ks_fail(err, KS_BAD_INPUT, "-p %s: write it as NAME=VALUE", given);
    char *name = strndup(given, (size_t)(equals - given));
    if (!name)
        return ks_fail_memory(err, strlen(given), "a parameter");
    *out = (struct ks_param){.name = name, .value = equals + 1};
    return 0;
}

/* *out (given->n) is for free_params. */
static int split_params(const struct cli_list *given, struct ks_param **out, struct ks_error *err)
{
    struct ks_param *params = calloc(given->n + 1, sizeof *params);
    if (!params)
        return ks_fail_memory(err, given->n * sizeof *params, "parameters");
    for (size_t i = 0; i < given->n; i++) {
        if (split_param(given->items[i], &params[i], err)) {
            free_params(params, i);
            return -1;
        }
    }
    *out = params;
    return 0;
}

static struct ks_plan *load_scenario(const char *path, const struct cli_run_wishes *w,
                                     struct ks_error *err)
{
    struct ks_param *params = NULL;
    if (split_params(&w->params, &params, err))
        return NULL;
    struct ks_scenario_overrides overrides = {.window = (uint32_t)w->window,
                                              .max_documents = w->max_documents,
                                              .threads = (int)w->threads};
    struct ks_plan *plan = ks_scenario_load(path, params, w->params.n, &overrides, err);
    free_params(params, w->params.n);
    return plan;
}

/* ------------------------------------------------------------------ without Lua */

/* NULL for what cannot be opened or is no file: neither waits for a pipe nor reads a device. */
static FILE *open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

/* A .jsonl whose first line has "messages" is a chat; anything odd is left to the reader, who tells
 * the line. */
static bool is_chat(const char *path)
{
    FILE *f = ks_path_ends(path, ".jsonl") ? open_file(path) : NULL;
    char *line = NULL;
    size_t cap = 0;
    bool chat = false;
    if (f && getline(&line, &cap, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        chat = o && json_object_get(o, "messages");
        json_decref(o);
    }
    free(line);
    if (f)
        fclose(f);
    return chat;
}

static int add_corpus(struct ks_plan *plan, const char *path, size_t max_documents,
                      struct ks_error *err)
{
    struct ks_corpus_spec *c = ks_plan_add_corpus(plan, err);
    if (!c)
        return -1;
    c->kind = is_chat(path) ? KS_CORPUS_CHAT : KS_CORPUS_TEXT;
    c->max_documents = max_documents;
    c->name = ks_path_stem(path);
    c->paths = calloc(1, sizeof *c->paths);
    c->shown = calloc(1, sizeof *c->shown);
    if (!c->name || !c->paths || !c->shown)
        return ks_fail_memory(err, strlen(path), "a corpus");
    ks_text_one_line(c->name);
    c->n_paths = 1;
    c->paths[0] = strdup(path);
    c->shown[0] = strdup(path);
    return c->paths[0] && c->shown[0] ? 0 : ks_fail_memory(err, strlen(path), "a corpus");
}

static int fill_plan(struct ks_plan *plan, const char *reference, const struct cli_run_wishes *w,
                     struct ks_error *err)
{
    plan->window = (uint32_t)w->window;
    plan->threads = (int)w->threads;
    plan->reference = ks_model_open(reference, NULL, NULL, err);
    if (!plan->reference)
        return -1;
    for (size_t i = 0; i < w->arms.n; i++)
        if (cli_add_arm(plan, w->arms.items[i], err))
            return -1;
    for (size_t i = 0; i < w->corpora.n; i++)
        if (add_corpus(plan, w->corpora.items[i], w->max_documents, err))
            return -1;
    return ks_scenario_format_chats(plan, err);
}

static struct ks_plan *plan_from_words(const char *reference, const struct cli_run_wishes *w,
                                       struct ks_error *err)
{
    if (w->params.n) {
        ks_fail(err, KS_BAD_INPUT, "-p is for scenarios; %s is none", reference);
        return NULL;
    }
    if (w->corpora.n == 0) {
        ks_fail(err, KS_BAD_INPUT, "%s as a reference needs a text: --corpus FILE.txt or .jsonl",
                reference);
        return NULL;
    }
    struct ks_plan *plan = ks_plan_create(err);
    if (plan && fill_plan(plan, reference, w, err)) {
        ks_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

/* ------------------------------------------------------------------ */

/* What the command line says of the head goes before the scenario. */
static int set_head(struct ks_plan *plan, const struct cli_run_wishes *w, struct ks_error *err)
{
    enum ks_head_choice head;
    enum ks_head_path path;
    if (cli_read_head(&w->head, &head, &path, err))
        return -1;
    if (w->head.head)
        plan->head = head;
    plan->head_path = path;
    if (!w->head.device)
        return 0;
    plan->device = strdup(w->head.device);
    return plan->device ? 0 : ks_fail_memory(err, strlen(w->head.device), "a device's name");
}

static int check_words(const struct cli_run_wishes *w, bool scenario, struct ks_error *err)
{
    enum ks_head_choice head;
    enum ks_head_path path;
    if (cli_read_head(&w->head, &head, &path, err))
        return -1;
    if (cli_check_scoring(&w->scoring, scenario, err))
        return -1;
    if (w->window > UINT32_MAX)
        return ks_fail(err, KS_BAD_INPUT, "--window %zu: beyond the context of any model",
                       w->window);
    if (scenario && (w->arms.n || w->corpora.n))
        return ks_fail(err, KS_BAD_INPUT,
                       "--arm and --corpus are for a reference model; a scenario names its own");
    return 0;
}

struct ks_plan *cli_make_plan(const struct cli_run_wishes *w, struct ks_error *err)
{
    char quickstart[4096];
    const char *operand = w->operands.n ? w->operands.items[0] : quickstart;
    snprintf(quickstart, sizeof quickstart, "%s/quickstart.lua", cli_data_folder());
    bool scenario = !ks_path_ends(operand, ".gguf") && !w->arms.n && !w->corpora.n;
    if (check_words(w, scenario || ks_path_ends(operand, ".lua"), err))
        return NULL;
    if (!w->operands.n && !scenario) {
        ks_fail(err, KS_BAD_INPUT,
                "--arm and --corpus need a reference model: kldscope run "
                "REFERENCE.gguf --arm ... --corpus ...");
        return NULL;
    }
    struct ks_plan *plan =
        scenario ? load_scenario(operand, w, err) : plan_from_words(operand, w, err);
    if (plan && (set_head(plan, w, err) || cli_set_scoring(plan, &w->scoring, err) ||
                 cli_choose_runfile(&w->file, operand, plan, err))) {
        ks_plan_destroy(plan);
        return NULL;
    }
    if (plan)
        plan->no_cache = w->no_cache;
    return plan;
}
