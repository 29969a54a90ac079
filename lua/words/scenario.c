#include "lua/words/words.h"

#include "engine/base/text.h"
#include "lua/check/check.h"
#include "lua/check/frozen.h"
#include "lua/script/failure.h"
#include "lua/words/params.h"
#include "lua/words/parts.h"

static const struct ks_key scenario_keys[] = {
    {"name", false},        {"reference", false}, {"corpus", false},  {"window", false},
    {"scoring", false},     {"arms", false},      {"top_k", false},   {"seed", false},
    {"on_start", false},    {"on_window", false}, {"on_done", false}, {"order", false},
    {"context_min", false}, {"head", false},      {"threads", false}, {"params", false},
    {"stop", true},         {NULL, false},
};

#define SCENARIO_EXAMPLE                                                                           \
    "scenario { reference = model \"x.gguf\", corpus = text \"y.txt\", arms = { ... } }"

static void read_choices(const struct ks_form *form, struct ks_plan *plan)
{
    static const char *const scorings[] = {"window", "llama", NULL};
    static const char *const heads[] = {"auto", "cpu", "vulkan", NULL};
    static const char *const orders[] = {"shuffled", "file", NULL};
    if (ks_form_choice(form, "scoring", scorings) == 1)
        plan->scoring = KS_SCORING_LLAMA;
    int head = ks_form_choice(form, "head", heads);
    plan->head = head == 1 ? KS_HEAD_CPU : head == 2 ? KS_HEAD_VULKAN : KS_HEAD_AUTO;
    int order = ks_form_choice(form, "order", orders);
    plan->file_order = order == 1;
    if (order == 0 && plan->scoring == KS_SCORING_LLAMA)
        ks_word_fail(form->L, KS_BAD_INPUT,
                     "scenario: order = \"shuffled\" and scoring = \"llama\", which takes the "
                     "documents in their files' order");
}

static void read_numbers(const struct ks_form *form, struct ks_plan *plan)
{
    const struct ks_scenario_overrides *overrides = &ks_script_of(form->L)->overrides;
    lua_Integer context = ks_model_info(plan->reference)->context, n;
    if (ks_form_integer(form, "window", 2, context > 2 ? context : 2, &n))
        plan->window = (uint32_t)n;
    if (overrides->window)
        plan->window = overrides->window;
    lua_Integer window = plan->window ? plan->window : context;
    if (ks_form_integer(form, "context_min", 1, window > 2 ? window - 1 : 1, &n))
        plan->context_min = (uint32_t)n;
    if (ks_form_integer(form, "top_k", 1, 32, &n))
        plan->top_k = (int)n;
    if (ks_form_integer(form, "threads", 1, 1024, &n))
        plan->threads = (int)n;
    if (overrides->threads)
        plan->threads = overrides->threads;
}

/* math.random starts from the seed. A script that drew numbers before it said so is run again. */
static void read_seed(const struct ks_form *form, struct ks_plan *plan)
{
    struct ks_script *s = ks_script_of(form->L);
    lua_Integer n;
    if (ks_form_integer(form, "seed", 0, LUA_MAXINTEGER, &n))
        plan->seed = (uint64_t)n;
    if (plan->seed == s->seed)
        return;
    if (s->random_used && s->seed_known)
        ks_word_fail(form->L, KS_BAD_INPUT,
                     "scenario: seed = %llu depends on math.random, which starts from the seed",
                     (unsigned long long)plan->seed);
    s->seed = s->random = plan->seed;
    s->seed_known = true;
    if (s->random_used) {
        s->kill = KS_KILL_AGAIN;
        ks_failure_raise_kill(form->L);
    }
}

static void read_hooks(const struct ks_form *form)
{
    static const char *const names[KS_HOOKS] = {"on_start", "on_window", "on_done"};
    struct ks_script *s = ks_script_of(form->L);
    for (int i = 0; i < KS_HOOKS; i++) {
        int type = ks_form_get(form, names[i]);
        if (type != LUA_TNIL && type != LUA_TFUNCTION)
            ks_form_wrong(form, names[i], "a function");
        if (type == LUA_TFUNCTION)
            s->hooks[i] = luaL_ref(form->L, LUA_REGISTRYINDEX);
        else
            lua_pop(form->L, 1);
    }
}

static void read_reference(const struct ks_form *form, struct ks_plan *plan)
{
    lua_State *L = form->L;
    if (ks_form_get(form, "reference") == LUA_TNIL)
        ks_word_fail(L, KS_BAD_INPUT,
                     "scenario: reference is missing; write reference = model \"x.gguf\"");
    size_t index = ks_word_model_at(L, lua_gettop(L), "scenario: reference");
    plan->reference = ks_model_ref(ks_script_of(L)->models[index].model);
    lua_pop(L, 1);
}

static void name_plan(const struct ks_form *form, struct ks_plan *plan)
{
    const struct ks_script *s = ks_script_of(form->L);
    const char *name = ks_form_string(form, "name");
    if (name && !ks_text_printable(name))
        ks_word_fail(form->L, KS_BAD_INPUT, "scenario: name has characters that can't be printed");
    plan->name = ks_word_copy(form->L, name ? name : s->stem);
    plan->scenario = ks_word_copy(form->L, s->path);
}

static void read_late_params(const struct ks_form *form)
{
    if (ks_form_get(form, "params") != LUA_TNIL)
        ks_params_declare_late(form->L, lua_gettop(form->L));
    lua_pop(form->L, 1);
}

int ks_word_scenario(lua_State *L)
{
    struct ks_script *s = ks_script_of(L);
    ks_word_only_loading(L, "scenario");
    lua_settop(L, 1);
    const struct ks_form form = {L, 1, "scenario"};
    ks_form_open(&form, scenario_keys, SCENARIO_EXAMPLE);
    if (s->plan)
        ks_word_fail(L, KS_BAD_INPUT, "scenario was called before, in line %d; a file has one",
                     s->plan_line);
    struct ks_error err;
    s->plan_line = ks_word_line(L);
    s->plan = ks_plan_create(&err);
    if (!s->plan)
        ks_word_fail_with(L, &err);
    read_late_params(&form);
    read_seed(&form, s->plan);
    name_plan(&form, s->plan);
    read_reference(&form, s->plan);
    read_choices(&form, s->plan);
    read_numbers(&form, s->plan);
    ks_scenario_read_corpora(&form);
    ks_scenario_read_arms(&form);
    read_hooks(&form);
    lua_newtable(L);
    ks_frozen_push(L, (struct ks_frozen){.kind = KS_FROZEN_SCENARIO, .what = "a scenario"});
    return 1;
}
