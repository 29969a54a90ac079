/*
 * A folder of byte strings that are dear to make, found again by a key: a hash of all that they are
 * made from.
 *
 * An entry is a file. It's written beside under another name and renamed when it is whole, so a
 * process that is killed leaves no half entry; it's held against its checksum each time it is
 * mapped, so a damaged one is noticed, removed and can be made anew (the first is told). Processes
 * share the folder without waiting for each other: an entry that is removed or replaced lives on
 * for those who have it mapped.
 *
 * The folder is kept below a limit, and so that some space stays free on its disk: what was used
 * longest ago goes first. What was used since this cache was opened never goes; a run that needs
 * more than the limit would throw away what it needs next, each time.
 *
 * Nothing that goes wrong here is an error of its user: it is told as a note, once, and the user
 * makes by itself what it doesn't get. A ks_cache is used by one thread at a time; what was found
 * may be read by any.
 */
#ifndef KS_ENGINE_CACHE_CACHE_H
#define KS_ENGINE_CACHE_CACHE_H

#include "engine/base/bytes.h"

struct ks_cache;

/* An entry, mapped. */
struct ks_cached {
    const uint8_t *data;   /* (bytes), 64-byte aligned; lives until it's released */
    struct ks_hash hash;   /* of data */
    void *map;             /* private */
    uint64_t mapped_bytes; /* private */
};

/* Where the user's cache is: "tensors" in kldscope's folder in $XDG_CACHE_HOME or ~/.cache. The
 * caller's to free(); NULL with *err where neither is known. */
char *ks_cache_folder(struct ks_error *err);

/* Makes the folder where it is missing. note is called with a line for people. NULL where nothing
 * can be cached (said in a note); every function below takes NULL for a cache that holds nothing.
 */
struct ks_cache *ks_cache_open(const char *folder, void (*note)(void *ctx, const char *text),
                               void *ctx);
void ks_cache_close(struct ks_cache *c); /* accepts NULL */

/* Whether there is a whole entry of that many bytes. Then *out is the caller's to release. */
bool ks_cache_find(struct ks_cache *c, struct ks_hash key, uint64_t bytes, struct ks_cached *out);
void ks_cached_release(struct ks_cached *cached); /* accepts a zeroed one */

/* Writes data(bytes), whose hash it is, as the entry of the key; whether it did. */
bool ks_cache_keep(struct ks_cache *c, struct ks_hash key, const void *data, uint64_t bytes,
                   struct ks_hash hash);

#endif
