#include "lua/script/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/path.h"
#include "lua/script/sandbox.h"

static int copy_path(struct ks_script *s, const char *path)
{
    const char *file = ks_path_file(path);
    s->path = strdup(path);
    s->folder = strndup(path, (size_t)(file - path));
    s->stem = ks_path_stem(path);
    snprintf(s->chunk, sizeof s->chunk, "%s", file);
    return s->path && s->folder && s->stem ? 0 : -1;
}

static int copy_given(struct ks_script *s, const struct ks_param *params, size_t n)
{
    s->given = calloc(n + 1, sizeof *s->given);
    if (!s->given)
        return -1;
    for (; s->n_given < n; s->n_given++) {
        struct ks_param *p = &s->given[s->n_given];
        p->name = strdup(params[s->n_given].name);
        p->value = strdup(params[s->n_given].value);
        if (!p->name || !p->value) {
            s->n_given++;
            return -1;
        }
    }
    return 0;
}

struct ks_script *ks_script_create(const char *path, const struct ks_param *params, size_t n_params,
                                   const struct ks_scenario_overrides *overrides,
                                   const struct ks_script_limits *limits, struct ks_error *err)
{
    struct ks_script *s = calloc(1, sizeof *s);
    if (!s || copy_path(s, path) || copy_given(s, params, n_params)) {
        ks_script_destroy(s);
        ks_fail_memory(err, sizeof *s, path);
        return NULL;
    }
    s->limits = *limits;
    if (overrides)
        s->overrides = *overrides;
    for (int i = 0; i < KS_HOOKS; i++)
        s->hooks[i] = LUA_NOREF;
    return s;
}

static void forget_corpora(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_corpora; i++)
        ks_corpus_spec_finish(&s->corpora[i].spec);
    free(s->corpora);
    s->corpora = NULL;
    s->n_corpora = 0;
}

static void forget_arms(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_arms; i++)
        ks_arm_spec_finish(&s->arms[i]);
    free(s->arms);
    s->arms = NULL;
    s->n_arms = 0;
}

void ks_script_close_files(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_imatrices; i++) {
        free(s->imatrices[i].path);
        ks_imatrix_unref(s->imatrices[i].imatrix);
    }
    free(s->imatrices);
    s->imatrices = NULL;
    s->n_imatrices = 0;
    for (size_t i = 0; i < s->n_models; i++) {
        free(s->models[i].path);
        free(s->models[i].convert_to);
        ks_model_unref(s->models[i].model);
    }
    free(s->models);
    s->models = NULL;
    s->n_models = 0;
}

void ks_script_clear_effects(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_effects; i++)
        free(s->effects[i].text);
    s->n_effects = 0;
}

void ks_script_clear_render(struct ks_script *s)
{
    for (size_t i = 0; i < s->render.n; i++) {
        free((char *)s->render.messages[i].role);
        free((char *)s->render.messages[i].content);
    }
    free(s->render.messages);
    ks_buf_finish(&s->render.text);
    free(s->render.spans);
    s->render = (struct ks_render_job){0};
}

static void forget_params(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_params; i++) {
        free(s->params[i].name);
        free(s->params[i].string);
    }
    free(s->params);
    s->params = NULL;
    s->n_params = 0;
    s->params_declared = s->params_late = false;
}

/* The models stay open, only their Lua values go with the state. */
void ks_script_forget(struct ks_script *s)
{
    forget_corpora(s);
    forget_arms(s);
    for (size_t i = 0; i < s->n_models; i++)
        s->models[i].value = LUA_NOREF;
    for (int i = 0; i < KS_HOOKS; i++)
        s->hooks[i] = LUA_NOREF;
    free(s->renders);
    s->renders = NULL;
    ks_plan_destroy(s->plan);
    s->plan = NULL;
    if (!s->params_late)
        forget_params(s);
    free(s->undeclared_param);
    s->undeclared_param = NULL;
    s->random = s->seed;
    s->random_used = false;
    ks_script_clear_effects(s);
}

static void free_given(struct ks_script *s)
{
    for (size_t i = 0; i < s->n_given; i++) {
        free((char *)s->given[i].name);
        free((char *)s->given[i].value);
    }
    free(s->given);
}

void ks_script_destroy(struct ks_script *s)
{
    if (!s)
        return;
    ks_sandbox_close(s);
    ks_script_forget(s);
    ks_script_close_files(s);
    ks_script_clear_render(s);
    forget_params(s);
    free_given(s);
    ks_buf_finish(&s->text);
    ks_buf_finish(&s->format);
    free(s->format_path);
    for (size_t i = 0; i < s->view.n_arms; i++)
        free(s->view.arms[i].name);
    free(s->view.arms);
    free(s->path);
    free(s->folder);
    free(s->stem);
    free(s);
}
