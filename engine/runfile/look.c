/*
 * Whether a file that is being read has news, and whether it's still the file that was opened. Both
 * are asked ten times a second by screens that look on, so neither reads a row.
 */
#include <errno.h>
#include <sys/stat.h>

#include "engine/runfile/object.h"

static int check_place(const struct ks_runfile *f, struct stat *ours, struct ks_error *err)
{
    struct stat there;
    if (fstat(f->fd, ours))
        return ks_fail_errno(err, "%s: cannot look at the run file", f->path);
    bool is_there = stat(f->path, &there) == 0;
    if (!is_there && errno != ENOENT)
        return ks_fail_errno(err, "%s: cannot look at the run file", f->path);
    if (!is_there || there.st_dev != ours->st_dev || there.st_ino != ours->st_ino)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: the run file was removed, moved or replaced while it was being read; "
                       "open what is there now anew",
                       f->path);
    if (ours->st_size < f->bytes)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: the run file was cut off while it was being read, at byte %lld of "
                       "%lld; take a copy that is whole, or run again",
                       f->path, (long long)ours->st_size, (long long)f->bytes);
    return 0;
}

/* What is committed and stands in the file itself, not in its journal alone, never goes again. */
static int note_size(struct ks_runfile *f, int64_t size, struct ks_error *err)
{
    int64_t pages, page_bytes;
    if (ks_runfile_count(f, "PRAGMA page_count", &pages, err) ||
        ks_runfile_count(f, "PRAGMA page_size", &page_bytes, err))
        return -1;
    f->bytes = pages * page_bytes < size ? pages * page_bytes : size;
    return 0;
}

int ks_runfile_read_session(struct ks_runfile *f, int64_t *session, struct ks_error *err)
{
    return ks_runfile_count(f, "SELECT checksum FROM session ORDER BY id DESC LIMIT 1", session,
                            err);
}

/* SQLite trusts its cache while a counter in the file stands still, which another file's may, too,
 * that is copied over it. */
static void distrust_cache(struct ks_runfile *f, const struct stat *ours)
{
    int64_t written_ns = (int64_t)ours->st_mtim.tv_sec * 1000000000 + ours->st_mtim.tv_nsec;
    if (written_ns == f->written_ns)
        return;
    f->written_ns = written_ns;
    f->rewrites++;
    sqlite3_db_release_memory(f->db);
}

int ks_runfile_look(struct ks_runfile *f, int64_t *version, struct ks_error *err)
{
    struct stat ours;
    int64_t commits;
    if (check_place(f, &ours, err))
        return -1;
    distrust_cache(f, &ours);
    if (ks_runfile_count(f, "PRAGMA data_version", &commits, err))
        return -1;
    int64_t now = (int64_t)f->rewrites << 32 | (commits & UINT32_MAX);
    if (now != f->version && note_size(f, ours.st_size, err))
        return -1;
    *version = f->version = now;
    return 0;
}
