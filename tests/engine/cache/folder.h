/*
 * A user's cache of its own for every test, and entries to put into it.
 */
#ifndef KS_TESTS_ENGINE_CACHE_FOLDER_H
#define KS_TESTS_ENGINE_CACHE_FOLDER_H

#include <dirent.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
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

static inline void note(void *ctx, const char *text)
{
    struct notes *notes = ctx;
    notes->n++;
    snprintf(notes->last, sizeof notes->last, "%s", text);
}

static inline struct ks_hash key_of(int i)
{
    return ks_hash_bytes(&i, sizeof i);
}

static inline bool keep(struct ks_cache *c, int i)
{
    return ks_cache_keep(c, key_of(i), data[i], BYTES, ks_hash_bytes(data[i], BYTES));
}

/* Whether entry i is there; then it must be right. */
static inline bool has(struct ks_cache *c, int i)
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

static inline struct ks_cache *open_cache(struct notes *notes)
{
    struct ks_cache *c = ks_cache_open(folder, note, notes);
    assert_non_null(c);
    return c;
}

static inline const char *path_of(int i)
{
    static char path[256];
    char hex[33];
    ks_hash_hex(key_of(i), hex);
    snprintf(path, sizeof path, "%s/%s.tensor", folder, hex);
    return path;
}

static inline void set_age(int i, int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    const struct timespec times[2] = {now, now};
    assert_int_equal(utimensat(AT_FDCWD, path_of(i), times, 0), 0);
}

static inline int files_in_folder(void)
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

static inline void set_limit(uint64_t bytes)
{
    struct ks_cache_facts facts;
    struct ks_error err;
    if (ks_cache_set_limit(bytes, &facts, &err))
        fail_msg("%s", err.text);
    assert_true(facts.limit_bytes == bytes && facts.bytes <= bytes);
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
    (void)st;
    (void)flag;
    (void)where;
    return remove(path);
}

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
{
    (void)state;
    return nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
