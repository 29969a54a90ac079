/* The cache against what may happen to its files: damage, death of a writer, others that write at
 * the same time, a disk that is full, a limit. */
#include "tests/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/cache/cache.h"
#include "engine/engine.h"

enum { BYTES = 50000, ENTRIES = 8 };

static char home[64], folder[128];
static uint8_t data[ENTRIES][BYTES];

struct notes {
    int n;
    char last[2048];
};

static void note(void *ctx, const char *text)
{
    struct notes *notes = ctx;
    notes->n++;
    snprintf(notes->last, sizeof notes->last, "%s", text);
}

static struct ks_hash key_of(int i)
{
    return ks_hash_bytes(&i, sizeof i);
}

static bool keep(struct ks_cache *c, int i)
{
    return ks_cache_keep(c, key_of(i), data[i], BYTES, ks_hash_bytes(data[i], BYTES));
}

/* Whether entry i is there; then it must be right. */
static bool has(struct ks_cache *c, int i)
{
    struct ks_cached found;
    if (!ks_cache_find(c, key_of(i), BYTES, &found))
        return false;
    assert_int_equal((uintptr_t)found.data % 64, 0);
    assert_memory_equal(found.data, data[i], BYTES);
    assert_true(ks_hash_equal(found.hash, ks_hash_bytes(data[i], BYTES)));
    ks_cached_release(&found);
    return true;
}

static struct ks_cache *open_cache(struct notes *notes)
{
    struct ks_cache *c = ks_cache_open(folder, note, notes);
    assert_non_null(c);
    return c;
}

static const char *path_of(int i)
{
    static char path[256];
    char hex[33];
    ks_hash_hex(key_of(i), hex);
    snprintf(path, sizeof path, "%s/%s.tensor", folder, hex);
    return path;
}

static void set_age(int i, int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    const struct timespec times[2] = {now, now};
    assert_int_equal(utimensat(AT_FDCWD, path_of(i), times, 0), 0);
}

static int files_in_folder(void)
{
    DIR *dir = opendir(folder);
    int n = 0;
    for (const struct dirent *d; dir && (d = readdir(dir));)
        n += strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
             strcmp(d->d_name, "limit") != 0;
    if (dir)
        closedir(dir);
    return n;
}

static void set_limit(uint64_t bytes)
{
    struct ks_cache_facts facts;
    struct ks_error err;
    if (ks_cache_set_limit(bytes, &facts, &err))
        fail_msg("%s", err.text);
    assert_true(facts.limit_bytes == bytes && facts.bytes <= bytes);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
    (void)st;
    (void)flag;
    (void)where;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/kldscope-cache-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    setenv("XDG_CACHE_HOME", home, 1);
    struct ks_error err;
    char *users = ks_cache_folder(&err);
    if (!users)
        return -1;
    snprintf(folder, sizeof folder, "%s", users);
    free(users);
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof data; i++)
        data[i / BYTES][i % BYTES] = (uint8_t)ks_random_next(&random);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ------------------------------------------------------------------ keeping and finding */

static void what_was_kept_is_found_by_a_later_run(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    assert_false(has(c, 0));
    assert_true(keep(c, 0));
    assert_true(has(c, 0));
    ks_cache_close(c);
    c = open_cache(&notes);
    assert_true(has(c, 0));
    assert_false(has(c, 1));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void what_was_found_outlives_its_file(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cached found;
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    assert_true(ks_cache_find(c, key_of(0), BYTES, &found));
    assert_int_equal(ks_cache_clear(&facts, &err), 0);
    assert_int_equal(files_in_folder(), 0);
    assert_memory_equal(found.data, data[0], BYTES);
    ks_cached_release(&found);
    assert_false(has(c, 0));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

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

/* ------------------------------------------------------------------ the limit */

static void the_longest_unused_goes_first_and_the_limit_holds(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 6; i++)
        assert_true(keep(c, i));
    ks_cache_close(c);
    for (int i = 0; i < 6; i++)
        set_age(i, i == 1 ? 5 : 1000 - i); /* 0 is the oldest; 1 was used again */
    set_limit(6 * (BYTES + 64) + 100);
    c = open_cache(&notes);
    assert_true(keep(c, 6));
    ks_cache_close(c);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.bytes <= facts.limit_bytes && facts.tensors >= 4);
    c = open_cache(&notes);
    assert_false(has(c, 0));
    assert_true(has(c, 1));
    assert_true(has(c, 5));
    assert_true(has(c, 6));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void what_a_run_has_used_is_not_thrown_away_by_it(void **state)
{
    (void)state;
    struct notes notes = {0};
    set_limit(3 * (BYTES + 64));
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 3; i++)
        assert_true(keep(c, i));
    assert_false(keep(c, 3));
    assert_false(keep(c, 4));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.last, "kldscope cache --limit"));
    for (int i = 0; i < 3; i++)
        assert_true(has(c, i));
    ks_cache_close(c);
    for (int i = 0; i < 3; i++)
        set_age(i, 100);
    c = open_cache(&notes);
    assert_true(has(c, 0));
    assert_true(has(c, 1));
    assert_true(keep(c, 3)); /* in the place of 2 */
    assert_false(has(c, 2));
    assert_true(has(c, 0));
    assert_true(has(c, 1));
    ks_cache_close(c);
    assert_int_equal(notes.n, 1);
}

static void a_smaller_limit_holds_at_once_and_zero_keeps_nothing(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache *c = open_cache(&notes);
    for (int i = 0; i < 5; i++)
        assert_true(keep(c, i));
    ks_cache_close(c);
    set_limit(2 * (BYTES + 64));
    assert_int_equal(files_in_folder(), 2);
    set_limit(0);
    assert_int_equal(files_in_folder(), 0);
    c = open_cache(&notes);
    assert_false(keep(c, 0));
    ks_cache_close(c);
    assert_int_equal(notes.n, 0);
}

static void a_look_at_the_cache_counts_what_is_there(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_string_equal(facts.folder, folder);
    assert_true(facts.tensors == 0 && facts.bytes == 0 && facts.oldest_unix_ns == 0);
    assert_true(facts.limit_bytes > 0);
    assert_int_equal(access(folder, F_OK), -1); /* looking makes no folder */
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0) && keep(c, 1));
    ks_cache_close(c);
    set_age(1, 3600);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.tensors == 2 && facts.bytes == 2 * (BYTES + 64));
    assert_true(facts.oldest_unix_ns / 1000000000 + 3590 < time(NULL));
}

static void a_limit_that_is_no_number_is_the_usual_one(void **state)
{
    (void)state;
    static const char *const texts[] = {"",  "\n", "-5\n", "7x\n", "99999999999999999999999\n",
                                        "12"};
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    ks_cache_close(open_cache(&notes));
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    uint64_t usual = facts.limit_bytes;
    char path[192];
    snprintf(path, sizeof path, "%s/limit", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *f = fopen(path, "w");
        fputs(texts[i], f);
        fclose(f);
        assert_int_equal(ks_cache_look(&facts, &err), 0);
        assert_true(facts.limit_bytes == usual);
    }
}

static void a_time_beyond_the_clock_does_no_harm(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct ks_cache_facts facts;
    struct ks_error err;
    struct ks_cache *c = open_cache(&notes);
    assert_true(keep(c, 0));
    ks_cache_close(c);
    const struct timespec late[2] = {{.tv_sec = 15000000000}, {.tv_sec = 15000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(0), late, 0), 0);
    assert_int_equal(ks_cache_look(&facts, &err), 0);
    assert_true(facts.tensors == 1);
    assert_int_equal(ks_cache_clear(&facts, &err), 0);
    assert_true(facts.tensors == 0);
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
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_was_kept_is_found_by_a_later_run),
        CASE(what_was_found_outlives_its_file),
        CASE(a_damaged_entry_is_told_and_made_anew),
        CASE(many_damaged_entries_are_one_note),
        CASE(an_entry_that_cannot_be_read_now_is_told_and_stays),
        CASE(a_pipe_in_an_entrys_place_is_not_waited_for),
        CASE(the_longest_unused_goes_first_and_the_limit_holds),
        CASE(what_a_run_has_used_is_not_thrown_away_by_it),
        CASE(a_smaller_limit_holds_at_once_and_zero_keeps_nothing),
        CASE(a_look_at_the_cache_counts_what_is_there),
        CASE(a_limit_that_is_no_number_is_the_usual_one),
        CASE(a_time_beyond_the_clock_does_no_harm),
        CASE(clearing_what_cannot_be_removed_is_an_error),
        CASE(no_folder_is_a_note_and_no_error),
        CASE(a_full_disk_is_one_note_and_leaves_no_half_entry),
        CASE(a_writer_that_is_killed_leaves_whole_entries_alone),
        CASE(processes_share_the_folder),
        CASE(a_writer_among_those_who_sweep_keeps_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
