#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/runfile/object.h"

/* How long another program may hold the file before that is told. */
enum { BUSY_MS = 2000 };

/* The journal goes into the file when it has a megabyte: on a disk that is nearly full a longer one
 * would take what the file itself needs. */
enum { CHECKPOINT_PAGES = 256 };

/* ------------------------------------------------------------------ errors */

int ks_runfile_damaged(const struct ks_runfile *f, struct ks_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: this run file is damaged: %s; take a copy that is whole, or run again",
                   f->path, text);
}

int ks_runfile_fail(const struct ks_runfile *f, int rc, const char *doing, struct ks_error *err)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return ks_fail_memory(err, 0, f->path);
    case SQLITE_FULL:
        return ks_fail(err, KS_SYSTEM, "%s: %s: its disk is full; free some space", f->path, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ks_fail(err, KS_SYSTEM, "%s: %s: another program holds it", f->path, doing);
    case SQLITE_READONLY:
        return ks_fail(err, KS_SYSTEM, "%s: %s: %s", f->path, doing,
                       f->writer ? "it may not be written here"
                                 : "the run that wrote it was killed in the middle; kldscope run "
                                   "--resume --out puts it in order");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        errno = sqlite3_system_errno(f->db);
        return errno ? ks_fail_errno(err, "%s: %s", f->path, doing)
                     : ks_fail(err, KS_SYSTEM, "%s: %s: its disk failed", f->path, doing);
    case SQLITE_NOTADB:
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: this is no run file; name one that kldscope run has written", f->path);
    default:
        return ks_runfile_damaged(f, err, "%s (%s)", doing, sqlite3_errmsg(f->db));
    }
}

/* ------------------------------------------------------------------ small statements */

int ks_runfile_execute(struct ks_runfile *f, const char *sql, struct ks_error *err)
{
    int rc = sqlite3_exec(f->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : ks_runfile_fail(f, rc, "cannot be written", err);
}

/* SQLite's result code alone. */
static int ask(const struct ks_runfile *f, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_OK || rc == SQLITE_DONE ? SQLITE_ERROR : rc;
}

int ks_runfile_count(const struct ks_runfile *f, const char *sql, int64_t *out,
                     struct ks_error *err)
{
    int rc = ask(f, sql, out);
    return rc == SQLITE_OK ? 0 : ks_runfile_fail(f, rc, "cannot be read", err);
}

/* ------------------------------------------------------------------ files */

static struct ks_runfile *make_object(const char *path, bool writer, struct ks_error *err)
{
    struct ks_runfile *f = calloc(1, sizeof *f);
    if (f) {
        f->fd = -1;
        f->writer = writer;
        f->path = strdup(path);
    }
    if (f && f->path)
        return f;
    free(f);
    ks_fail_memory(err, sizeof *f + strlen(path), "a run file");
    return NULL;
}

static int fail_open(const char *path, struct ks_error *err)
{
    if (errno == EEXIST)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: there is a file of that name already; go on with it by --resume, or "
                       "name another",
                       path);
    return ks_fail_errno(err, "%s: cannot open the run file", path);
}

static int open_descriptor(struct ks_runfile *f, int flags, struct ks_error *err)
{
    struct stat st;
    f->fd = open(f->path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (f->fd < 0)
        return fail_open(f->path, err);
    if (fstat(f->fd, &st))
        return fail_open(f->path, err);
    if (!S_ISREG(st.st_mode))
        return ks_fail(err, KS_BAD_INPUT, "%s: this is no file; name one for the run file",
                       f->path);
    f->created = (flags & O_EXCL) != 0;
    return 0;
}

static int take_lock(struct ks_runfile *f, struct ks_error *err)
{
    struct statfs fs;
    int held = ks_runfile_take_lock(f->fd);
    f->created = f->created && held <= 0; /* whoever was quicker keeps it */
    if (held > 0)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: another process is writing this run file; wait until it has ended, or "
                       "name another with --out",
                       f->path);
    if (held < 0)
        return ks_fail_errno(err, "%s: cannot lock the run file", f->path);
    f->network = fstatfs(f->fd, &fs) == 0 && ks_runfile_type_is_network((long)fs.f_type);
    return 0;
}

/* A file may hold what a stranger wrote: nothing in it may run, and no length is believed. */
static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_exec(db, "PRAGMA cell_size_check=1", NULL, NULL, NULL);
}

/* "file:PATH?immutable=1" with what has a meaning in it written as %xx. */
static int make_immutable_uri(const char *path, struct ks_buf *out, struct ks_error *err)
{
    if (ks_buf_printf(out, err, "file:"))
        return -1;
    for (; *path; path++)
        if (ks_buf_printf(out, err, strchr("?#%", *path) ? "%%%02x" : "%c", (unsigned char)*path))
            return -1;
    return ks_buf_printf(out, err, "?immutable=1");
}

static int open_database(struct ks_runfile *f, const char *name, int flags, struct ks_error *err)
{
    int rc = sqlite3_open_v2(name, &f->db, flags | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK)
        return f->db ? ks_runfile_fail(f, rc, "cannot be opened", err)
                     : ks_fail_memory(err, 0, f->path);
    sqlite3_busy_timeout(f->db, BUSY_MS);
    distrust(f->db);
    return 0;
}

/* A path that begins with "file:" would be taken for more than a path. */
static int open_path(struct ks_runfile *f, int flags, struct ks_error *err)
{
    if (strncmp(f->path, "file:", 5) != 0)
        return open_database(f, f->path, flags, err);
    char *name = NULL;
    if (asprintf(&name, "./%s", f->path) < 0)
        return ks_fail_memory(err, strlen(f->path), "a file's name");
    int failed = open_database(f, name, flags, err);
    free(name);
    return failed;
}

/* ------------------------------------------------------------------ what is in it */

static int check_version(const struct ks_runfile *f, int64_t application, int64_t version,
                         struct ks_error *err)
{
    if (application != KS_RUNFILE_APPLICATION)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: this is a database, but no run file; name one that kldscope run has "
                       "written",
                       f->path);
    if (version > KS_RUNFILE_SCHEMA)
        return ks_fail(err, KS_UNSUPPORTED,
                       "%s: its schema is version %lld and this kldscope (" KS_VERSION
                       ") knows up to %d; open it with a newer one",
                       f->path, (long long)version, KS_RUNFILE_SCHEMA);
    if (version < 1)
        return ks_runfile_damaged(f, err, "its schema is version %lld", (long long)version);
    return 0;
}

static int check_contents(struct ks_runfile *f, int64_t *pages, struct ks_error *err)
{
    int64_t application, version;
    if (ks_runfile_count(f, "PRAGMA page_count", pages, err) ||
        ks_runfile_count(f, "PRAGMA application_id", &application, err) ||
        ks_runfile_count(f, "PRAGMA user_version", &version, err))
        return -1;
    if (*pages == 0)
        return 0;
    return check_version(f, application, version, err) || ks_schema_check(f, err) ? -1 : 0;
}

/* From here on commits are durable; a full or failing disk leaves the slower journal. */
static void choose_journal(struct ks_runfile *f)
{
    const char *mode = f->network ? "PRAGMA journal_mode=TRUNCATE" : "PRAGMA journal_mode=WAL";
    sqlite3_exec(f->db, mode, NULL, NULL, NULL);
    sqlite3_wal_autocheckpoint(f->db, CHECKPOINT_PAGES);
    sqlite3_exec(f->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
}

static int open_writer(struct ks_runfile *f, int flags, bool *fresh, struct ks_error *err)
{
    int64_t pages = 0;
    if (open_descriptor(f, flags, err) || take_lock(f, err) ||
        open_path(f, SQLITE_OPEN_READWRITE, err) || check_contents(f, &pages, err))
        return -1;
    *fresh = pages == 0;
    f->filled = pages > 0;
    if (f->filled)
        choose_journal(f);
    return 0;
}

struct ks_runfile *ks_runfile_create(const char *path, struct ks_error *err)
{
    bool fresh;
    struct ks_runfile *f = make_object(path, true, err);
    if (f && open_writer(f, O_RDWR | O_CREAT | O_EXCL, &fresh, err)) {
        ks_runfile_close(f);
        return NULL;
    }
    return f;
}

struct ks_runfile *ks_runfile_resume(const char *path, bool *fresh, struct ks_error *err)
{
    if (access(path, F_OK) != 0) {
        *fresh = true;
        return ks_runfile_create(path, err);
    }
    struct ks_runfile *f = make_object(path, true, err);
    if (f && open_writer(f, O_RDWR, fresh, err)) {
        ks_runfile_close(f);
        return NULL;
    }
    return f;
}

/* Where the folder may not be written, SQLite cannot make the index of a journal that isn't there;
 * a file without a journal and without a writer doesn't change, and can be read as it stands. */
static int open_immutable(struct ks_runfile *f, struct ks_error *err)
{
    struct stat st;
    struct ks_buf journal = {0}, uri = {0};
    int failed =
        ks_buf_printf(&journal, err, "%s-wal", f->path) || make_immutable_uri(f->path, &uri, err);
    if (!failed && (ks_runfile_is_written(f) || (stat(journal.bytes, &st) == 0 && st.st_size > 0)))
        failed = ks_runfile_fail(f, SQLITE_CANTOPEN, "cannot be read beside its journal", err);
    if (!failed) {
        sqlite3_close(f->db);
        f->db = NULL;
        failed = open_database(f, uri.bytes, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    }
    ks_buf_finish(&journal);
    ks_buf_finish(&uri);
    return failed ? -1 : 0;
}

static int open_reader(struct ks_runfile *f, struct ks_error *err)
{
    int64_t pages;
    if (open_descriptor(f, O_RDONLY, err) || open_path(f, SQLITE_OPEN_READONLY, err))
        return -1;
    int rc = ask(f, "PRAGMA application_id", &pages);
    if ((rc & 0xff) == SQLITE_CANTOPEN && open_immutable(f, err))
        return -1;
    if (check_contents(f, &pages, err))
        return -1;
    if (pages > 0)
        return 0;
    bool early = ks_runfile_is_written(f);
    return ks_fail(err, early ? KS_TOO_EARLY : KS_BAD_INPUT, "%s: there is nothing in it%s",
                   f->path, early ? " yet: its run is still being prepared" : "; run again");
}

struct ks_runfile *ks_runfile_open(const char *path, struct ks_error *err)
{
    struct ks_runfile *f = make_object(path, false, err);
    if (f && open_reader(f, err)) {
        ks_runfile_close(f);
        return NULL;
    }
    return f;
}

/* ------------------------------------------------------------------ the end */

static void free_scratch(struct ks_runfile *f)
{
    for (size_t i = 0; i < sizeof f->blobs / sizeof *f->blobs; i++)
        ks_buf_finish(&f->blobs[i]);
    free(f->tokens);
    free(f->offsets);
    free(f->ref);
    free(f->arm);
    free(f->path);
    free(f);
}

void ks_runfile_close(struct ks_runfile *f)
{
    if (!f)
        return;
    for (int i = 0; i < KS_N_STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    if (f->db && f->writer && f->filled) {
        sqlite3_exec(f->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
        sqlite3_exec(f->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    }
    sqlite3_close(f->db);
    if (f->created && !f->filled)
        unlink(f->path);
    if (f->fd >= 0)
        close(f->fd);
    free_scratch(f);
}

const char *ks_runfile_path(const struct ks_runfile *f)
{
    return f->path;
}

bool ks_runfile_is_written(const struct ks_runfile *f)
{
    return ks_runfile_lock_is_held(f->fd);
}

/* ------------------------------------------------------------------ transactions */

int ks_runfile_begin(struct ks_runfile *f, struct ks_error *err)
{
    int rc = sqlite3_exec(f->db, f->writer ? "BEGIN IMMEDIATE" : "BEGIN", NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : ks_runfile_fail(f, rc, "cannot be written", err);
}

int ks_runfile_commit(struct ks_runfile *f, struct ks_error *err)
{
    if (ks_runfile_execute(f, "COMMIT", err))
        return -1;
    if (f->writer && !f->filled) {
        f->filled = true;
        choose_journal(f);
    }
    return 0;
}

void ks_runfile_rollback(struct ks_runfile *f)
{
    if (!sqlite3_get_autocommit(f->db))
        sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
}

void ks_runfile_make_room(struct ks_runfile *f)
{
    if (f->filled)
        sqlite3_exec(f->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
}
