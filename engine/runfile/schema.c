/*
 * Schema 1. Tables are singular and the program's, views plural and for people. README.md tells
 * what each column is. A file has exactly these texts, or it is refused: so nothing that a stranger
 * put in their place is ever run.
 */
#include <stdio.h>
#include <string.h>

#include "engine/runfile/object.h"

#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)

/* Hexadecimal digit k of text h, 1 the first, as a number. */
#define DIGIT(k) "instr('123456789ABCDEF',substr(h," #k ",1))"
/* SQL's shifts and ors are of one precedence. */
#define BYTE(high, low, shift) "((" DIGIT(high) "*16+" DIGIT(low) ")<<" #shift ")"
#define LOW_32                 BYTE(7, 8, 24) "|" BYTE(5, 6, 16) "|" BYTE(3, 4, 8) "|" BYTE(1, 2, 0)

/* clang-format aligns strings behind macros under one another, out of the page. */
/* clang-format off */
/* Element i of a blob of little-endian doubles. Infinity is 9e999; NaN is NULL. */
#define F64_AT(blob)                                                                               \
    "(SELECT CASE WHEN e=2047 THEN CASE WHEN m=0 THEN s*9e999 END "                                \
    "WHEN e=0 THEN s*m*pow(2,-1074) ELSE s*(m+4503599627370496)*pow(2,e-1075) END FROM (SELECT "   \
    "CASE WHEN " DIGIT(15) "<8 THEN 1 ELSE -1 END AS s, "                                          \
    "((" BYTE(15, 16, 0) "&127)<<4)|" DIGIT(13) " AS e, "                                          \
    "(" DIGIT(14) "<<48)|" BYTE(11, 12, 40) "|" BYTE(9, 10, 32) "|" LOW_32 " AS m "                \
    "FROM (SELECT hex(substr(" blob ",8*i+1,8)) AS h)))"

/* Element i of a blob of little-endian 32-bit integers, none of them negative. */
#define I32_OF(bytes) "(SELECT " LOW_32 " FROM (SELECT hex(" bytes ") AS h))"
#define I32_AT(blob)  I32_OF("substr(" blob ",4*i+1,4)")

#define U8_AT(blob) "(SELECT " BYTE(1, 2, 0) " FROM (SELECT hex(substr(" blob ",i+1,1)) AS h))"

/* The token behind the one that a position's scores stand at: what they predict. */
#define NEXT_TOKEN I32_OF("substr(r.tokens,4*(" I32_AT("offsets") "-start+1)+1,4)")

/* A row for each position that an arm was measured at. */
#define POSITIONS                                                                                  \
    "CREATE VIEW positions AS WITH RECURSIVE place(w,i,n) AS "                                     \
    "(SELECT id,0,n FROM reference_window WHERE n>0 UNION ALL "                                    \
    "SELECT w,i+1,n FROM place WHERE i+1<n) "                                                      \
    "SELECT arm.name AS arm, w AS \"window\", corpus.name AS corpus, document.file, line, "        \
    I32_AT("offsets") " AS position, "                                                             \
    "(SELECT CAST(token.bytes AS TEXT) FROM token WHERE token.id=" NEXT_TOKEN ") AS token, "       \
    F64_AT("kld") " AS kld, "                                                                      \
    F64_AT("reverse") " AS reverse, "                                                              \
    F64_AT("r.logprob") " AS ref_logprob, "                                                        \
    F64_AT("a.logprob") " AS arm_logprob, "                                                        \
    F64_AT("entropy") " AS entropy, "                                                              \
    I32_AT("r.rank") " AS ref_rank, "                                                              \
    I32_AT("a.rank") " AS arm_rank, "                                                              \
    U8_AT("overlap") " AS overlap, "                                                               \
    U8_AT("a.flags") ">>1&1 AS top1, "                                                             \
    U8_AT("a.flags") "&1 AS measured "                                                             \
    "FROM place JOIN reference_window AS r ON r.id=w JOIN arm_window AS a ON a.\"window\"=w "      \
    "JOIN arm ON arm.id=a.arm JOIN document ON document.id=r.document "                            \
    "JOIN corpus ON corpus.id=document.corpus"

/* clang-format on */

struct item {
    const char *name, *sql;
};

static const struct item items[] = {
    {"run", "CREATE TABLE run ("
            "id INTEGER PRIMARY KEY CHECK (id = 1), schema INTEGER NOT NULL, "
            "program TEXT NOT NULL, numerics INTEGER NOT NULL, "
            "reference_hash TEXT, tokenizer_hash TEXT, \"order\" TEXT, seed INTEGER, "
            "\"window\" INTEGER, context_min INTEGER, scoring TEXT, bos INTEGER, top_k INTEGER, "
            "backend_body TEXT, backend_head TEXT, vocab INTEGER, "
            "layers INTEGER, hidden INTEGER, architecture TEXT, "
            "reference_bytes INTEGER, reference_bits REAL, quantized_bytes INTEGER, "
            "documents INTEGER, tokens INTEGER, n INTEGER, shard INTEGER, shards INTEGER, "
            "all_windows INTEGER, windows INTEGER, to_compute INTEGER, "
            "n_arms INTEGER, n_corpora INTEGER, checksum INTEGER NOT NULL) STRICT"},
    {"session", "CREATE TABLE session ("
                "id INTEGER PRIMARY KEY, began_unix_ns INTEGER NOT NULL, host TEXT NOT NULL, "
                "process INTEGER NOT NULL, program TEXT NOT NULL, windows INTEGER NOT NULL, "
                "name TEXT, scenario TEXT, reference_file TEXT, reference_name TEXT, "
                "threads INTEGER, isa TEXT, head_note TEXT, head_gain REAL, peak_flops REAL, "
                "checksum INTEGER NOT NULL) STRICT"},
    {"corpus", "CREATE TABLE corpus ("
               "id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, "
               "documents INTEGER NOT NULL, tokens INTEGER NOT NULL, n INTEGER NOT NULL, "
               "skipped_short INTEGER NOT NULL, hash TEXT NOT NULL, "
               "checksum INTEGER NOT NULL) STRICT"},
    {"document", "CREATE TABLE document ("
                 "id INTEGER PRIMARY KEY, corpus INTEGER NOT NULL, line INTEGER NOT NULL, "
                 "file TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT"},
    {"token", "CREATE TABLE token ("
              "id INTEGER PRIMARY KEY, bytes BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT"},
    {"arm", "CREATE TABLE arm ("
            "id INTEGER PRIMARY KEY, name TEXT NOT NULL, recipe TEXT, hash TEXT, "
            "imatrix_hash TEXT, file TEXT, bytes INTEGER, bits_per_weight REAL, types TEXT, "
            "checksum INTEGER NOT NULL) STRICT"},
    {"arm_state", "CREATE TABLE arm_state ("
                  "arm INTEGER PRIMARY KEY, state INTEGER NOT NULL, why TEXT NOT NULL, "
                  "windows INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT"},
    {"reference_window", "CREATE TABLE reference_window ("
                         "id INTEGER PRIMARY KEY, document INTEGER NOT NULL, "
                         "start INTEGER NOT NULL, \"rows\" INTEGER NOT NULL, "
                         "first INTEGER NOT NULL, n INTEGER NOT NULL, "
                         "head_on_cpu INTEGER NOT NULL, tokens BLOB NOT NULL, "
                         "offsets BLOB NOT NULL, logprob BLOB NOT NULL, entropy BLOB NOT NULL, "
                         "rank BLOB NOT NULL, flags BLOB NOT NULL, "
                         "checksum INTEGER NOT NULL) STRICT"},
    {"arm_window", "CREATE TABLE arm_window ("
                   "\"window\" INTEGER NOT NULL, arm INTEGER NOT NULL, kld BLOB NOT NULL, "
                   "reverse BLOB NOT NULL, logprob BLOB NOT NULL, rank BLOB NOT NULL, "
                   "overlap BLOB NOT NULL, flags BLOB NOT NULL, checksum INTEGER NOT NULL, "
                   "PRIMARY KEY (\"window\", arm)) STRICT"},
    {"arm_worst", "CREATE TABLE arm_worst ("
                  "arm INTEGER NOT NULL, \"window\" INTEGER NOT NULL, position INTEGER NOT NULL, "
                  "\"offset\" INTEGER NOT NULL, target INTEGER NOT NULL, kld REAL NOT NULL, "
                  "ref_logprob REAL, arm_logprob REAL, ref_top BLOB NOT NULL, "
                  "ref_top_logprob BLOB NOT NULL, arm_top BLOB NOT NULL, "
                  "arm_top_logprob BLOB NOT NULL, checksum INTEGER NOT NULL, "
                  "PRIMARY KEY (arm, \"window\", position)) STRICT"},
    {"progress", "CREATE TABLE progress ("
                 "id INTEGER PRIMARY KEY CHECK (id = 1), state INTEGER NOT NULL, "
                 "failure_code INTEGER NOT NULL, failure TEXT, windows INTEGER NOT NULL, "
                 "positions INTEGER NOT NULL, tokens INTEGER NOT NULL, "
                 "windows_on_cpu INTEGER NOT NULL, prepare_ns INTEGER NOT NULL, "
                 "elapsed_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL, flops REAL, "
                 "checksum INTEGER NOT NULL) STRICT"},
    {"arm_numbers", "CREATE TABLE arm_numbers ("
                    "arm INTEGER PRIMARY KEY, windows INTEGER NOT NULL, n INTEGER NOT NULL, "
                    "kld_mean REAL, kld_sem REAL, kld_median REAL, kld_p90 REAL, kld_p95 REAL, "
                    "kld_p99 REAL, kld_p999 REAL, kld_max REAL, kld_reverse_mean REAL, "
                    "top1_agreement REAL, topk_overlap REAL, ppl_ref REAL, ppl_arm REAL, "
                    "ppl_arm_sem REAL, ln_ppl_ratio REAL, delta_p_mean REAL, delta_p_rms REAL, "
                    "nonfinite INTEGER NOT NULL, infinite INTEGER NOT NULL, "
                    "checksum INTEGER NOT NULL) STRICT"},
    {"log", "CREATE TABLE log ("
            "id INTEGER PRIMARY KEY, unix_ns INTEGER NOT NULL, level INTEGER NOT NULL, "
            "text TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT"},
    {"arms", "CREATE VIEW arms AS SELECT arm.name, recipe, file, bytes, "
             "round(bits_per_weight,2) AS bits, "
             "CASE coalesce(arm_state.state,1) WHEN 4 THEN 'dropped' WHEN 5 THEN 'failed' "
             "ELSE 'measured' END AS state, coalesce(why,'') AS why, "
             "coalesce(arm_state.windows,(SELECT progress.windows FROM progress)) AS windows "
             "FROM arm LEFT JOIN arm_state ON arm.id=arm_state.arm ORDER BY arm.id"},
    {"windows",
     "CREATE VIEW windows AS SELECT w.id AS \"window\", corpus.name AS corpus, document.file, "
     "line, start, \"rows\", w.n AS positions, head_on_cpu FROM reference_window AS w "
     "JOIN document ON document.id=w.document JOIN corpus ON corpus.id=document.corpus"},
    {"positions", POSITIONS},
    {"worst",
     "CREATE VIEW worst AS SELECT arm.name AS arm, corpus.name AS corpus, document.file, line, "
     "\"offset\" AS position, CAST(token.bytes AS TEXT) AS token, kld, ref_logprob, arm_logprob "
     "FROM arm_worst AS a JOIN arm ON arm.id=a.arm "
     "JOIN reference_window AS r ON r.id=a.\"window\" "
     "JOIN document ON document.id=r.document JOIN corpus ON corpus.id=document.corpus "
     "LEFT JOIN token ON token.id=target ORDER BY arm.id, kld DESC, r.id, a.position"},
    {"summary",
     "CREATE VIEW summary AS SELECT arm.name, arm_numbers.windows, n, kld_mean, kld_sem, "
     "kld_median, kld_p90, kld_p95, kld_p99, kld_p999, kld_max, kld_reverse_mean, "
     "top1_agreement, topk_overlap, ppl_ref, ppl_arm, ppl_arm_sem, ln_ppl_ratio, "
     "delta_p_mean, delta_p_rms, nonfinite, infinite "
     "FROM arm JOIN arm_numbers ON arm_numbers.arm=arm.id ORDER BY arm.id"},
};

enum { N_ITEMS = sizeof items / sizeof *items };

int ks_schema_create(struct ks_runfile *f, struct ks_error *err)
{
    static const char marks[] = "PRAGMA application_id=" NUMBER(
        KS_RUNFILE_APPLICATION) ";"
                                "PRAGMA user_version=" NUMBER(KS_RUNFILE_SCHEMA);
    for (size_t i = 0; i < N_ITEMS; i++)
        if (ks_runfile_execute(f, items[i].sql, err))
            return -1;
    return ks_runfile_execute(f, marks, err);
}

static int check_item(struct ks_runfile *f, sqlite3_stmt *stmt, const struct item *item,
                      struct ks_error *err)
{
    sqlite3_reset(stmt);
    sqlite3_bind_text(stmt, 1, item->name, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return ks_runfile_fail(f, rc, "cannot read its schema", err);
    const char *sql = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (!sql)
        return ks_runfile_damaged(f, err, "its table %s is missing", item->name);
    if (strcmp(sql, item->sql) != 0)
        return ks_runfile_damaged(f, err, "its table %s is not as schema %d has it", item->name,
                                  KS_RUNFILE_SCHEMA);
    return 0;
}

int ks_schema_check(struct ks_runfile *f, struct ks_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc =
        sqlite3_prepare_v2(f->db, "SELECT sql FROM sqlite_schema WHERE name=?1", -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        return ks_runfile_fail(f, rc, "cannot read its schema", err);
    int failed = 0;
    for (size_t i = 0; i < N_ITEMS && !failed; i++)
        failed = check_item(f, stmt, &items[i], err);
    sqlite3_finalize(stmt);
    return failed;
}
