/*
 * One scenario's script: its Lua state and everything that it has said so far.
 *
 * A ks_script is owned by its ks_script_thread (see there for who may touch it when). While a job
 * runs, Lua may leave any C function by longjmp, so what such a function allocates is stored here
 * before anything else can fail, and freed with the script.
 */
#ifndef KS_LUA_SCRIPT_SCRIPT_H
#define KS_LUA_SCRIPT_SCRIPT_H

#include <lauxlib.h>
#include <lua.h>

#include "engine/base/bytes.h"
#include "engine/engine.h"
#include "lua/script/limits.h"
#include "lua/script/thread.h"

/* Why the script must end whatever it has caught (sandbox.h). */
enum ks_script_kill {
    KS_KILL_NO,
    KS_KILL_STEPS,
    KS_KILL_TIME,
    KS_KILL_AGAIN, /* not a failure: what it declared late is known now, run it once more */
};

enum ks_hook { KS_HOOK_START, KS_HOOK_WINDOW, KS_HOOK_DONE, KS_HOOKS };

/* A model that the script opened. */
struct ks_script_model {
    char *path;       /* resolved */
    char *convert_to; /* or NULL */
    struct ks_model *model;
    int value; /* reference of its Lua value in the registry, or LUA_NOREF */
};

/* A corpus that the script made; scenario{} moves it into the plan. */
struct ks_script_corpus {
    struct ks_corpus_spec spec;
    int render; /* reference of its function, or LUA_NOREF */
};

/* A scenario's parameter: its default, and the command line's value in its place. */
enum ks_param_type { KS_PARAM_INTEGER, KS_PARAM_NUMBER, KS_PARAM_BOOLEAN, KS_PARAM_STRING };
struct ks_script_param {
    char *name;
    enum ks_param_type type;
    lua_Integer integer; /* also the boolean */
    lua_Number number;
    char *string;
};

/* What a hook asked of its run, done when it has returned. */
enum ks_effect_kind { KS_EFFECT_NOTE, KS_EFFECT_DROP, KS_EFFECT_STOP };
struct ks_effect {
    enum ks_effect_kind kind;
    size_t arm;
    char *text;
};
#define KS_MAX_EFFECTS 256

/* The part of a snapshot that hooks see, copied so that an abandoned script holds nothing. */
struct ks_arm_view {
    char *name;
    uint64_t bytes;
    enum ks_arm_state state;
    uint64_t nonfinite;
    double kld_mean, kld_sem, kld_p99, kld_max, ppl, top1, overlap;
};
struct ks_run_view {
    size_t windows, positions;
    struct ks_arm_view *arms;
    size_t n_arms;
};

/* The chat that is to be rendered, and what came of it. */
struct ks_render_job {
    int function;
    struct ks_message *messages; /* (n), strings ours */
    size_t n;
    struct ks_buf text;
    struct ks_span *spans; /* (n_spans): the assistant's parts */
    size_t n_spans, spans_cap;
    bool told; /* it came in parts */
};

struct ks_script_imatrix {
    char *path; /* to open */
    struct ks_imatrix *imatrix;
};

struct ks_script {
    char *path;     /* as given */
    char *folder;   /* what paths in it are relative to; "" for the current one */
    char chunk[48]; /* how Lua calls it: the file's name, cut */
    char *stem;     /* the file's name without .lua */
    struct ks_script_limits limits;
    struct ks_param *given; /* copies of the command line's (n_given) */
    size_t n_given;
    struct ks_scenario_overrides overrides;
    struct ks_buf text;   /* of the file */
    struct ks_buf format; /* of a chat format's file */
    char *format_path;
    struct ks_script_thread *thread;

    lua_State *L;
    size_t memory_bytes;
    bool memory_capped; /* an allocation ran into the cap */
    uint64_t steps, max_steps;
    enum ks_script_kill kill;
    enum ks_code code; /* of the error that is under way */
    bool loading;      /* else in a hook */
    bool failed;       /* the last job; `error` says why */
    struct ks_error error;

    uint64_t seed, random; /* where math.random started, and is */
    bool random_used, seed_known;

    struct ks_script_param *params;
    size_t n_params;
    bool params_declared;
    bool params_late;       /* by scenario{}: they hold when the script is run again */
    char *undeclared_param; /* the first one read, and where */
    int undeclared_line;

    struct ks_script_model *models;
    size_t n_models;
    struct ks_script_imatrix *imatrices;
    size_t n_imatrices;
    struct ks_script_corpus *corpora;
    size_t n_corpora;
    struct ks_arm_spec *arms;
    size_t n_arms;
    struct ks_plan *plan; /* once scenario{} was called */
    int plan_line;
    int hooks[KS_HOOKS]; /* references, or LUA_NOREF */
    int *renders;        /* a reference for each corpus of the plan, or LUA_NOREF */

    enum ks_hook hook; /* the one to run */
    uint64_t epoch;    /* of the view that is alive; views of others are dead */
    struct ks_run_view view;
    struct ks_render_job render;
    struct ks_effect effects[KS_MAX_EFFECTS];
    size_t n_effects;
};

/* The script whose state L is. */
static inline struct ks_script *ks_script_of(lua_State *L)
{
    return *(struct ks_script **)lua_getextraspace(L);
}

/* params and overrides are copied. NULL on failure. */
struct ks_script *ks_script_create(const char *path, const struct ks_param *params, size_t n_params,
                                   const struct ks_scenario_overrides *overrides,
                                   const struct ks_script_limits *limits, struct ks_error *err);
void ks_script_destroy(struct ks_script *s); /* accepts NULL */
/* Forgets what the script made, not what it declared, before it is run again. */
void ks_script_forget(struct ks_script *s);
/* Lets go of models and importance matrices; the plan has its own references. */
void ks_script_close_files(struct ks_script *s);
void ks_script_clear_effects(struct ks_script *s);
void ks_script_clear_render(struct ks_script *s);

#endif
