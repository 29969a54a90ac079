#include "engine/cache/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/caches.h"

#define ENDING     ".tensor"
#define LIMIT_FILE "limit"

struct item {
    char name[KS_ENTRY_NAME_SIZE];
    uint64_t bytes;
    int64_t used_ns;
};

void ks_entry_name(struct ks_hash key, char name[KS_ENTRY_NAME_SIZE])
{
    ks_hash_hex(key, name);
    memcpy(name + 32, ENDING, sizeof ENDING);
}

static bool is_entry(const char *name)
{
    return strlen(name) == 32 + sizeof ENDING - 1 && strcmp(name + 32, ENDING) == 0;
}

/* Calls each(ctx, name) for every file's name; a non-zero result ends it. -1 with errno. */
static int for_names(int fd, int (*each)(void *ctx, int fd, const char *name), void *ctx)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (!dir) {
        if (own >= 0)
            close(own);
        return -1;
    }
    int result = 0;
    const struct dirent *d;
    while (result == 0 && (errno = 0, d = readdir(dir)))
        result = each(ctx, fd, d->d_name);
    int saved = errno;
    if (result == 0 && saved)
        result = -1;
    closedir(dir);
    errno = saved;
    return result;
}

int ks_folder_open(char *path, bool make)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make && ks_caches_make(path) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd;
}

/* ------------------------------------------------------------------ entries */

struct list {
    struct item *items;
    size_t n, cap;
};

static int64_t ns_of(struct timespec t)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)t.tv_sec, INT64_C(1000000000), &ns) ||
        __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
        return t.tv_sec < 0 ? 0 : INT64_MAX - 1;
    return ns;
}

static int add_item(void *ctx, int fd, const char *name)
{
    struct list *list = ctx;
    struct stat st;
    struct ks_error ignored;
    if (!is_entry(name) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
        return 0;
    struct item *items =
        ks_grow(list->items, &list->cap, list->n, sizeof *items, "the cache's list", &ignored);
    if (!items) {
        errno = ENOMEM;
        return -1;
    }
    list->items = items;
    struct item *item = &items[list->n++];
    memcpy(item->name, name, strlen(name) + 1);
    item->bytes = (uint64_t)st.st_size;
    item->used_ns = ns_of(st.st_mtim);
    return 0;
}

static int by_use(const void *a, const void *b)
{
    int64_t x = ((const struct item *)a)->used_ns, y = ((const struct item *)b)->used_ns;
    return (x > y) - (x < y);
}

static struct ks_folder_sum sum_of(const struct list *list)
{
    struct ks_folder_sum sum = {.entries = list->n};
    for (size_t i = 0; i < list->n; i++)
        sum.bytes += list->items[i].bytes;
    return sum;
}

/* From a list in order of use; errno is that of the last that can't be removed, or 0. */
static struct ks_folder_sum remove_oldest(int fd, const struct list *list, uint64_t most,
                                          int64_t since_ns)
{
    struct ks_folder_sum sum = sum_of(list);
    int why = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct item *item = &list->items[i];
        bool goes = sum.bytes > most && item->used_ns < since_ns;
        if (goes && unlinkat(fd, item->name, 0) && errno != ENOENT) {
            why = errno;
            goes = false;
        }
        if (!goes && sum.oldest_ns == 0)
            sum.oldest_ns = item->used_ns;
        sum.bytes -= goes ? item->bytes : 0;
        sum.entries -= goes;
    }
    errno = why;
    return sum;
}

int ks_folder_shrink(int fd, uint64_t most, int64_t since_ns, struct ks_folder_sum *left)
{
    struct list list = {0};
    if (for_names(fd, add_item, &list)) {
        free(list.items);
        return -1;
    }
    if (list.n > 0)
        qsort(list.items, list.n, sizeof *list.items, by_use);
    struct ks_folder_sum sum = remove_oldest(fd, &list, most, since_ns);
    int why = errno;
    free(list.items);
    errno = why;
    if (sum.bytes > most && why)
        return -1;
    *left = sum;
    return 0;
}

/* Whether the name still stands for the open file: a writer may have renamed that one meanwhile, and
 * begun another by the same name. */
static bool is_still(int fd, const char *name, int file)
{
    struct stat open_one, named;
    return fstat(file, &open_one) == 0 && fstatat(fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Who writes holds the lock; the system lets go of it when the writer dies. */
static int sweep_one(void *ctx, int fd, const char *name)
{
    (void)ctx;
    if (strncmp(name, KS_ENTRY_BEING_WRITTEN, sizeof KS_ENTRY_BEING_WRITTEN - 1) != 0)
        return 0;
    int file = openat(fd, name, KS_ENTRY_READ);
    if (file < 0)
        return 0;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_still(fd, name, file))
        unlinkat(fd, name, 0);
    close(file);
    return 0;
}

void ks_folder_sweep(int fd)
{
    (void)for_names(fd, sweep_one, NULL);
}

/* ------------------------------------------------------------------ the limit */

uint64_t ks_folder_limit(int fd)
{
    char text[32];
    int file = openat(fd, LIMIT_FILE, KS_ENTRY_READ);
    ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    char *end;
    errno = 0;
    unsigned long long bytes = strtoull(text, &end, 10);
    bool whole = text[0] >= '0' && text[0] <= '9' && strcmp(end, "\n") == 0 && !errno;
    return whole ? bytes : KS_CACHE_LIMIT_BYTES;
}

int ks_folder_set_limit(int fd, const char *folder, uint64_t bytes, struct ks_error *err)
{
    static const char beside[] = LIMIT_FILE ".part";
    char text[32];
    int len = snprintf(text, sizeof text, "%" PRIu64 "\n", bytes);
    int file = openat(fd, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return ks_fail_errno(err, "%s/%s: cannot write", folder, beside);
    bool written = write(file, text, (size_t)len) == len;
    if (close(file) || !written || renameat(fd, beside, fd, LIMIT_FILE))
        return ks_fail_errno(err, "%s/%s: cannot write", folder, LIMIT_FILE);
    return 0;
}
