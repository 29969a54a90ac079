/*
 * The folder's files: which are entries, how large they are, when they were used. Private to the
 * cache.
 *
 * fd is an open folder; names are relative to it. Stateless; any thread.
 */
#ifndef KS_ENGINE_CACHE_FOLDER_H
#define KS_ENGINE_CACHE_FOLDER_H

#include <fcntl.h>

#include "engine/base/bytes.h"

/* The folder, made where it is missing if make says so; path is as it was afterwards. -1 with
 * errno.
 */
int ks_folder_open(char *path, bool make);

enum { KS_ENTRY_NAME_SIZE = 48 };
void ks_entry_name(struct ks_hash key, char name[KS_ENTRY_NAME_SIZE]);
/* How files of the folder are opened for reading: through no link, and without waiting for anybody
 * where it's a pipe. */
#define KS_ENTRY_READ (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
/* The beginning of the names of entries that are being written; their writers hold a lock on them.
 */
#define KS_ENTRY_BEING_WRITTEN ".new-"

/* What the folder holds at most, unless somebody has set another limit. */
#define KS_CACHE_LIMIT_BYTES UINT64_C(10000000000)
uint64_t ks_folder_limit(int fd);
int ks_folder_set_limit(int fd, const char *folder, uint64_t bytes, struct ks_error *err);

struct ks_folder_sum {
    uint64_t entries, bytes;
    int64_t oldest_ns; /* when the entry that goes first was used; 0: there is none */
};

/* Removes entries, the longest unused first, until no more than `most` bytes are left or all were
 * used since `since_ns` (wall clock). *left is what the folder holds then. -1 with errno set, and
 * *left untouched, where it can't be read, or where an entry that should go can't be removed. */
int ks_folder_shrink(int fd, uint64_t most, int64_t since_ns, struct ks_folder_sum *left);

/* Removes what a writer that is gone has left half written. */
void ks_folder_sweep(int fd);

#endif
