/*
 * A run file that somebody has changed: a report of it says that it's damaged, or has numbers.
 *
 * The bytes are changes to the file of a small run, one after another. Each begins with a byte that
 * chooses its kind: bytes of the file overwritten, which is what a failing disk does and checksums
 * see; or a value replaced and its row sealed with the right checksum again, which is what somebody
 * does who means harm. (A change that SQLite refuses, of a wrong type, is none.)
 */
#include <stdio.h>
#include <string.h>

#include "engine/runfile/object.h"
#include "tests/fuzz/target.h"

enum { MAX_COLUMNS = 40, MAX_CHANGES = 8, FILE_MAX = 1 << 16 };

/* The input, taken from the front; 0 and nothing behind its end. */
struct input {
    const uint8_t *bytes;
    size_t len;
};

static uint64_t take(struct input *in, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n && in->len > 0; i++, in->bytes++, in->len--)
        value |= (uint64_t)*in->bytes << 8 * i;
    return value;
}

static const uint8_t *take_bytes(struct input *in, size_t *n)
{
    const uint8_t *bytes = in->bytes;
    *n = *n < in->len ? *n : in->len;
    in->bytes += *n;
    in->len -= *n;
    return bytes;
}

/* ------------------------------------------------------------------ a value replaced */

static void put_new_value(struct ks_row *r, struct input *in, char text[256])
{
    uint64_t kind = take(in, 1);
    size_t n = kind / 8;
    double real;
    const uint8_t *bytes;
    switch (kind % 8) {
    case 0:
        ks_row_put_int(r, (int64_t)take(in, 8));
        break;
    case 1:
    case 2:
        ks_row_put_int(r, (int8_t)take(in, 1));
        break;
    case 3:
        memcpy(&real, &(uint64_t){take(in, 8)}, sizeof real);
        ks_row_put_real(r, real);
        break;
    case 4:
        ks_row_put_text(r, NULL);
        break;
    case 5:
        bytes = take_bytes(in, &n);
        memcpy(text, bytes, n);
        text[n] = '\0';
        ks_row_put_text(r, text);
        break;
    default:
        bytes = take_bytes(in, &n);
        ks_row_put_blob(r, bytes, n);
    }
}

static void put_old_value(struct ks_row *r, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        ks_row_put_int(r, sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        ks_row_put_real(r, sqlite3_column_double(row, column));
        break;
    case SQLITE_TEXT:
        ks_row_put_text(r, (const char *)sqlite3_column_text(row, column));
        break;
    case SQLITE_NULL:
        ks_row_put_text(r, NULL);
        break;
    default:
        ks_row_put_blob(r, sqlite3_column_blob(row, column),
                        (size_t)sqlite3_column_bytes(row, column));
    }
}

/* A blob's element, so that one number among good ones is reached. */
static void put_changed_blob(struct ks_row *r, sqlite3_stmt *row, int column, struct input *in,
                             uint8_t changed[FILE_MAX])
{
    size_t len = (size_t)sqlite3_column_bytes(row, column), at = (size_t)take(in, 1);
    uint64_t value = take(in, 8);
    memcpy(changed, sqlite3_column_blob(row, column), len);
    if (len >= sizeof value)
        memcpy(changed + at % (len - sizeof value + 1), &value, sizeof value);
    ks_row_put_blob(r, changed, len);
}

static void write_row(struct ks_runfile *f, const char *table, sqlite3_stmt *row, struct input *in)
{
    static uint8_t blob[FILE_MAX];
    char sql[256], text[256];
    struct ks_error err;
    struct ks_row r;
    int n = sqlite3_column_count(row), which = (int)take(in, 1) % (n - 1);
    bool inside = take(in, 1) & 1;
    int at = snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO \"%s\" VALUES(?", table);
    for (int i = 1; i < n; i++)
        at += snprintf(sql + at, sizeof sql - (size_t)at, ",?");
    snprintf(sql + at, sizeof sql - (size_t)at, ")");
    target_must(ks_row_prepare(&r, f, sql, &err) == 0);
    for (int i = 0; i < n - 1; i++) {
        if (i != which)
            put_old_value(&r, row, i);
        else if (inside && sqlite3_column_type(row, i) == SQLITE_BLOB)
            put_changed_blob(&r, row, i, in, blob);
        else
            put_new_value(&r, in, text);
    }
    ks_row_write(&r, &err);
    ks_row_finish(&r);
}

static void replace_value(struct ks_runfile *f, struct input *in)
{
    static const char *const tables[] = {
        "run", "session", "corpus",           "document",   "arm",       "arm_state",  "progress",
        "log", "token",   "reference_window", "arm_window", "arm_worst", "arm_numbers"};
    const char *table = tables[take(in, 1) % (sizeof tables / sizeof *tables)];
    char sql[128];
    sqlite3_stmt *row = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" LIMIT 1 OFFSET %d", table,
             (int)take(in, 1) % 4);
    if (sqlite3_prepare_v2(f->db, sql, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        write_row(f, table, row, in);
    sqlite3_finalize(row);
}

/* ------------------------------------------------------------------ the file */

static void change_rows(const char *path, struct input *in, size_t changes)
{
    struct ks_runfile f = {.path = (char[]){"changed"}, .fd = -1};
    target_must(sqlite3_open(path, &f.db) == SQLITE_OK);
    sqlite3_exec(f.db, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN", 0, 0, 0);
    for (size_t i = 0; i < changes && in->len > 0; i++)
        replace_value(&f, in);
    sqlite3_exec(f.db, "COMMIT", 0, 0, 0);
    sqlite3_close(f.db);
}

static void change_bytes(uint8_t *file, size_t *file_len, struct input *in, size_t changes)
{
    for (size_t i = 0; i < changes && in->len > 0; i++) {
        size_t at = (size_t)take(in, 2) % *file_len, n = (size_t)take(in, 1);
        if (n == 0xff) { /* it ends here */
            *file_len = at + 1;
            continue;
        }
        n = n % 16 < *file_len - at ? n % 16 : *file_len - at;
        const uint8_t *bytes = take_bytes(in, &n);
        memcpy(file + at, bytes, n);
    }
}

/* ------------------------------------------------------------------ reading it */

static void report(const char *path)
{
    struct ks_error err = {0};
    struct ks_saved *s = ks_saved_open(path, &err);
    if (!s) {
        target_must(err.code != KS_OK && strncmp(err.text, path, strlen(path)) == 0);
        return;
    }
    const struct ks_snapshot *shown = ks_saved_snapshot(s);
    char *json = ks_report_json(shown, true, &err), *table = ks_report_table(shown, 80, &err);
    target_must(json && table);
    free(json);
    free(table);
    ks_snapshot_release(shown);
    ks_saved_close(s);
}

/* What a screen asks for beside the report: worst positions. */
static void read_worst(const char *path)
{
    static struct ks_runfile_worst worst[KS_RUNFILE_WORST];
    struct ks_error err = {0};
    size_t n = 0;
    struct ks_runfile *f = ks_runfile_open(path, &err);
    for (size_t arm = 0; f && arm < 3; arm++) {
        if (ks_runfile_read_worst(f, arm, worst, &n, &err))
            target_must(err.code != KS_OK && strncmp(err.text, path, strlen(path)) == 0);
        else
            for (size_t i = 0; i < n; i++)
                target_must(worst[i].n_top >= 0 && worst[i].n_top <= KS_TOP_SHOWN);
    }
    ks_runfile_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static uint8_t *whole, file[FILE_MAX];
    static size_t whole_len;
    struct input in = {bytes, len};
    if (!whole)
        whole = target_data("runfile/small.kld", &whole_len);
    size_t file_len = whole_len, kind = (size_t)take(&in, 1);
    target_must(whole_len <= sizeof file);
    memcpy(file, whole, whole_len);
    if (kind % 4 == 0)
        change_bytes(file, &file_len, &in, kind / 4 % MAX_CHANGES + 1);
    char path[512];
    snprintf(path, sizeof path, "%s", target_file("fuzz.kld", file, file_len));
    if (kind % 4 != 0)
        change_rows(path, &in, kind / 4 % MAX_CHANGES + 1);
    report(path);
    read_worst(path);
    return 0;
}
