/*
 * What the tests of scenarios share: a folder with a model, corpora and the scenario to load.
 */
#ifndef KS_TESTS_LUA_SCRIPTS_H
#define KS_TESTS_LUA_SCRIPTS_H

#include <string.h>
#include <unistd.h>

#include "lua/scenario.h"
#include "lua/script/limits.h"
#include "tests/testing.h"

struct folder {
    char path[64];
    char file[96]; /* the scenario */
};

/* What a script uses up is small, so that a test which runs into it takes no time. What the clock
 * says is left to those that ask for it: a machine may be busy. */
static const struct ks_script_limits small_limits = {
    .load_ms = 60000,
    .hook_ms = 60000,
    .load_steps = 3000000,
    .hook_steps = 1000000,
    .memory_bytes = 16u << 20,
    .text_bytes = 1u << 20,
};
/* Lua's own limits of depth come before these. */
static const struct ks_script_limits roomy_limits = {
    .load_ms = 60000,
    .hook_ms = 60000,
    .load_steps = 50000000,
    .hook_steps = 50000000,
    .memory_bytes = 256u << 20,
    .text_bytes = 1u << 20,
};
static const struct ks_script_limits hasty_limits = {
    .load_ms = 300,
    .hook_ms = 200,
    .load_steps = UINT64_MAX,
    .hook_steps = UINT64_MAX,
    .memory_bytes = 16u << 20,
    .text_bytes = 1u << 20,
};

static inline void folder_put(const struct folder *f, const char *name, const char *text,
                              size_t len)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    fclose(out);
}

static inline int folder_create(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    assert_non_null(f);
    strcpy(f->path, "/tmp/kldscope-lua-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->file, sizeof f->file, "%s/test.lua", f->path);
    size_t len;
    char *model = test_read_file(test_data("lua/tiny.gguf"), &len);
    folder_put(f, "tiny.gguf", model, len);
    free(model);
    folder_put(f, "a.txt", "once\n", 5);
    folder_put(f, "b.jsonl", "{\"text\": \"upon\"}\n", 17);
    folder_put(f, "c.jsonl", "{\"messages\": []}\n", 17);
    folder_put(f, "fetch.txt", "# x y 1 in/none.gguf\nbig p 1.0 in/far.gguf\n", 43);
    *state = f;
    return 0;
}

static inline int folder_destroy(void **state)
{
    struct folder *f = *state;
    const char *const names[] = {"tiny.gguf", "a.txt",     "b.jsonl",
                                 "c.jsonl",   "fetch.txt", "test.lua"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", f->path, names[i]);
        unlink(path);
    }
    rmdir(f->path);
    free(f);
    return 0;
}

static inline struct ks_plan *load_within(const struct folder *f, const char *script, size_t len,
                                          const struct ks_script_limits *limits,
                                          struct ks_error *err)
{
    folder_put(f, "test.lua", script, len);
    return ks_scenario_load_within(f->file, NULL, 0, NULL, limits, err);
}

static inline struct ks_plan *load(const struct folder *f, const char *script, struct ks_error *err)
{
    return load_within(f, script, strlen(script), &small_limits, err);
}

/* A scenario whose interesting part is before it or in its table. */
#define SCENARIO_OF(more)                                                                          \
    "return scenario { reference = 'tiny.gguf', corpus = text 'a.txt', arms = { arm 'x' {} "       \
    "}, " more " }"

static inline struct ks_plan *load_good(const struct folder *f, const char *script)
{
    struct ks_error err = {0};
    struct ks_plan *plan = load(f, script, &err);
    if (!plan)
        fail_msg("%s\n%s", err.text, script);
    return plan;
}

/* The scenario must be refused at that line (0: no line) with those words, separated by '|'. */
static inline void refuse_within(const struct folder *f, const char *script,
                                 const struct ks_script_limits *limits, int line, const char *words,
                                 enum ks_code code)
{
    struct ks_error err = {0};
    struct ks_plan *plan = load_within(f, script, strlen(script), limits, &err);
    if (plan)
        fail_msg("was not refused: %s", script);
    char place[128];
    if (line)
        snprintf(place, sizeof place, "%s:%d: ", f->file, line);
    else
        snprintf(place, sizeof place, "%s: ", f->file);
    if (strncmp(err.text, place, strlen(place)) != 0)
        fail_msg("not at line %d: %s\n%s", line, err.text, script);
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *save, *word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save))
        if (!strstr(err.text, word))
            fail_msg("no \"%s\" in: %s\n%s", word, err.text, script);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(err.code, code);
}

static inline void refuse(const struct folder *f, const char *script, int line, const char *words,
                          enum ks_code code)
{
    refuse_within(f, script, &small_limits, line, words, code);
}

#endif
