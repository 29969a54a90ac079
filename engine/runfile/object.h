/*
 * What the files of this folder share.
 *
 *   schema.c   tables and views, and whether a file has just these
 *   open.c     files: made, opened, locked, closed; transactions
 *   look.c     whether a file that is being read has news, and is still the one that was opened
 *   lock.c     the writer's lock, and which file systems SQLite's WAL must not be used on
 *   row.c      rows with their checksums
 *   fields.c   structs as rows, by tables of their fields
 *   facts.c    facts, sessions; what must be equal to go on
 *   window.c   windows and scores as blobs
 *   copy.c     the same from one file into another
 *   worst.c    the worst positions, with their top lists
 *   state.c    progress, arms, numbers, tokens, log
 */
#ifndef KS_ENGINE_RUNFILE_OBJECT_H
#define KS_ENGINE_RUNFILE_OBJECT_H

#include <sqlite3.h>

#include "engine/base/bytes.h"
#include "engine/runfile/runfile.h"

#define KS_COUNT(array) (sizeof(array) / sizeof *(array))

/* "KLDs" */
#define KS_RUNFILE_APPLICATION 0x4b4c4473

/* Statements that are used for every window are prepared once. */
enum ks_statement {
    KS_PUT_WINDOW,
    KS_PUT_SCORES,
    KS_PUT_WORST,
    KS_DROP_WORST,
    KS_PUT_PROGRESS,
    KS_PUT_ARM,
    KS_PUT_NUMBERS,
    KS_PUT_TOKEN,
    KS_PUT_LINE,
    KS_READ_WINDOW,
    KS_READ_SCORES,
    KS_READ_ALL_SCORES,
    KS_N_STATEMENTS,
};

struct ks_runfile {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *statements[KS_N_STATEMENTS];
    int fd; /* of the file, for the lock; closed after db, as closing any descriptor of a
               file drops all locks that SQLite has on it */
    bool writer;
    bool created;                       /* by this object */
    bool filled;                        /* it has facts, committed */
    bool network;                       /* on a file system where WAL must not be used */
    int64_t version, bytes, written_ns; /* of a reader: as of the last look; 0: none yet */
    uint32_t rewrites;                  /* that it has seen */
    struct ks_buf blobs[8];             /* scratch: arrays as bytes */
    int32_t *tokens, *offsets;
    struct ks_ref_row *ref;
    struct ks_arm_row *arm;
    size_t cap_tokens, cap_offsets, cap_ref, cap_arm;
};

/* ------------------------------------------------------------------ open.c */

/* What SQLite last complained of, as an error that names the file and says what to do. */
int ks_runfile_fail(const struct ks_runfile *f, int rc, const char *doing, struct ks_error *err);
/* The number that a statement gives. */
int ks_runfile_count(const struct ks_runfile *f, const char *sql, int64_t *out,
                     struct ks_error *err);
int ks_runfile_execute(struct ks_runfile *f, const char *sql, struct ks_error *err);

/* ------------------------------------------------------------------ lock.c */

/* 0 held, 1 somebody holds it, -1 with errno. */
int ks_runfile_take_lock(int fd);
bool ks_runfile_lock_is_held(int fd);
/* Whether a file system of this statfs type shares its files between machines, which the shared
 * memory of WAL does not reach. */
bool ks_runfile_type_is_network(long type);

/* ------------------------------------------------------------------ schema.c */

int ks_schema_create(struct ks_runfile *f, struct ks_error *err);
/* -1 where a table or view differs from this program's. */
int ks_schema_check(struct ks_runfile *f, struct ks_error *err);

/* ------------------------------------------------------------------ row.c */

/*
 * A row on its way into a statement, or out of one. Values are bound in the order of the columns;
 * the last column is the checksum. What fails is remembered and told at the end.
 */
struct ks_row {
    struct ks_runfile *f;
    sqlite3_stmt *stmt;
    int column;
    int rc;
    struct ks_hash hash;
};

/* The statement of that number, prepared from sql the first time. */
int ks_row_begin(struct ks_row *r, struct ks_runfile *f, enum ks_statement which, const char *sql,
                 struct ks_error *err);
/* A statement that is used once. */
int ks_row_prepare(struct ks_row *r, struct ks_runfile *f, const char *sql, struct ks_error *err);
void ks_row_finish(struct ks_row *r); /* of a prepared one */

void ks_row_put_int(struct ks_row *r, int64_t value);
void ks_row_put_real(struct ks_row *r, double value);                  /* NaN is NULL */
void ks_row_put_text(struct ks_row *r, const char *text);              /* NULL is NULL */
void ks_row_put_blob(struct ks_row *r, const void *bytes, size_t len); /* borrowed until written */
/* Adds the checksum and runs the statement, which can be filled anew then. */
int ks_row_write(struct ks_row *r, struct ks_error *err);

/* Binds a value of a WHERE, outside the checksum. */
void ks_row_ask(struct ks_row *r, int64_t value);
/* Runs a DELETE whose WHERE is bound. */
int ks_row_delete(struct ks_row *r, struct ks_error *err);
/* The next row, held against its checksum; *there false after the last. what: for messages. */
int ks_row_next(struct ks_row *r, const char *what, bool *there, struct ks_error *err);
int64_t ks_row_int(const struct ks_row *r, int column);
double ks_row_real(const struct ks_row *r, int column); /* NaN for NULL */
/* A copy; NULL stays NULL, and *failed is set without memory. */
const char *ks_row_text(const struct ks_row *r, int column, struct ks_arena *a, bool *failed);
/* The bytes of a blob that must be len long; NULL where it isn't. Lives until the next step. */
const void *ks_row_blob(const struct ks_row *r, int column, size_t len);

/* ------------------------------------------------------------------ fields.c */

enum ks_field_kind {
    KS_FIELD_TEXT, /* const char * */
    KS_FIELD_REAL, /* double */
    KS_FIELD_SIZE, /* size_t */
    KS_FIELD_U64,
    KS_FIELD_I64,
    KS_FIELD_U32,
    KS_FIELD_INT, /* int, or an enum */
    KS_FIELD_BOOL,
};

struct ks_field {
    const char *name; /* of the column, and for people */
    enum ks_field_kind kind;
    size_t offset;
    bool must_match; /* for a run to go on */
};

void ks_row_put_fields(struct ks_row *r, const struct ks_field *fields, size_t n,
                       const void *object);
/* From column `first` on. -1 with *err without memory. */
int ks_row_read_fields(const struct ks_row *r, int first, const struct ks_field *fields, size_t n,
                       void *object, struct ks_arena *a, struct ks_error *err);
/* The first field that must match and doesn't, NULL if there is none; its values as text. */
const struct ks_field *ks_row_fields_differ(const struct ks_field *fields, size_t n, const void *a,
                                            const void *b, char value_a[256], char value_b[256]);

#endif
