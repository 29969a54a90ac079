#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "tui/cli/making.h"
#include "tui/cli/plan.h"

struct wishes {
    struct cli_list operands, overrides, params;
    const char *out, *imatrix;
    size_t threads;
    bool pure, leave_output, dry_run;
};

/* ctx: the model. */
static void show_tensor(void *ctx, size_t i, const struct ks_tensor_info *becomes)
{
    printf("  ");
    cli_put(stdout, becomes->name, 36);
    printf(" %-7s -> %-7s %14" PRIu64 "\n", ks_model_tensor_info(ctx, i).type, becomes->type,
           becomes->bytes);
}

static int quantize(struct ks_model *m, const struct ks_arm_spec *arm, const struct wishes *w)
{
    struct ks_error err;
    struct cli_making making;
    struct ks_quantized made;
    cli_making_begin(&making, "tensors");
    int failed = w->dry_run
                     ? ks_quantize_preview(m, arm, &making.hooks, show_tensor, m, &made, &err)
                     : ks_quantize(m, arm, w->out, (int)w->threads, &making.hooks, &made, &err);
    cli_making_end(&making);
    if (failed)
        return cli_fail(&err);
    cli_put(stdout, w->dry_run ? arm->name : w->out, 0);
    printf(": %.1f MB of tensors, %.4f bits a weight\n", (double)made.bytes / 1e6,
           made.bits_per_weight);
    return cli_finish_output();
}

/* ------------------------------------------------------------------ recipes */

/* The type is behind the last equals sign: expressions may hold others. */
static int read_override(const char *word, struct ks_override_spec *o, struct ks_error *err)
{
    const char *equals = strrchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return ks_fail(err, KS_BAD_INPUT, "--override %s: write it as REGEX=TYPE", word);
    o->regex = strndup(word, (size_t)(equals - word));
    o->type = strdup(equals + 1);
    return o->regex && o->type ? 0 : ks_fail_memory(err, strlen(word), "an override");
}

static int fill_recipe(const struct wishes *w, struct ks_arm_spec *arm, struct ks_error *err)
{
    const char *preset = w->operands.n > 1 ? w->operands.items[1] : NULL;
    arm->pure = w->pure;
    arm->overrides_ordered = true;
    arm->name = strdup(preset ? preset : "overrides");
    arm->preset = preset ? strdup(preset) : NULL;
    arm->overrides = calloc(w->overrides.n + (w->leave_output ? 2 : 1), sizeof *arm->overrides);
    if (!arm->name || (preset && !arm->preset) || !arm->overrides)
        return ks_fail_memory(err, w->overrides.n * sizeof *arm->overrides, "a recipe");
    for (size_t i = 0; i < w->overrides.n; i++) {
        arm->n_overrides = i + 1;
        if (read_override(w->overrides.items[i], &arm->overrides[i], err))
            return -1;
    }
    if (!w->imatrix)
        return 0;
    arm->imatrix = ks_imatrix_open(w->imatrix, NULL, err);
    return arm->imatrix ? 0 : -1;
}

static const char *type_of_output(const struct ks_model *m)
{
    for (size_t i = 0; i < ks_model_info(m)->n_tensors; i++)
        if (strcmp(ks_model_tensor_info(m, i).name, "output.weight") == 0)
            return ks_model_tensor_info(m, i).type;
    return NULL;
}

/* Goes before all overrides: the first that matches wins. */
static int leave_output(const struct ks_model *m, struct ks_arm_spec *arm, struct ks_error *err)
{
    const char *type = type_of_output(m);
    if (!type) {
        cli_say("warning: %s has no output.weight to leave: its head is token_embd.weight",
                ks_model_info(m)->shown);
        return 0;
    }
    memmove(arm->overrides + 1, arm->overrides, arm->n_overrides * sizeof *arm->overrides);
    arm->n_overrides++;
    arm->overrides[0] = (struct ks_override_spec){strdup("^output\\.weight$"), strdup(type)};
    return arm->overrides[0].regex && arm->overrides[0].type
               ? 0
               : ks_fail_memory(err, strlen(type), "an override");
}

static int quantize_model(const struct wishes *w)
{
    struct ks_error err;
    struct ks_arm_spec arm = {0};
    int failed = fill_recipe(w, &arm, &err);
    struct ks_model *m = failed ? NULL : ks_model_open(w->operands.items[0], NULL, NULL, &err);
    failed = !m || (w->leave_output && leave_output(m, &arm, &err));
    int status = failed ? cli_fail(&err) : quantize(m, &arm, w);
    ks_model_unref(m);
    ks_arm_spec_finish(&arm);
    return status;
}

static const struct ks_arm_spec *find_arm(const struct ks_plan *plan, const char *name,
                                          struct ks_error *err)
{
    for (size_t i = 0; i < plan->n_arms; i++)
        if (strcmp(plan->arms[i].name, name) == 0)
            return &plan->arms[i];
    ks_fail(err, KS_BAD_INPUT, "%s: no arm is named \"%s\"", plan->scenario, name);
    return NULL;
}

static int quantize_arm(const struct wishes *w)
{
    struct ks_error err;
    const struct cli_run_wishes run = {.operands = {w->operands.items, 1}, .params = w->params};
    struct ks_plan *plan = cli_make_plan(&run, &err);
    const struct ks_arm_spec *arm = plan ? find_arm(plan, w->operands.items[1], &err) : NULL;
    int status = arm ? quantize(plan->reference, arm, w) : cli_fail(&err);
    ks_plan_destroy(plan);
    return status;
}

static int check(const struct cli_command *self, const struct wishes *w)
{
    bool scenario = w->operands.n > 0 && ks_path_ends(w->operands.items[0], ".lua");
    if (!w->out && !w->dry_run)
        return cli_usage(self, "name the output: -o OUT.gguf");
    if (w->operands.n > 2 || w->operands.n < (w->overrides.n && !scenario ? 1u : 2u))
        return cli_usage(self, "name a model and a preset, or a scenario and one of its arms");
    if (scenario && (w->overrides.n || w->imatrix || w->pure || w->leave_output))
        return cli_usage(self, "an arm's recipe is in the scenario: --override, --imatrix, --pure "
                               "and --leave-output-tensor are for a model and a preset");
    if (!scenario && w->params.n)
        return cli_usage(self, "-p is for a scenario");
    return scenario ? quantize_arm(w) : quantize_model(w);
}

int cli_quantize(const struct cli_command *self, int argc, char **argv)
{
    struct wishes w = {0};
    const struct cli_option options[] = {
        {"output", 'o', "OUT", "the GGUF to write", CLI_STRING, &w.out},
        {"override", 0, "REGEX=TYPE",
         "the type of tensors whose names match, the first that does (repeats)", CLI_LIST,
         &w.overrides},
        {"imatrix", 0, "FILE", "quantize by an importance matrix, GGUF or .dat", CLI_STRING,
         &w.imatrix},
        {"pure", 0, NULL, "the preset's base type everywhere, head and embedding too", CLI_FLAG,
         &w.pure},
        {"leave-output-tensor", 0, NULL, "output.weight stays as it is in the model", CLI_FLAG,
         &w.leave_output},
        {"dry-run", 0, NULL, "show what type each tensor would get, and write nothing", CLI_FLAG,
         &w.dry_run},
        {"param", 'p', "NAME=VALUE", "a parameter of the scenario (repeats)", CLI_LIST, &w.params},
        {"threads", 0, "N", "worker threads (all that are allowed)", CLI_THREADS, &w.threads},
        {0},
    };
    int status = cli_parse(self, options, argc, argv, &w.operands);
    if (status < 0)
        status = check(self, &w);
    free(w.operands.items);
    free(w.overrides.items);
    free(w.params.items);
    return status;
}
