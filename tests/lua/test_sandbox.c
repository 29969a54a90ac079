/*
 * Scripts that misbehave: each must come back as an error within the limits, never as a crash, a
 * hang or a success.
 */
#include "tests/testing.h"

#include "tests/lua/scripts.h"

struct attack {
    const char *script;
    int line; /* 0: none */
    const char *words;
};

static void attack_all(void **state, const struct ks_script_limits *limits,
                       const struct attack *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuse_within(*state, rows[i].script, limits, rows[i].line, rows[i].words, KS_BAD_INPUT);
}

#define ATTACK_ALL(state, rows)                                                                    \
    attack_all(state, &small_limits, rows, sizeof(rows) / sizeof *(rows))

static void an_endless_loop_is_ended(void **state)
{
    static const struct attack rows[] = {
        {"\nwhile true do end", 2, "ended after|endless"},
        {"local function f() return f() end\nf()", 1, "ended after"},
        {"for i = 1, math.huge do end", 1, "ended after"},
        {"::top:: goto top", 1, "ended after"},
        {"local x <const> = 1\nrepeat until x == 2", 2, "ended after"},
    };
    ATTACK_ALL(state, rows);
}

static void a_kill_passes_through_pcall(void **state)
{
    static const struct attack rows[] = {
        {"while true do pcall(function() while true do end end) end", 1, "ended after"},
        {"local function f() pcall(f) while true do end end\nf()", 1, "ended after"},
        {"pcall(pcall, function() while true do end end)\n" SCENARIO_OF(""), 1, "ended after"},
        {"pcall(table.sort, { 3, 2, 1 }, function() while true do end end)\n" SCENARIO_OF(""), 1,
         "ended after"},
        {"pcall(string.gsub, 'x', 'x', function() while true do end end)\n" SCENARIO_OF(""), 1,
         "ended after"},
        {"local ok = pcall(function() for i = 1, 1e18 do end end)\n"
         "for i = 1, 1e18 do ok = pcall(error, i) end",
         1, "ended after"},
    };
    ATTACK_ALL(state, rows);
}

static void a_loop_that_takes_too_long_is_ended_at_its_line(void **state)
{
    refuse_within(*state, "\nwhile true do end", &hasty_limits, 2,
                  "ended after 0.3 s; is a loop endless?", KS_BAD_INPUT);
}

static void a_loop_inside_c_is_abandoned(void **state)
{
    static const struct attack rows[] = {
        {"local s = ('a'):rep(100000)\nlocal x = s:find(('.-'):rep(20) .. 'b')", 0,
         "did not load within 0.3 s|abandoned"},
        {"pcall(table.move, {}, 1, 1 << 60, 2)\n" SCENARIO_OF(""), 0, "abandoned"},
    };
    attack_all(state, &hasty_limits, rows, 2);
}

static void memory_is_bounded(void **state)
{
    static const struct attack rows[] = {
        {"local s = 'x'\nwhile true do s = s .. s end", 0, "more than its 16 MB of memory"},
        {"local t = {}\nfor i = 1, 1e9 do t[i] = i end", 0, "more than its 16 MB of memory"},
        {"local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1000000) .. #t end", 0,
         "more than its 16 MB"},
        {"local t = {}\nfor i = 1, 30 do t[i] = ('x'):rep(1000000) end\n"
         "local s = table.concat(t)",
         0, "more than its 16 MB"},
        {"local s = ('x'):rep(1000000)\nlocal y = s:gsub('.', s)", 0, "more than its 16 MB"},
        {"local t = table.pack(('x'):rep(1000000):byte(1, -1))", 1, "too long|slice"},
        {"local x = ('x'):rep(1 << 40)", 1, "string.rep: the text would be over 1 MB"},
        {"local x = ('x'):rep(1 << 62, 'yy')", 1, "string.rep: the text would be over"},
        {"local x = string.rep('x', 2, ('y'):rep(1 << 20))", 1, "string.rep: the text"},
        {"local s = string.format('%99999d', 1)", 1, "invalid"},
        {"local x = table.unpack({}, 1, 1 << 40)", 1, "too many results to unpack"},
    };
    ATTACK_ALL(state, rows);
    ks_plan_destroy(load_good(*state, "assert(('').rep('', 1 << 60) == '')\n"
                                      "assert(('ab'):rep(3, '-') == 'ab-ab-ab')\n"
                                      "assert(('x'):rep(-1) == '')\n" SCENARIO_OF("")));
}

static void memory_that_pcall_gave_back_can_be_used(void **state)
{
    ks_plan_destroy(load_good(
        *state, "local function bomb() local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. "
                "#t end end\n"
                "for i = 1, 3 do\n"
                "  local ok, why = pcall(bomb)\n"
                "  assert(not ok and why == 'not enough memory')\n"
                "end\n" SCENARIO_OF("")));
}

static void recursion_is_bounded(void **state)
{
    static const struct attack rows[] = {
        {"local function f() return 1 + f() end\nf()", 1, "stack overflow"},
        {"local function f(...) return select('#', f(...)) end\nf()", 1, "overflow"},
        {"local function f() pcall(f) end\nf()\nerror('out')", 3, "out"},
        {"local function f(s) return (s:gsub('.', f)) end\nf('x')", 1, "overflow"},
        {"local function f(a, b) table.sort({ 2, 1 }, f) end\nf()", 1, "overflow"},
        {"local s = ('('):rep(100000)\nlocal x = ('a'):match(s)", 2, "too many captures"},
    };
    attack_all(state, &roomy_limits, rows, sizeof rows / sizeof *rows);
}

static void deep_source_is_refused(void **state)
{
    size_t n = 100000;
    char *script = malloc(n + 1);
    assert_non_null(script);
    const char openers[] = "({-";
    for (size_t i = 0; i < 3; i++) {
        memcpy(script, "x =", 3);
        memset(script + 3, openers[i], n - 3);
        script[n] = '\0';
        struct ks_error err = {0};
        struct ks_plan *plan = load(*state, script, &err);
        assert_null(plan);
        assert_int_equal(err.code, KS_BAD_INPUT);
    }
    free(script);
}

static void bytecode_is_refused(void **state)
{
    struct ks_error err = {0};
    assert_null(load_within(*state, "\x1bLua\x54\x00\x19\x93\r\n\x1a\n", 12, &small_limits, &err));
    assert_int_equal(err.code, KS_BAD_INPUT);
    assert_non_null(strstr(err.text, "binary chunk"));
    assert_null(
        load_within(*state, "x = 1\0return", 12, &small_limits, &err)); /* a NUL is no end */
    assert_non_null(strstr(err.text, "test.lua:1:"));
}

static void metatables_are_out_of_reach(void **state)
{
    static const struct attack rows[] = {
        {"getmetatable('').__index = nil", 1, "`getmetatable` is not there"},
        {"local mt = ('').__index", 1, "no field `__index`"},
        {"local m = model 'tiny.gguf'\nlocal x = m.__gc", 2, "no field `__gc`"},
        {"local m = model 'tiny.gguf'\nm.__index = print", 2, "read-only"},
        {"local m = model 'tiny.gguf'\ntable.insert(m.tensors, 1)", 2, "read-only"},
        {"local m = model 'tiny.gguf'\ntable.sort(m.tensors)", 2,
         "table.sort needs a list, found "},
        {"local x <close> = {}", 1, "non-closable"},
        {"local m = model 'tiny.gguf'\nlocal x = m .. ''", 2, "concatenate"},
        {"local m = model 'tiny.gguf'\nlocal x = m < m", 2, "compare"},
        {"local _ENV = { error = error }\nprint(1)", 2, "nil value"},
        {"_ENV._ENV = 1\n_ENV[1] = 2", 2, "globals are set by name, not by 1"},
        {"local x = _ENV[print]", 1, "globals are read by name, not by a function"},
    };
    ATTACK_ALL(state, rows);
}

static void nothing_shows_an_address(void **state)
{
    ks_plan_destroy(load_good(
        *state,
        "local m = model 'tiny.gguf'\n"
        "for _, v in ipairs { {}, print, m, function() end, m.tensors } do\n"
        "  for _, s in ipairs { tostring(v), string.format('%s', v), ('%5s'):format(v) } do\n"
        "    assert(not s:find '0x', s)\n"
        "  end\n"
        "end\n"
        "assert(string.format('%d%% %s %s', 5, 'x', true) == '5% x true')\n"
        "assert(tostring(1) == '1' and tostring(nil) == 'nil')\n"
        "for _, f in ipairs { '%p', '%-20p', '%%%p' } do\n"
        "  local ok, why = pcall(string.format, f, {})\n"
        "  assert(not ok and why:find 'addresses', why)\n"
        "end\n" SCENARIO_OF("")));
}

static void pairs_walks_in_sorted_order(void **state)
{
    ks_plan_destroy(load_good(
        *state, "local t = { [true] = 1, b = 1, a = 1, [2.5] = 1, [10] = 1, [-1] = 1, [2] = 1,\n"
                "            [false] = 1, aa = 1, ['a\\0'] = 1, B = 1, ['\\xff'] = 1,\n"
                "            [math.maxinteger] = 1, [math.huge] = 1, [-math.huge] = 1 }\n"
                "local seen = {}\n"
                "for k, v in pairs(t) do seen[#seen + 1] = tostring(k):gsub('%c', '0') .. '' end\n"
                "assert(table.concat(seen, ' ') == '-inf -1 2 2.5 10 9223372036854775807 inf ' ..\n"
                "       'B a a0 aa b \\xff false true', table.concat(seen, ' '))\n"
                "t = { a = 1, b = 2, c = 3 }\n"
                "seen = ''\n"
                "for k in pairs(t) do seen = seen .. k; t.b = nil; t.d = 1 end\n"
                "assert(seen == 'ac')\n"
                "assert(pairs {} (nil) == nil)\n" SCENARIO_OF("")));
    refuse(*state, "for k in pairs { [{}] = 1 } do end", 1, "a key that is a table has no order",
           KS_BAD_INPUT);
    refuse(*state, "for k in pairs(5) do end", 1, "pairs needs a table, found 5", KS_BAD_INPUT);
}

static void sort_is_stable_and_by_bytes(void **state)
{
    ks_plan_destroy(
        load_good(*state, "for n = 0, 70 do\n"
                          "  local t = {}\n"
                          "  for i = 1, n do t[i] = { key = math.random(5), place = i } end\n"
                          "  table.sort(t, function(a, b) return a.key < b.key end)\n"
                          "  assert(#t == n)\n"
                          "  for i = 2, n do\n"
                          "    local a, b = t[i - 1], t[i]\n"
                          "    assert(a.key < b.key or (a.key == b.key and a.place < b.place))\n"
                          "  end\n"
                          "end\n"
                          "local s = { 'b', 'B', 'a', '\\xc3\\xa4', 'aa' }\n"
                          "table.sort(s)\n"
                          "assert(table.concat(s, ' ') == 'B a aa b \\xc3\\xa4')\n"
                          "local x = { 3, 1.5, -2, 1e300 }\n"
                          "table.sort(x)\n"
                          "assert(x[1] == -2 and x[2] == 1.5 and x[4] == 1e300)\n"
                          "table.sort(x, function() return true end)\n" SCENARIO_OF("")));
    refuse(*state, "table.sort { 1, 'x' }", 1, "attempt to compare", KS_BAD_INPUT);
}

static void random_numbers_start_from_the_seed(void **state)
{
    static const char script[] =
        "local name = ''\n"
        "for i = 1, 8 do name = name .. ' ' .. math.random(1000) end\n"
        "local x = math.random()\nassert(x >= 0 and x < 1)\n"
        "assert(math.random(7, 7) == 7 and math.type(math.random(0, math.maxinteger)) == "
        "'integer')\n"
        "for i = 1, 100 do local r = math.random(-3, 3) assert(r >= -3 and r <= 3) end\n"
        "local t = {}\nreturn scenario { name = name, reference = 'tiny.gguf', seed = %s,\n"
        "corpus = text 'a.txt', arms = { arm 'x' {} } }";
    static const char *const seeds[] = {"5", "5", "6", "0", "nil"};
    char names[5][64];
    for (size_t i = 0; i < 5; i++) {
        char text[1024];
        snprintf(text, sizeof text, script, seeds[i]);
        struct ks_plan *plan = load_good(*state, text);
        snprintf(names[i], sizeof names[i], "%s", plan->name);
        ks_plan_destroy(plan);
    }
    assert_string_equal(names[0], names[1]);
    assert_string_not_equal(names[1], names[2]);
    assert_string_not_equal(names[1], names[3]);
    assert_string_equal(names[3], names[4]);
    refuse(*state, SCENARIO_OF("seed = math.random(1000)"), 1, "seed = |depends on math.random",
           KS_BAD_INPUT);
    refuse(*state, "math.random(2, 1)", 1, "nothing lies from 2 to 1", KS_BAD_INPUT);
}

static void errors_that_are_caught_are_forgotten(void **state)
{
    ks_plan_destroy(load_good(
        *state, "local ok, why = pcall(arm 'x', { backend = {} })\n"
                "assert(not ok and why:find('later version'))\n"
                "ok, why = pcall(error)\nassert(not ok and why == nil)\n"
                "ok, why = pcall(error, { 5 })\nassert(not ok and why[1] == 5)\n"
                "assert(select('#', pcall(function() return 1, nil end)) == 3)\n" SCENARIO_OF("")));
    refuse(*state, "pcall(arm 'x', { backend = {} })\nerror('mine')", 2, "mine", KS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endless_loop_is_ended),
        cmocka_unit_test(a_kill_passes_through_pcall),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(memory_that_pcall_gave_back_can_be_used),
        cmocka_unit_test(recursion_is_bounded),
        cmocka_unit_test(deep_source_is_refused),
        cmocka_unit_test(bytecode_is_refused),
        cmocka_unit_test(metatables_are_out_of_reach),
        cmocka_unit_test(nothing_shows_an_address),
        cmocka_unit_test(pairs_walks_in_sorted_order),
        cmocka_unit_test(sort_is_stable_and_by_bytes),
        cmocka_unit_test(random_numbers_start_from_the_seed),
        cmocka_unit_test(errors_that_are_caught_are_forgotten),
        cmocka_unit_test(a_loop_that_takes_too_long_is_ended_at_its_line),
        cmocka_unit_test(a_loop_inside_c_is_abandoned), /* last: it leaves two threads busy */
    };
    return cmocka_run_group_tests(tests, folder_create, folder_destroy);
}
