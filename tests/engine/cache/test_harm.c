/* The cache against what may happen to its files: damage, death of a writer, others that write at
 * the same time, a disk that is full. */
#include "tests/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/engine/cache/folder.h"

/* ------------------------------------------------------------------ damage */

static void damage_file(const char *path, int kind)
{
    int fd = open(path, O_RDWR);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    static const off_t places[] = {0, 8, 16, 32, 64, 64 + BYTES / 2, 64 + BYTES - 1};
    char byte;
    if (kind < 7) {
        assert_int_equal(pread(fd, &byte, 1, places[kind]), 1);
        byte ^= 0x20;
        assert_int_equal(pwrite(fd, &byte, 1, places[kind]), 1);
    } else {
        static const off_t changes[] = {-1, 1, -BYTES, -BYTES - 64};
        assert_int_equal(ftruncate(fd, st.st_size + changes[kind - 7]), 0);
    }
    close(fd);
}

static void a_damaged_entry_is_told_and_made_anew(void **state)
{
    (void)state;
    for (int kind = 0; kind < 11; kind++) {
        struct notes notes = {0};
        struct ks_cache *c = open_cache(&notes);
        assert_true(keep(c, 0));
        damage_file(path_of(0), kind);
        assert_false(has(c, 0));
        assert_int_equal(notes.n, 1);
        assert_non_null(strstr(notes.last, path_of(0)));
        assert_int_equal(access(path_of(0), F_OK), -1);
        assert_true(keep(c, 0));
        assert_true(has(c, 0));
        assert_int_equal(notes.n, 1);
        ks_cache_close(c);
    }
}

static void many_damaged_entries_are_one_note(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < ENTRIES; i++) {
        assert_true(keep(c, i));
        damage_file(path_of(i), i);
        assert_false(has(c, i));
    }
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.last, path_of(0)));
    assert_int_equal(files_in_folder(), 0);
    ks_cache_close(c);
}

/* Whole as it is, it was once thrown away where its reader was short of memory or of files. */
static void an_entry_that_cannot_be_read_now_is_told_and_stays(void **state)
{
    (void)state;
    static const int kinds[] = {RLIMIT_AS, RLIMIT_NOFILE};
    for (int k = 0; k < 2; k++) {
        struct notes notes = {0};
        struct ks_cache *c = open_cache(&notes);
        assert_true(keep(c, 0));
        struct rlimit before, none;
        assert_int_equal(getrlimit(kinds[k], &before), 0);
        none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(kinds[k], &none), 0);
        struct ks_cached found;
        bool first = ks_cache_find(c, key_of(0), BYTES, &found);
        bool second = ks_cache_find(c, key_of(0), BYTES, &found);
        setrlimit(kinds[k], &before);
        assert_false(first);
        assert_false(second);
        assert_int_equal(notes.n, 1);
        assert_non_null(strstr(notes.last, strerror(k == 0 ? ENOMEM : EMFILE)));
        assert_true(has(c, 0));
        ks_cache_close(c);
    }
}

/* An hour of waiting for who never writes would be the alternative. */
static void a_pipe_in_an_entrys_place_is_not_waited_for(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    char being_written[192], limit[192];
    snprintf(being_written, sizeof being_written, "%s/.new-1-0", folder);
    snprintf(limit, sizeof limit, "%s/limit", folder);
    assert_int_equal(mkfifo(path_of(0), 0600) | mkfifo(being_written, 0600) | mkfifo(limit, 0600),
                     0);
    alarm(10);
    assert_false(has(c, 0));
    assert_true(keep(c, 0));
    assert_true(has(c, 0));
    ks_cache_close(c);
    c = open_cache(&notes);
    assert_true(keep(c, 1));
    ks_cache_close(c);
    alarm(0);
}

/* ------------------------------------------------------------------ what goes wrong */

/* Runs as somebody who may look into the folder and not change it. */
static int clear_as_a_guest(void)
{
    struct ks_cache_facts facts;
    struct ks_error err = {0};
    if (geteuid() == 0 && seteuid(65534))
        return 77;
    int failed = ks_cache_clear(&facts, &err);
    return failed && err.code == KS_SYSTEM && strstr(err.text, folder) &&
                   strstr(err.text, strerror(EACCES))
               ? 0
               : 1;
}

static void clearing_what_cannot_be_removed_is_an_error(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    ks_cache_close(c);
    char kldscope[160];
    snprintf(kldscope, sizeof kldscope, "%s/kldscope", home);
    assert_int_equal(chmod(home, 0755) | chmod(kldscope, 0755) | chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(clear_as_a_guest());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(folder, 0755);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(files_in_folder(), 1);
}

static void no_folder_is_a_note_and_no_error(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cached found;
    char below_a_file[160];
    snprintf(below_a_file, sizeof below_a_file, "%s/file", home);
    fclose(fopen(below_a_file, "w"));
    strcat(below_a_file, "/tensors");
    assert_null(ks_cache_open(below_a_file, note, &notes));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.last, below_a_file));
    assert_non_null(strstr(notes.last, strerror(ENOTDIR)));
    assert_false(ks_cache_find(NULL, key_of(0), BYTES, &found));
    assert_false(ks_cache_keep(NULL, key_of(0), data[0], BYTES, key_of(0)));
    ks_cache_close(NULL);
}

/* The limit on files' sizes stands for a disk that has no room left: the write ends short. */
static void a_full_disk_is_one_note_and_leaves_no_half_entry(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = BYTES / 2, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool kept = keep(c, 1), again = keep(c, 2);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(kept);
    assert_false(again);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.last, folder));
    assert_non_null(strstr(notes.last, strerror(EFBIG)));
    assert_int_equal(files_in_folder(), 1);
    assert_true(has(c, 0));
    ks_cache_close(c);
}

/* ------------------------------------------------------------------ other processes */

static void write_until_killed(void)
{
    struct notes notes = {0};
    struct ks_cache *c = ks_cache_open(folder, note, &notes);
    for (int i = 0;; i = (i + 1) % ENTRIES)
        keep(c, i);
}

static void a_writer_that_is_killed_leaves_whole_entries_alone(void **state)
{
    (void)state;
    struct notes notes = {0};
    uint64_t random = 9;
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        if (child == 0)
            write_until_killed();
        struct timespec a_while = {.tv_nsec = (long)ks_random_below(&random, 8000000)};
        nanosleep(&a_while, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct ks_cache *c = open_cache(&notes);
        int found = 0;
        for (int i = 0; i < ENTRIES; i++)
            found += has(c, i);
        assert_int_equal(files_in_folder(), found); /* and nothing half written */
        ks_cache_close(c);
    }
    assert_int_equal(notes.n, 0);
}

/* Finds, makes and throws away with a limit that holds half of what is wanted; 0 if all that was
 * found was right. */
static int use_for_a_while(uint64_t random)
{
    struct notes notes = {0};
    int wrong = 0;
    for (int round = 0; round < 40; round++) {
        struct ks_cache *c = ks_cache_open(folder, note, &notes);
        if (!c)
            return 1;
        for (int n = 0; n < 6; n++) {
            int i = (int)ks_random_below(&random, ENTRIES);
            struct ks_cached found;
            if (!ks_cache_find(c, key_of(i), BYTES, &found)) {
                keep(c, i);
                continue;
            }
            wrong |= memcmp(found.data, data[i], BYTES) != 0;
            ks_cached_release(&found);
        }
        ks_cache_close(c);
    }
    return wrong || strstr(notes.last, "damaged");
}

static void processes_share_the_folder(void **state)
{
    (void)state;
    struct notes notes = {0};
    set_limit(ENTRIES / 2 * (BYTES + 64));
    pid_t children[3];
    for (uint64_t p = 0; p < 3; p++) {
        children[p] = fork();
        if (children[p] == 0)
            _exit(use_for_a_while(p));
    }
    for (int p = 0; p < 3; p++) {
        int status;
        assert_int_equal(waitpid(children[p], &status, 0), children[p]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct ks_cache *c = open_cache(&notes);
    int found = 0;
    for (int i = 0; i < ENTRIES; i++)
        found += has(c, i);
    assert_true(found > 0);
    assert_int_equal(files_in_folder(), found);
    ks_cache_close(c);
}

/* A file was once swept away between its creation and its lock, and its writer gave up. */
static void a_writer_among_those_who_sweep_keeps_all(void **state)
{
    (void)state;
    enum { WRITES = 1500 };
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            ks_cache_close(ks_cache_open(folder, note, &notes));
    int kept = 0;
    for (int i = 0; i < WRITES; i++)
        kept += keep(c, i % ENTRIES);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (kept < WRITES)
        fail_msg("%d of %d: %s", kept, WRITES, notes.last);
    ks_cache_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_damaged_entry_is_told_and_made_anew),
        CASE(many_damaged_entries_are_one_note),
        CASE(an_entry_that_cannot_be_read_now_is_told_and_stays),
        CASE(a_pipe_in_an_entrys_place_is_not_waited_for),
        CASE(clearing_what_cannot_be_removed_is_an_error),
        CASE(no_folder_is_a_note_and_no_error),
        CASE(a_full_disk_is_one_note_and_leaves_no_half_entry),
        CASE(a_writer_that_is_killed_leaves_whole_entries_alone),
        CASE(processes_share_the_folder),
        CASE(a_writer_among_those_who_sweep_keeps_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
