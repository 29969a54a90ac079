/* Rows from one file into another as they stand, checksums too: each is held against its own when
 * it is read. Both files have the same schema, or they would not be open. */
#include "engine/runfile/object.h"

/* The row that `from` is at becomes one of `to`. */
static int write_row(struct ks_row *to, const struct ks_row *from, struct ks_error *err)
{
    int n = sqlite3_column_count(from->stmt), rc = SQLITE_OK;
    for (int i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_value(to->stmt, i + 1, sqlite3_column_value(from->stmt, i));
    if (rc == SQLITE_OK)
        rc = sqlite3_step(to->stmt);
    sqlite3_reset(to->stmt);
    sqlite3_clear_bindings(to->stmt);
    return rc == SQLITE_DONE ? 0 : ks_runfile_fail(to->f, rc, "cannot be written", err);
}

/* *n: how many rows there were. */
static int copy_rows(struct ks_row *to, struct ks_row *from, const char *what, size_t *n,
                     struct ks_error *err)
{
    *n = 0;
    for (bool there = true;; (*n)++) {
        if (ks_row_next(from, what, &there, err))
            return -1;
        if (!there)
            return 0;
        if (write_row(to, from, err))
            return -1;
    }
}

static int copy_one(struct ks_runfile *to, struct ks_runfile *from, size_t id, size_t *n,
                    struct ks_error *err)
{
    struct ks_row source, target;
    if (ks_row_begin(&source, from, KS_READ_WINDOW, "SELECT * FROM reference_window WHERE id=?",
                     err) ||
        ks_row_begin(&target, to, KS_PUT_WINDOW,
                     "INSERT INTO reference_window VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err))
        return -1;
    ks_row_ask(&source, (int64_t)id);
    int failed = copy_rows(&target, &source, "a window", n, err);
    sqlite3_reset(source.stmt);
    return failed;
}

static int copy_scores(struct ks_runfile *to, struct ks_runfile *from, size_t id,
                       struct ks_error *err)
{
    struct ks_row source, target;
    size_t n;
    if (ks_row_begin(&source, from, KS_READ_ALL_SCORES,
                     "SELECT * FROM arm_window WHERE \"window\"=? ORDER BY arm", err) ||
        ks_row_begin(&target, to, KS_PUT_SCORES, "INSERT INTO arm_window VALUES(?,?,?,?,?,?,?,?,?)",
                     err))
        return -1;
    ks_row_ask(&source, (int64_t)id);
    int failed = copy_rows(&target, &source, "an arm's scores", &n, err);
    sqlite3_reset(source.stmt);
    return failed;
}

int ks_runfile_copy_window(struct ks_runfile *to, struct ks_runfile *from, size_t id,
                           struct ks_error *err)
{
    size_t n;
    if (copy_one(to, from, id, &n, err))
        return -1;
    if (n == 0)
        return ks_runfile_damaged(from, err, "window %zu is missing", id + 1);
    return copy_scores(to, from, id, err);
}

int ks_runfile_copy_tokens(struct ks_runfile *to, struct ks_runfile *from, struct ks_error *err)
{
    struct ks_row source, target;
    size_t n;
    if (ks_row_begin(&target, to, KS_PUT_TOKEN, "INSERT OR IGNORE INTO token VALUES(?,?,?)", err) ||
        ks_row_prepare(&source, from, "SELECT * FROM token ORDER BY id", err))
        return -1;
    int failed = copy_rows(&target, &source, "a token", &n, err);
    ks_row_finish(&source);
    return failed;
}
