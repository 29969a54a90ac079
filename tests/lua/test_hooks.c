#include "tests/testing.h"

#include <math.h>

#include "tests/lua/recorder.h"
#include "tests/lua/scripts.h"

static const struct ks_arm_facts arms[] = {{.name = "q8", .bytes = 800},
                                           {.name = "q4", .bytes = 400}};
static const struct ks_facts facts = {.arms = arms, .n_arms = 2};

/* Two arms: q8 with numbers, q4 with none yet. */
static struct ks_snapshot snapshot(struct ks_arm_snapshot arm[2], size_t windows)
{
    arm[0] = (struct ks_arm_snapshot){.state = KS_ARM_RUNNING,
                                      .why = "",
                                      .numbers = {.kld_mean = 0.5,
                                                  .kld_sem = 0.125,
                                                  .kld_p99 = 2,
                                                  .kld_max = 3,
                                                  .ppl_arm = 11,
                                                  .top1_agreement = 0.75,
                                                  .topk_overlap = 0.5,
                                                  .nonfinite = 4}};
    arm[1] = (struct ks_arm_snapshot){.why = "",
                                      .numbers = {.kld_mean = NAN, .kld_sem = NAN, .kld_p99 = NAN}};
    return (struct ks_snapshot){.state = KS_RUN_RUNNING,
                                .facts = &facts,
                                .windows = windows,
                                .positions = 100 * windows,
                                .arms = arm};
}

static struct ks_plan *load_hooks(void **state, const char *script,
                                  const struct ks_script_limits *limits)
{
    struct ks_error err = {0};
    recorder_clear();
    struct ks_plan *plan = load_within(*state, script, strlen(script), limits, &err);
    if (!plan)
        fail_msg("%s\n%s", err.text, script);
    assert_non_null(plan->hooks.destroy);
    return plan;
}

static void window(struct ks_plan *plan, size_t n)
{
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, n);
    plan->hooks.on_window(plan->hooks.ctx, NULL, &s);
}

static void expect(const char *words)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *save, *word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save))
        if (!strstr(recorded, word))
            fail_msg("no \"%s\" in:\n%s", word, recorded);
}

/* Loads a scenario with that on_window, runs it on windows 1..n, expects the words. */
static void expect_of(void **state, const char *body, size_t n, const char *words)
{
    char script[2048];
    snprintf(script, sizeof script,
             "local kept\nlocal q4 = arm 'q4' {}\nlocal function hook(run)\n%s\nend\n"
             "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt',\n"
             "arms = { arm 'q8' {}, q4 }, on_window = hook }",
             body);
    struct ks_plan *plan = load_hooks(state, script, &small_limits);
    for (size_t i = 1; i <= n; i++)
        window(plan, i);
    expect(words);
    ks_plan_destroy(plan);
}

static void a_hook_reads_the_runs_numbers(void **state)
{
    expect_of(
        state,
        "if run.windows < 3 then return end\n"
        "local a, b = run.arms[1], run.arms[2]\n"
        "assert(run.windows == 3 and run.positions == 300 and #run.arms == 2)\n"
        "assert(a.name == 'q8' and a.bytes == 800 and b.name == 'q4' and b.bytes == 400)\n"
        "assert(a.kld_mean.value == 0.5)\n"
        "assert(a.kld_mean.low == 0.5 - 1.96 * 0.125 and a.kld_mean.high == 0.5 + 1.96 * 0.125)\n"
        "assert(a.kld_p99 == 2 and a.kld_max == 3 and a.ppl == 11)\n"
        "assert(a.top1 == 0.75 and a.overlap == 0.5 and a.nonfinite == 4)\n"
        "assert(b.kld_p99 ~= b.kld_p99 and not (b.kld_mean.low > 0))\n"
        "assert(run.arms[3] == nil)\n"
        "local n = 0\n"
        "for i, x in ipairs(run.arms) do n = n + i; assert(x == run.arms[i]) end\n"
        "assert(n == 3)\n"
        "run:note('all well')",
        3, "note I all well\n");
    char script[] =
        "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm "
        "'q8' {} }, on_window = function(run)\n"
        "for _, a in ipairs(run.arms) do run:note(string.format('%s %d %.3f %.3f %.3f "
        "%g %g %g %g %g %d', a.name, a.bytes, a.kld_mean.value, a.kld_mean.low,\n"
        "a.kld_mean.high, a.kld_p99, a.kld_max, a.ppl, a.top1, a.overlap, a.nonfinite)) "
        "end\nrun:note(run.windows .. ' ' .. run.positions) end }";
    struct ks_plan *plan = load_hooks(state, script, &small_limits);
    window(plan, 3);
    expect("note I q8 800 0.500 0.255 0.745 2 3 11 0.75 0.5 4\n|note I q4 400 |nan|note I 3 300\n");
    ks_plan_destroy(plan);
}

static void a_hook_steers_the_run(void **state)
{
    expect_of(
        state,
        "if run.windows == 1 then run:note('one\\ntwo') run:drop(run.arms[1], 'hopeless') end\n"
        "if run.windows == 2 then run:drop(q4, 'by value') run:drop('q8') end\n"
        "if run.windows == 3 then run:stop('enough') end",
        3,
        "note I one two\ndrop 0 hopeless\n|drop 1 by value\ndrop 0 dropped by the scenario\n|"
        "stop enough\n");
}

static void an_arm_that_is_out_is_dropped_no_second_time(void **state)
{
    struct ks_plan *plan =
        load_hooks(state, SCENARIO_OF("on_window = function(run) run:drop(run.arms[2], 'x') end"),
                   &small_limits);
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, 1);
    arm[1].state = KS_ARM_DROPPED;
    plan->hooks.on_window(plan->hooks.ctx, NULL, &s);
    assert_null(strstr(recorded, "drop"));
    ks_plan_destroy(plan);
}

static void wrong_use_of_a_view_is_told(void **state)
{
    static const char *const rows[][2] = {
        {"local x = run.window", "the run has no field `window`, did you mean `windows`?"},
        {"local x = run.arms[1].kld_men",
         "the run's arm has no field `kld_men`, did you mean `kld_m"},
        {"local x = run.arms[1].kld_mean.lo", "kld_mean has no field `lo`, did you mean `low`?"},
        {"local x = run.arms[1].kld_mean > 0.2", "attempt to compare"},
        {"run.windows = 5", "the run is read-only"},
        {"run.arms[1].bytes = 5", "the run's arm is read-only"},
        {"run.note('x')", "note is called with a colon: run:note(...)"},
        {"run:drop('q4x')", "run:drop: the run has no arm \"q4x\", did you mean `q4`?"},
        {"run:drop(5)", "run:drop: the arm must be a string, found 5"},
        {"run:drop()", "run:drop: the arm must be a string, found nothing"},
        {"run:add(q4)", "run:add is for a later version"},
        {"counter = 1", "the global `counter` can't be set in a hook; declare `local counter`"},
        {"model 'tiny.gguf'", "`model` is for loading"},
        {"arm 'x'", "`arm` is for loading"},
        {"text 'a.txt'", "`text` is for loading"},
        {"scenario {}", "`scenario` is for loading"},
        {"params = {}", "params are declared at the head of the file"},
        {"for i = 1, 300 do run:note(i) end", "more than 256 notes at once"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_of(state, rows[i][0], 2, rows[i][1]);
        expect("note W lua hook is off, the run goes on: |test.lua:4: ");
        assert_null(strstr(strstr(recorded, "is off") + 1, "is off")); /* once */
    }
}

static void a_view_is_dead_after_its_hook(void **state)
{
    static const char *const rows[][2] = {
        {"kept = kept or run; kept:note('w' .. run.windows); local x = kept.windows",
         "note I w1\n|the run was read after its hook had returned"},
        {"kept = kept or run.arms; local x = kept[1]", "run.arms was read after its hook"},
        {"kept = kept or run.arms[1]; local x = kept.name",
         "the run's arm was read after its hook"},
        {"kept = kept or run.arms[1].kld_mean; local x = kept.low", "kld_mean was read after"},
        {"kept = kept or run.arms[1]; run:drop(kept)", "the run's arm was read after"},
        {"kept = kept or run; kept:stop()", "the run was read after"},
        {"kept = kept or run; for k in pairs(kept) do end", "the run was read after"},
        {"kept = kept or run.arms; local x = #kept", "run.arms was read after"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_of(state, rows[i][0], 2, rows[i][1]);
}

static void a_hook_that_fails_is_off_and_the_others_go_on(void **state)
{
    struct ks_plan *plan =
        load_hooks(state,
                   "local function fall(n) error('deep ' .. n.windows) end\n" SCENARIO_OF(
                       "on_start = function(run) run:note('before') fall(run) end,\n"
                       "on_window = function(run) run:note('window') end,\n"
                       "on_done = function(run) run:note('done') end"),
                   &small_limits);
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, 1);
    for (int i = 0; i < 2; i++)
        plan->hooks.on_start(plan->hooks.ctx, NULL, &s);
    expect("note I before\nnote W lua hook is off, the run goes on: on_start: |"
           "test.lua:1: deep 1 (in fall, called from line 2 in the function of line 2)");
    recorder_clear();
    plan->hooks.on_start(plan->hooks.ctx, NULL, &s);
    assert_string_equal(recorded, "");
    window(plan, 1);
    plan->hooks.on_done(plan->hooks.ctx, NULL, &s);
    expect("note I window\n|note I done\n");
    ks_plan_destroy(plan);
}

static void a_hook_that_loops_is_ended_and_all_are_off(void **state)
{
    struct ks_plan *plan = load_hooks(
        state,
        SCENARIO_OF(
            "on_window = function(run) run:note('once')\npcall(function() while true do end "
            "end) end,\non_done = function(run) run:note('done') end"),
        &small_limits);
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, 1);
    window(plan, 1);
    window(plan, 2);
    plan->hooks.on_done(plan->hooks.ctx, NULL, &s);
    expect("note I once\nnote W lua hooks are off, the run goes on: on_window: |test.lua:2: the "
           "script was ended "
           "after 1000000 instructions");
    assert_null(strstr(recorded, "note I done"));
    ks_plan_destroy(plan);
}

static void a_hook_that_eats_memory_is_off(void **state)
{
    expect_of(state, "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1000000) .. #t end", 1,
              "lua hook is off, the run goes on: on_window: |more than its 16 MB of memory");
}

static void a_hook_stuck_in_c_is_abandoned(void **state)
{
    struct ks_plan *plan =
        load_hooks(state,
                   SCENARIO_OF("on_window = function(run) run:note('never')\n"
                               "local x = ('a'):rep(100000):find(('.-'):rep(20) .. 'b') end,\n"
                               "on_done = function(run) run:note('done') end"),
                   &hasty_limits);
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, 1);
    window(plan, 1);
    window(plan, 2);
    plan->hooks.on_done(plan->hooks.ctx, NULL, &s);
    expect(
        "note W lua hooks are off, the run goes on: |test.lua: on_window did not return within 0.2 "
        "s and was abandoned");
    assert_null(strstr(recorded, "never"));
    assert_null(strstr(recorded, "note I done"));
    ks_plan_destroy(plan);
}

static void the_time_of_a_hook_is_told_once(void **state)
{
    expect_of(state, "local x = run.windows", 50, "note I lua on_window |ms\n");
    assert_null(strchr(strchr(recorded, '\n') + 1, '\n'));
}

static void what_is_printed_reaches_the_log(void **state)
{
    struct ks_plan *plan = load_hooks(
        state, "print('loaded', 5, nil, {})\n" SCENARIO_OF("on_window = function() print 'w' end"),
        &small_limits);
    struct ks_arm_snapshot arm[2];
    struct ks_snapshot s = snapshot(arm, 0);
    plan->hooks.on_start(plan->hooks.ctx, NULL, &s);
    assert_string_equal(recorded, "note I loaded 5 nil a table\n");
    window(plan, 1);
    expect("note I w\n");
    ks_plan_destroy(plan);
    plan = load_hooks(state, "print 'alone'\n" SCENARIO_OF(""), &small_limits);
    plan->hooks.on_start(plan->hooks.ctx, NULL, &s);
    assert_string_equal(recorded, "note I alone\n");
    assert_null(plan->hooks.on_window);
    ks_plan_destroy(plan);
}

static void a_hook_keeps_its_own_state_and_random_numbers(void **state)
{
    static const char script[] = "local sum = 0\nlocal total\n" SCENARIO_OF(
        "seed = 3, on_window = function(run)\n"
        "sum = sum + run.windows\n"
        "run:note(sum .. ' ' .. math.random(1 << 40)) end");
    char first[1024];
    struct ks_plan *plan = load_hooks(state, script, &small_limits);
    for (size_t i = 1; i <= 3; i++)
        window(plan, i);
    ks_plan_destroy(plan);
    expect("note I 6 ");
    const char *last = strstr(recorded, "note I 6 ");
    snprintf(first, sizeof first, "%s", last);
    plan = load_hooks(state, script, &small_limits);
    for (size_t i = 1; i <= 3; i++)
        window(plan, i);
    ks_plan_destroy(plan);
    expect(first);
}

static void a_snapshot_without_facts_has_no_arms(void **state)
{
    struct ks_plan *plan = load_hooks(
        state, SCENARIO_OF("on_start = function(run) run:note(#run.arms) end"), &small_limits);
    struct ks_snapshot s = {.state = KS_RUN_PREPARING};
    plan->hooks.on_start(plan->hooks.ctx, NULL, &s);
    expect("note I 0\n");
    ks_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hook_reads_the_runs_numbers),
        cmocka_unit_test(a_hook_steers_the_run),
        cmocka_unit_test(an_arm_that_is_out_is_dropped_no_second_time),
        cmocka_unit_test(wrong_use_of_a_view_is_told),
        cmocka_unit_test(a_view_is_dead_after_its_hook),
        cmocka_unit_test(a_hook_that_fails_is_off_and_the_others_go_on),
        cmocka_unit_test(a_hook_that_loops_is_ended_and_all_are_off),
        cmocka_unit_test(a_hook_that_eats_memory_is_off),
        cmocka_unit_test(the_time_of_a_hook_is_told_once),
        cmocka_unit_test(what_is_printed_reaches_the_log),
        cmocka_unit_test(a_hook_keeps_its_own_state_and_random_numbers),
        cmocka_unit_test(a_snapshot_without_facts_has_no_arms),
        cmocka_unit_test(a_hook_stuck_in_c_is_abandoned), /* last: it leaves a thread busy */
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}
