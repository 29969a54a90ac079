#include "engine/runfile/object.h"

#include <math.h>

/* ------------------------------------------------------------------ statements */

static int prepare(struct ks_runfile *f, const char *sql, unsigned flags, sqlite3_stmt **out,
                   struct ks_error *err)
{
    int rc = sqlite3_prepare_v3(f->db, sql, -1, flags, out, NULL);
    return rc == SQLITE_OK ? 0 : ks_runfile_fail(f, rc, "cannot be read", err);
}

int ks_row_begin(struct ks_row *r, struct ks_runfile *f, enum ks_statement which, const char *sql,
                 struct ks_error *err)
{
    sqlite3_stmt **stmt = &f->statements[which];
    if (!*stmt && prepare(f, sql, SQLITE_PREPARE_PERSISTENT, stmt, err))
        return -1;
    sqlite3_reset(*stmt);
    sqlite3_clear_bindings(*stmt);
    *r = (struct ks_row){.f = f, .stmt = *stmt};
    return 0;
}

int ks_row_prepare(struct ks_row *r, struct ks_runfile *f, const char *sql, struct ks_error *err)
{
    *r = (struct ks_row){.f = f};
    return prepare(f, sql, 0, &r->stmt, err);
}

void ks_row_finish(struct ks_row *r)
{
    sqlite3_finalize(r->stmt);
    r->stmt = NULL;
}

/* ------------------------------------------------------------------ checksums */

static void add_bytes(struct ks_hash *hash, const void *bytes, size_t len)
{
    *hash = ks_hash_join(*hash, ks_hash_bytes(bytes, len));
}

static void add_int(struct ks_hash *hash, int64_t value)
{
    add_bytes(hash, &value, sizeof value);
}

static void add_real(struct ks_hash *hash, double value)
{
    add_bytes(hash, &value, sizeof value);
}

static void add_null(struct ks_hash *hash)
{
    *hash = ks_hash_join(*hash, (struct ks_hash){0});
}

static void add_column(struct ks_hash *hash, sqlite3_stmt *stmt, int column)
{
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        add_int(hash, sqlite3_column_int64(stmt, column));
        break;
    case SQLITE_FLOAT:
        add_real(hash, sqlite3_column_double(stmt, column));
        break;
    case SQLITE_NULL:
        add_null(hash);
        break;
    default: {
        const void *bytes = sqlite3_column_blob(stmt, column);
        size_t len = (size_t)sqlite3_column_bytes(stmt, column);
        add_bytes(hash, bytes ? bytes : "", len);
    }
    }
}

/* ------------------------------------------------------------------ into the file */

static void keep_failure(struct ks_row *r, int rc)
{
    if (r->rc == SQLITE_OK)
        r->rc = rc;
}

void ks_row_put_int(struct ks_row *r, int64_t value)
{
    add_int(&r->hash, value);
    keep_failure(r, sqlite3_bind_int64(r->stmt, ++r->column, value));
}

/* SQLite keeps whole numbers as integers, which have no -0. */
void ks_row_put_real(struct ks_row *r, double value)
{
    if (isnan(value)) {
        add_null(&r->hash);
        keep_failure(r, sqlite3_bind_null(r->stmt, ++r->column));
        return;
    }
    double kept = value == 0 ? 0 : value;
    add_real(&r->hash, kept);
    keep_failure(r, sqlite3_bind_double(r->stmt, ++r->column, kept));
}

void ks_row_put_text(struct ks_row *r, const char *text)
{
    if (text)
        add_bytes(&r->hash, text, strlen(text));
    else
        add_null(&r->hash);
    keep_failure(r, sqlite3_bind_text(r->stmt, ++r->column, text, -1, SQLITE_STATIC));
}

void ks_row_put_blob(struct ks_row *r, const void *bytes, size_t len)
{
    const void *some = len > 0 ? bytes : ""; /* NULL would be NULL, and no empty blob */
    add_bytes(&r->hash, some, len);
    keep_failure(r, sqlite3_bind_blob64(r->stmt, ++r->column, some, len, SQLITE_STATIC));
}

int ks_row_write(struct ks_row *r, struct ks_error *err)
{
    keep_failure(r, sqlite3_bind_int64(r->stmt, r->column + 1, (int64_t)r->hash.low));
    if (r->rc == SQLITE_OK) {
        int rc = sqlite3_step(r->stmt);
        keep_failure(r, rc == SQLITE_DONE ? SQLITE_OK : rc);
    }
    int rc = r->rc;
    sqlite3_reset(r->stmt);
    sqlite3_clear_bindings(r->stmt);
    *r = (struct ks_row){.f = r->f, .stmt = r->stmt};
    return rc == SQLITE_OK ? 0 : ks_runfile_fail(r->f, rc, "cannot be written", err);
}

int ks_row_delete(struct ks_row *r, struct ks_error *err)
{
    int rc = r->rc == SQLITE_OK ? sqlite3_step(r->stmt) : r->rc;
    sqlite3_reset(r->stmt);
    return rc == SQLITE_DONE ? 0 : ks_runfile_fail(r->f, rc, "cannot be written", err);
}

/* ------------------------------------------------------------------ out of it */

void ks_row_ask(struct ks_row *r, int64_t value)
{
    keep_failure(r, sqlite3_bind_int64(r->stmt, ++r->column, value));
}

int ks_row_next(struct ks_row *r, const char *what, bool *there, struct ks_error *err)
{
    int rc = r->rc == SQLITE_OK ? sqlite3_step(r->stmt) : r->rc;
    *there = rc == SQLITE_ROW;
    if (rc == SQLITE_DONE)
        return 0;
    if (rc != SQLITE_ROW)
        return ks_runfile_fail(r->f, rc, "cannot be read", err);
    struct ks_hash hash = {0};
    int last = sqlite3_column_count(r->stmt) - 1;
    for (int i = 0; i < last; i++)
        add_column(&hash, r->stmt, i);
    if (sqlite3_column_int64(r->stmt, last) != (int64_t)hash.low)
        return ks_runfile_damaged(r->f, err, "%s does not match its checksum", what);
    return 0;
}

int64_t ks_row_int(const struct ks_row *r, int column)
{
    return sqlite3_column_int64(r->stmt, column);
}

double ks_row_real(const struct ks_row *r, int column)
{
    return sqlite3_column_type(r->stmt, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(r->stmt, column);
}

const char *ks_row_text(const struct ks_row *r, int column, struct ks_arena *a, bool *failed)
{
    if (sqlite3_column_type(r->stmt, column) == SQLITE_NULL)
        return NULL;
    const char *text = (const char *)sqlite3_column_text(r->stmt, column);
    const char *copy = text ? ks_arena_strdup(a, text) : NULL;
    *failed |= copy == NULL;
    return copy;
}

const void *ks_row_blob(const struct ks_row *r, int column, size_t len)
{
    const void *bytes = sqlite3_column_blob(r->stmt, column);
    if ((size_t)sqlite3_column_bytes(r->stmt, column) != len)
        return NULL;
    return bytes ? bytes : "";
}
