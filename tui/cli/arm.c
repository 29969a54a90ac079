#include "tui/cli/arm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/nearest.h"
#include "engine/base/path.h"
#include "engine/base/text.h"

#define KV "kv="

static int fail_unknown(const char *word, struct ks_error *err)
{
    const char *names[128];
    size_t n = 0;
    while (n < 128 && ks_preset_name(n)) {
        names[n] = ks_preset_name(n);
        n++;
    }
    const char *near = ks_nearest_word(word, names, n);
    if (near)
        return ks_fail(err, KS_BAD_INPUT, "--arm %s: neither a file nor a preset; did you mean %s?",
                       word, near);
    return ks_fail(err, KS_BAD_INPUT, "--arm %s: neither a file nor a preset", word);
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* Where "kv=" begins in a word, the last of several; at its end where there is none. */
static const char *find_kv(const char *word)
{
    const char *found = word + strlen(word);
    if (access(word, F_OK) == 0)
        return found;
    if (strncmp(word, KV, strlen(KV)) == 0)
        return word;
    for (const char *at = word; (at = strstr(at, "+" KV)) != NULL;)
        found = ++at;
    return found;
}

static int read_types(struct ks_arm_spec *arm, const char *types, struct ks_error *err)
{
    const char *slash = strchr(types, '/');
    arm->kv_keys = strndup(types, slash ? (size_t)(slash - types) : strlen(types));
    arm->kv_values = strdup(slash ? slash + 1 : types);
    if (arm->kv_keys && arm->kv_values)
        return 0;
    return ks_fail_memory(err, strlen(types), "what an arm keeps keys and values in");
}

/* *name: what people call them, malloc'ed. */
static int read_weights(struct ks_arm_spec *arm, const char *word, char **name,
                        struct ks_error *err)
{
    const char *preset = ks_preset_named(word);
    if (!preset && !strchr(word, '/') && !strchr(word, '.') && access(word, F_OK) != 0)
        return fail_unknown(word, err);
    if (!preset) {
        arm->model = ks_model_open(word, NULL, NULL, err);
        *name = arm->model ? ks_path_stem(word) : NULL;
        return *name ? 0 : arm->model ? ks_fail_memory(err, strlen(word), "an arm's name") : -1;
    }
    arm->preset = strdup(preset);
    *name = strdup(preset);
    if (!arm->preset || !*name)
        return ks_fail_memory(err, strlen(word), "an arm's preset");
    lower(*name);
    return 0;
}

static int read_word(struct ks_arm_spec *arm, const char *word, struct ks_error *err)
{
    const char *kv = find_kv(word);
    size_t before = kv == word ? 0 : *kv ? (size_t)(kv - word) - 1 : (size_t)(kv - word);
    char *weights = strndup(word, before), *name = NULL;
    int failed = weights ? 0 : ks_fail_memory(err, before, "an arm");
    if (!failed && (before > 0 || !*kv))
        failed = read_weights(arm, weights, &name, err);
    if (!failed && *kv)
        failed = read_types(arm, kv + strlen(KV), err);
    if (!failed &&
        asprintf(&arm->name, "%s%s%s", name ? name : "", name && *kv ? "+" : "", kv) < 0) {
        arm->name = NULL;
        failed = ks_fail_memory(err, strlen(word), "an arm's name");
    }
    if (!failed) {
        lower(arm->name + (name ? strlen(name) : 0));
        ks_text_one_line(arm->name); /* a file may be called anything */
    }
    free(weights);
    free(name);
    return failed;
}

int cli_add_arm(struct ks_plan *plan, const char *word, struct ks_error *err)
{
    struct ks_arm_spec *arm = ks_plan_add_arm(plan, err);
    return arm ? read_word(arm, word, err) : -1;
}
