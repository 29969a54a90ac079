/* The user's cache, as engine.h shows it: looked at, emptied, limited. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/cache/cache.h"
#include "engine/cache/folder.h"
#include "engine/engine.h"

/* *fd is -1 where there is no folder and none is to be made. */
static int open_users(struct ks_cache_facts *facts, bool make, int *fd, struct ks_error *err)
{
    char *folder = ks_cache_folder(err);
    if (!folder)
        return -1;
    int n = snprintf(facts->folder, sizeof facts->folder, "%s", folder);
    free(folder);
    if (n >= (int)sizeof facts->folder)
        return ks_fail(err, KS_BAD_INPUT, "the cache's path is longer than %zu bytes",
                       sizeof facts->folder - 1);
    *fd = ks_folder_open(facts->folder, make);
    if (*fd < 0 && (make || errno != ENOENT))
        return ks_fail_errno(err, "%s: cannot open", facts->folder);
    return 0;
}

/* Removes until `most` bytes are left, and tells what is there then. */
static int shrink(struct ks_cache_facts *facts, int fd, uint64_t most, struct ks_error *err)
{
    struct ks_folder_sum left = {0};
    if (fd >= 0 && ks_folder_shrink(fd, most, INT64_MAX, &left))
        return ks_fail_errno(err, "%s: cannot look at it or remove from it", facts->folder);
    facts->tensors = left.entries;
    facts->bytes = left.bytes;
    facts->oldest_unix_ns = left.oldest_ns;
    facts->limit_bytes = fd >= 0 ? ks_folder_limit(fd) : KS_CACHE_LIMIT_BYTES;
    return 0;
}

static int look(struct ks_cache_facts *out, uint64_t most, struct ks_error *err)
{
    struct ks_cache_facts facts = {0};
    int fd;
    if (open_users(&facts, false, &fd, err))
        return -1;
    if (fd >= 0)
        ks_folder_sweep(fd);
    int failed = shrink(&facts, fd, most, err);
    if (fd >= 0)
        close(fd);
    if (!failed)
        *out = facts;
    return failed;
}

int ks_cache_look(struct ks_cache_facts *out, struct ks_error *err)
{
    return look(out, UINT64_MAX, err);
}

int ks_cache_clear(struct ks_cache_facts *out, struct ks_error *err)
{
    return look(out, 0, err);
}

int ks_cache_set_limit(uint64_t bytes, struct ks_cache_facts *out, struct ks_error *err)
{
    struct ks_cache_facts facts = {0};
    int fd;
    if (open_users(&facts, true, &fd, err))
        return -1;
    int failed =
        ks_folder_set_limit(fd, facts.folder, bytes, err) || shrink(&facts, fd, bytes, err);
    close(fd);
    if (failed)
        return -1;
    *out = facts;
    return 0;
}
