#include "engine/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/caches.h"
#include "engine/base/mapped.h"
#include "engine/cache/folder.h"

/* What an entry begins with; its data follow. 64 bytes, so that they are aligned. */
struct header {
    char magic[8];
    uint64_t bytes;
    struct ks_hash key, hash;
    uint64_t none[2];
};
_Static_assert(sizeof(struct header) == 64, "the data of an entry are aligned");

#define MAGIC "KSCACHE1"

/* Left free on the disk, which others write to as well. */
#define LEFT_FREE_BYTES UINT64_C(1000000000)
/* Other processes write into the folder too: it's looked at again after this part of the limit. */
#define LOOKS_A_LIMIT 64

struct ks_cache {
    char *folder;
    int fd;
    uint64_t limit;
    uint64_t bytes, unseen; /* in the folder when it was looked at, and kept here since */
    int64_t opened_ns;      /* wall clock, as files' times are */
    bool full;              /* keeps nothing any more */
    bool told_damage, told_unreadable;
    void (*note)(void *ctx, const char *text);
    void *ctx;
};

static void tell(const struct ks_cache *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct ks_cache *c, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        c->note(c->ctx, text);
}

/* ------------------------------------------------------------------ open and close */

char *ks_cache_folder(struct ks_error *err)
{
    struct ks_buf b = {0};
    char *base = ks_caches_folder(err);
    int failed = base ? ks_buf_printf(&b, err, "%s/tensors", base) : -1;
    free(base);
    if (failed) {
        ks_buf_finish(&b);
        return NULL;
    }
    return b.bytes;
}

static int64_t wall_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* what files are stamped with */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_folder(struct ks_cache *c)
{
    struct ks_folder_sum sum;
    c->fd = ks_folder_open(c->folder, true);
    if (c->fd < 0)
        return -1;
    ks_folder_sweep(c->fd);
    if (ks_folder_shrink(c->fd, UINT64_MAX, 0, &sum))
        return -1;
    c->bytes = sum.bytes;
    c->limit = ks_folder_limit(c->fd);
    c->full = c->limit == 0; /* as somebody wanted it */
    return 0;
}

struct ks_cache *ks_cache_open(const char *folder, void (*note)(void *ctx, const char *text),
                               void *ctx)
{
    struct ks_cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL; /* who is out of memory so early hears of it from others */
    *c = (struct ks_cache){.fd = -1, .opened_ns = wall_clock_ns(), .note = note, .ctx = ctx};
    c->folder = strdup(folder);
    if (c->folder && open_folder(c) == 0)
        return c;
    tell(c, "no cache of quantized tensors: %s: %s", folder, strerror(errno));
    ks_cache_close(c);
    return NULL;
}

void ks_cache_close(struct ks_cache *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    free(c->folder);
    free(c);
}

/* ------------------------------------------------------------------ find */

static bool is_whole(const struct header *h, struct ks_hash key, uint64_t bytes)
{
    return memcmp(h->magic, MAGIC, sizeof h->magic) == 0 && h->bytes == bytes &&
           ks_hash_equal(h->key, key) &&
           ks_hash_equal(h->hash, ks_hash_bytes(h + 1, (size_t)bytes));
}

static int map_file(const struct ks_cache *c, int file, const char *name, size_t size,
                    struct ks_cached *out)
{
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (map == MAP_FAILED)
        return -1;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    ks_mapped_add(map, size, path);
    const struct header *h = map;
    *out = (struct ks_cached){
        .data = (const uint8_t *)(h + 1), .hash = h->hash, .map = map, .mapped_bytes = size};
    return 0;
}

/* 0, 1 where the file is no whole entry of the key, -1 with errno where that can't be told. */
static int take(const struct ks_cache *c, int file, const char *name, struct ks_hash key,
                uint64_t bytes, struct ks_cached *out)
{
    struct stat st;
    uint64_t size = sizeof(struct header) + bytes;
    if (fstat(file, &st))
        return -1;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
        return 1;
    if (map_file(c, file, name, (size_t)size, out))
        return -1;
    if (is_whole(out->map, key, bytes)) {
        (void)futimens(file, NULL); /* it was used now; a disk that can't be written keeps all */
        return 0;
    }
    ks_cached_release(out);
    return 1;
}

/* The first is told: a disk that damages one damages many. */
static void remove_damaged(struct ks_cache *c, const char *name)
{
    bool gone = unlinkat(c->fd, name, 0) == 0 || errno == ENOENT;
    if (!c->told_damage && gone)
        tell(c, "%s/%s is damaged: it's removed and made anew, as any others are", c->folder, name);
    else if (!c->told_damage)
        tell(c, "%s/%s is damaged and can't be removed: %s", c->folder, name, strerror(errno));
    c->told_damage = true;
}

static void tell_unreadable(struct ks_cache *c, const char *name)
{
    if (!c->told_unreadable)
        tell(c, "%s/%s can't be read: %s", c->folder, name, strerror(errno));
    c->told_unreadable = true;
}

bool ks_cache_find(struct ks_cache *c, struct ks_hash key, uint64_t bytes, struct ks_cached *out)
{
    char name[KS_ENTRY_NAME_SIZE];
    struct ks_cached found;
    if (!c)
        return false;
    ks_entry_name(key, name);
    int file = openat(c->fd, name, KS_ENTRY_READ);
    if (file < 0) {
        if (errno != ENOENT && errno != ELOOP) /* a link is nobody's entry */
            tell_unreadable(c, name);
        return false;
    }
    int result = take(c, file, name, key, bytes, &found);
    if (result < 0)
        tell_unreadable(c, name);
    close(file);
    if (result > 0)
        remove_damaged(c, name);
    if (result == 0)
        *out = found;
    return result == 0;
}

void ks_cached_release(struct ks_cached *cached)
{
    if (cached->map) {
        ks_mapped_remove(cached->map);
        munmap(cached->map, (size_t)cached->mapped_bytes);
    }
    *cached = (struct ks_cached){0};
}

/* ------------------------------------------------------------------ keep */

/* Nothing more is kept by this cache. */
static bool give_up(struct ks_cache *c, const char *why)
{
    c->full = true;
    tell(c, "new tensors are not kept in %s: %s", c->folder, why);
    return false;
}

/* Looks at the folder, and removes from it until it holds no more than most. */
static int shrink(struct ks_cache *c, uint64_t most)
{
    struct ks_folder_sum left;
    if (ks_folder_shrink(c->fd, most, c->opened_ns, &left))
        return -1;
    c->bytes = left.bytes;
    c->unseen = 0;
    return 0;
}

static bool make_room(struct ks_cache *c, uint64_t size)
{
    struct statvfs disk;
    char why[96];
    uint64_t most = size < c->limit ? c->limit - size : 0; /* before the new one */
    if (c->unseen > c->limit / LOOKS_A_LIMIT && shrink(c, c->limit))
        return give_up(c, strerror(errno));
    if (c->bytes + c->unseen > most && shrink(c, most - most / 8))
        return give_up(c, strerror(errno));
    if (size > c->limit || c->bytes + c->unseen > most) {
        snprintf(why, sizeof why, "its limit of %.3g GB is reached; kldscope cache --limit sets it",
                 (double)c->limit / 1e9);
        return give_up(c, why);
    }
    if (fstatvfs(c->fd, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < size + LEFT_FREE_BYTES)
        return give_up(c, "less than 1 GB would stay free on its disk");
    return true;
}

static int write_all(int file, const void *bytes, uint64_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(file, at, n < 1u << 30 ? (size_t)n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (uint64_t)done;
    }
    return 0;
}

/* 1 where the file is ours now, 0 where a sweep took it away before it was locked, -1 with errno.
 */
static int lock_own(int file)
{
    struct stat st;
    while (flock(file, LOCK_EX))
        if (errno != EINTR)
            return -1;
    return fstat(file, &st) ? -1 : st.st_nlink > 0;
}

/* A new file, locked, with a name that nobody else writes under. -1 with errno. */
static int create_beside(const struct ks_cache *c, char name[KS_ENTRY_NAME_SIZE])
{
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, KS_ENTRY_NAME_SIZE, KS_ENTRY_BEING_WRITTEN "%ld-%u", (long)getpid(), i);
        int file = openat(c->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno == EEXIST)
            continue;
        int own = file < 0 ? -1 : lock_own(file);
        if (own > 0 || file < 0)
            return file;
        int why = errno;
        close(file);
        if (own < 0) {
            unlinkat(c->fd, name, 0);
            errno = why;
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

/* The lock is held until the file has its name, so that no other process sweeps it away. */
static int write_entry(struct ks_cache *c, const char *name, const struct header *h,
                       const void *data)
{
    char beside[KS_ENTRY_NAME_SIZE];
    int file = create_beside(c, beside);
    if (file < 0)
        return -1;
    int failed = write_all(file, h, sizeof *h) || write_all(file, data, h->bytes) ||
                 renameat(c->fd, beside, c->fd, name);
    int why = errno;
    if (failed)
        unlinkat(c->fd, beside, 0);
    close(file);
    errno = why;
    return failed ? -1 : 0;
}

bool ks_cache_keep(struct ks_cache *c, struct ks_hash key, const void *data, uint64_t bytes,
                   struct ks_hash hash)
{
    char name[KS_ENTRY_NAME_SIZE];
    struct header h = {.bytes = bytes, .key = key, .hash = hash};
    uint64_t size = sizeof h + bytes;
    if (!c || c->full || !make_room(c, size))
        return false;
    memcpy(h.magic, MAGIC, sizeof h.magic);
    ks_entry_name(key, name);
    if (write_entry(c, name, &h, data))
        return give_up(c, strerror(errno));
    c->unseen += size;
    return true;
}
