/*
 * SPIR-V that is kept beside its sources, for want of a compiler on every machine: that it was made
 * of the sources as they are, and, where the tools are, that they make it again and accept it.
 */
#include "tests/testing.h"

#include <stdbool.h>
#include <unistd.h>

#include "tests/sha256.h"

#define FOLDER "gpu/shaders/matrix"

static void path_of(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/" FOLDER "/%s", getenv("KS_SOURCE_ROOT"), name);
}

static const char *const shaders[] = {"lanes", "matrix", "matrix_halves"};

/* A .inc's first lines are comments: how it was made, then digest and name of each source. */
static void check_sources(const char *shader)
{
    char path[1024], name[256], said[65], is[65];
    snprintf(name, sizeof name, "%s.inc", shader);
    path_of(name, path, sizeof path);
    size_t n, sources = 0;
    char *text = test_read_file(path, &n);
    for (char *line = strchr(text, '\n') + 1; sscanf(line, "// %64s %255s", said, name) == 2;
         line = strchr(line, '\n') + 1, sources++) {
        path_of(name, path, sizeof path);
        char *source = test_read_file(path, &n);
        sha256_hex(source, n, is);
        free(source);
        if (strcmp(said, is) != 0)
            fail_msg("%s has changed since %s.inc was made of it: run " FOLDER "/make", name,
                     shader);
    }
    assert_true(sources >= 1);
    free(text);
}

static void kept_shaders_were_compiled_from_their_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shaders / sizeof *shaders; i++)
        check_sources(shaders[i]);
}

/* ------------------------------------------------------------------ where the tools are */

static const char *tool(const char *variable, const char *usual)
{
    const char *named = getenv(variable);
    return named ? named : usual;
}

/* Whether a command succeeds; what it prints goes nowhere. */
static bool succeeds(const char *command)
{
    char quiet[4096];
    snprintf(quiet, sizeof quiet, "%s >/dev/null 2>&1", command);
    return system(quiet) == 0;
}

static bool has_compiler(void)
{
    char command[1100];
    snprintf(command, sizeof command, "%s --version", tool("GLSLANG", "glslang"));
    return succeeds(command);
}

/* Cooperative matrices came to spirv-val with version 2023.4. */
static bool has_validator(void)
{
    char command[1200];
    snprintf(command, sizeof command,
             "test \"$(%s --version | sed -n 's/^SPIRV-Tools "
             "v20\\([0-9][0-9]\\)\\.\\([0-9]\\).*/\\1\\2/p')\" "
             "-ge 234",
             tool("SPIRV_VAL", "spirv-val"));
    return succeeds(command);
}

static void compare_made(const char *folder, const char *shader)
{
    char name[256], path[1024];
    size_t n, m;
    snprintf(name, sizeof name, "%s.inc", shader);
    path_of(name, path, sizeof path);
    char *kept = test_read_file(path, &n);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *made = test_read_file(path, &m);
    unlink(path);
    if (strncmp(kept, made, strcspn(kept, "\n") + 1) != 0)
        print_message("another compiler than the one that made %s: %.*s\n", name,
                      (int)strcspn(made, "\n"), made);
    else
        assert_string_equal(made, kept);
    free(kept);
    free(made);
}

static void the_compiler_makes_the_same_shaders_again(void **state)
{
    (void)state;
    char path[1024], folder[] = "/tmp/kldscope-spirv-XXXXXX", command[2200];
    assert_non_null(mkdtemp(folder));
    path_of("make", path, sizeof path);
    snprintf(command, sizeof command, "%s %s", path, folder);
    assert_true(succeeds(command));
    for (size_t i = 0; i < sizeof shaders / sizeof *shaders; i++)
        compare_made(folder, shaders[i]);
    rmdir(folder);
}

static void check_valid(const uint32_t *words, size_t bytes)
{
    char path[] = "/tmp/kldscope-spirv-XXXXXX", command[1200];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, bytes), bytes);
    close(fd);
    snprintf(command, sizeof command, "%s --target-env vulkan1.2 %s",
             tool("SPIRV_VAL", "spirv-val"), path);
    bool accepted = succeeds(command);
    unlink(path);
    assert_true(accepted);
}

static void the_validator_accepts_the_kept_shaders(void **state)
{
    (void)state;
    static const uint32_t lanes[] =
#include "gpu/shaders/matrix/lanes.inc"
        ;
    static const uint32_t matrix[] =
#include "gpu/shaders/matrix/matrix.inc"
        ;
    static const uint32_t matrix_halves[] =
#include "gpu/shaders/matrix/matrix_halves.inc"
        ;
    check_valid(lanes, sizeof lanes);
    check_valid(matrix, sizeof matrix);
    check_valid(matrix_halves, sizeof matrix_halves);
}

int main(void)
{
    struct CMUnitTest tests[3] = {
        cmocka_unit_test(kept_shaders_were_compiled_from_their_sources),
    };
    size_t n = 1;
    if (has_compiler())
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_compiler_makes_the_same_shaders_again);
    if (has_validator())
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_validator_accepts_the_kept_shaders);
    return _cmocka_run_group_tests("spirv", tests, n, NULL, NULL);
}
