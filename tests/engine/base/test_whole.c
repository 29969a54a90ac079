#include "tests/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/whole.h"

static char folder[] = "/tmp/kldscope-whole-XXXXXX", path[64], part[64], link_path[64];

static int with_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(part, sizeof part, "%s/file.part", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    return 0;
}

static int without_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(link_path);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
    return 0;
}

static void put(const char *where, const char *text, int failed)
{
    struct ks_whole_file w;
    struct ks_error err;
    assert_int_equal(ks_whole_open(&w, where, &err), 0);
    assert_int_equal(ks_whole_write(&w, text, strlen(text), &err), 0);
    assert_int_equal(access(part, F_OK), 0);
    assert_int_equal(ks_whole_close(&w, failed, &err), failed);
}

static void assert_holds(const char *text)
{
    char *found = test_read_file(path, NULL);
    assert_string_equal(found, text);
    free(found);
}

static void a_file_appears_whole_and_replaces_what_was_there(void **state)
{
    (void)state;
    struct stat st;
    put(path, "one", 0);
    assert_holds("one");
    put(path, "two", 0);
    assert_holds("two");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0600, 0600);
}

static void what_failed_leaves_what_was_there(void **state)
{
    (void)state;
    put(path, "one", -1);
    assert_int_equal(access(path, F_OK), -1);
    put(path, "one", 0);
    put(path, "two", -1);
    assert_holds("one");
}

static void behind_a_link_the_file_is_replaced_not_the_link(void **state)
{
    (void)state;
    struct stat st;
    put(path, "one", 0);
    assert_int_equal(symlink("file", link_path), 0);
    put(link_path, "two", 0);
    assert_holds("two");
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* A pipe, whose other end is open here. */
static void what_is_no_file_is_written_as_it_stands(void **state)
{
    (void)state;
    struct ks_whole_file w;
    struct ks_error err;
    struct stat st;
    char found[4] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    int other = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(other >= 0);
    assert_int_equal(ks_whole_open(&w, path, &err), 0);
    assert_int_equal(ks_whole_write(&w, "one", 3, &err), 0);
    assert_int_equal(ks_whole_close(&w, 0, &err), 0);
    assert_int_equal(read(other, found, 3), 3);
    assert_string_equal(found, "one");
    close(other);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    static const char bytes[8192];
    struct rlimit was, small;
    struct ks_whole_file w;
    struct ks_error err;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(ks_whole_open(&w, path, &err), 0);
    assert_int_equal(ks_whole_write(&w, bytes, sizeof bytes, &err), -1);
    assert_int_equal(ks_whole_close(&w, -1, &err), -1);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_non_null(strstr(err.text, "/file: cannot write"));
    assert_int_equal(access(path, F_OK), -1);
}

static void a_folder_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct ks_whole_file w;
    struct ks_error err;
    assert_int_equal(ks_whole_open(&w, "/none/at/all", &err), -1);
    assert_int_equal(err.code, KS_SYSTEM);
    assert_non_null(strstr(err.text, "/none/at/all"));
    assert_int_equal(ks_whole_open(&w, folder, &err), -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, with_folder, without_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_appears_whole_and_replaces_what_was_there),
        IN_FOLDER(what_failed_leaves_what_was_there),
        IN_FOLDER(behind_a_link_the_file_is_replaced_not_the_link),
        IN_FOLDER(what_is_no_file_is_written_as_it_stands),
        IN_FOLDER(a_full_disk_is_an_error_and_leaves_nothing),
        IN_FOLDER(a_folder_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
