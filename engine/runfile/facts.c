/* What is fixed: facts of the run, of its corpora, documents and arms; and who writes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "engine/runfile/object.h"

#define FIELD(object, kind, field, name, must)                                                     \
    {                                                                                              \
        name, kind, offsetof(struct object, field), must                                           \
    }
#define FACT(kind, field, must) FIELD(ks_facts, kind, field, #field, must)
static const struct ks_field run_fields[] = {
    FACT(KS_FIELD_INT, numerics, true),
    FACT(KS_FIELD_TEXT, reference_hash, true),
    FACT(KS_FIELD_TEXT, tokenizer_hash, true),
    FACT(KS_FIELD_TEXT, order, true),
    FACT(KS_FIELD_U64, seed, true),
    FACT(KS_FIELD_U32, window, true),
    FACT(KS_FIELD_U32, context_min, true),
    FACT(KS_FIELD_TEXT, scoring, true),
    FACT(KS_FIELD_BOOL, bos, true),
    FACT(KS_FIELD_INT, top_k, true),
    FACT(KS_FIELD_TEXT, backend_body, true),
    FACT(KS_FIELD_TEXT, backend_head, true),
    FACT(KS_FIELD_U32, vocab, true),
    FACT(KS_FIELD_U32, layers, false),
    FACT(KS_FIELD_U32, hidden, false),
    FACT(KS_FIELD_TEXT, architecture, false),
    FACT(KS_FIELD_U64, reference_bytes, false),
    FACT(KS_FIELD_REAL, reference_bits, false),
    FACT(KS_FIELD_U64, quantized_bytes, false),
    FACT(KS_FIELD_SIZE, documents, true),
    FACT(KS_FIELD_SIZE, tokens, true),
    FACT(KS_FIELD_SIZE, n, true),
    FIELD(ks_facts, KS_FIELD_U32, shard.number, "shard", true),
    FIELD(ks_facts, KS_FIELD_U32, shard.of, "number of shards", true),
    FACT(KS_FIELD_SIZE, all_windows, true),
    FACT(KS_FIELD_SIZE, windows, true),
    FACT(KS_FIELD_SIZE, to_compute, true),
    FIELD(ks_facts, KS_FIELD_SIZE, n_arms, "number of arms", true),
    FIELD(ks_facts, KS_FIELD_SIZE, n_corpora, "number of corpora", true),
};

static const struct ks_field session_fields[] = {
    FACT(KS_FIELD_TEXT, name, false),           FACT(KS_FIELD_TEXT, scenario, false),
    FACT(KS_FIELD_TEXT, reference_file, false), FACT(KS_FIELD_TEXT, reference_name, false),
    FACT(KS_FIELD_INT, threads, false),         FACT(KS_FIELD_TEXT, isa, false),
    FACT(KS_FIELD_TEXT, head_note, false),      FACT(KS_FIELD_REAL, head_gain, false),
    FACT(KS_FIELD_REAL, peak_flops, false),
};

static const struct ks_field corpus_fields[] = {
    FIELD(ks_corpus_facts, KS_FIELD_TEXT, name, "name", true),
    FIELD(ks_corpus_facts, KS_FIELD_TEXT, kind, "kind", true),
    FIELD(ks_corpus_facts, KS_FIELD_SIZE, documents, "documents", true),
    FIELD(ks_corpus_facts, KS_FIELD_SIZE, tokens, "tokens", true),
    FIELD(ks_corpus_facts, KS_FIELD_SIZE, n, "n", true),
    FIELD(ks_corpus_facts, KS_FIELD_SIZE, skipped_short, "skipped_short", true),
    FIELD(ks_corpus_facts, KS_FIELD_TEXT, hash, "hash", true),
};

static const struct ks_field document_fields[] = {
    FIELD(ks_document_facts, KS_FIELD_U32, corpus, "corpus", false),
    FIELD(ks_document_facts, KS_FIELD_U32, line, "line", false),
    FIELD(ks_document_facts, KS_FIELD_TEXT, file, "file", false),
};

static const struct ks_field arm_fields[] = {
    FIELD(ks_arm_facts, KS_FIELD_TEXT, name, "name", true),
    FIELD(ks_arm_facts, KS_FIELD_TEXT, recipe, "recipe", true),
    FIELD(ks_arm_facts, KS_FIELD_TEXT, hash, "hash", true),
    FIELD(ks_arm_facts, KS_FIELD_TEXT, imatrix_hash, "imatrix_hash", true),
    FIELD(ks_arm_facts, KS_FIELD_TEXT, file, "file", false),
    FIELD(ks_arm_facts, KS_FIELD_U64, bytes, "bytes", false),
    FIELD(ks_arm_facts, KS_FIELD_REAL, bits_per_weight, "bits_per_weight", false),
};

/* Rows that follow one another, each with its number. */
struct rows {
    const char *insert, *select, *count, *what;
    const struct ks_field *fields;
    size_t n_fields, size;
};

static const struct rows corpora = {
    .insert = "INSERT INTO corpus VALUES(?,?,?,?,?,?,?,?,?)",
    .select = "SELECT * FROM corpus ORDER BY id",
    .count = "SELECT count(*) FROM corpus",
    .what = "a corpus",
    .fields = corpus_fields,
    .n_fields = KS_COUNT(corpus_fields),
    .size = sizeof(struct ks_corpus_facts),
};

static const struct rows documents = {
    .insert = "INSERT OR REPLACE INTO document VALUES(?,?,?,?,?)",
    .select = "SELECT * FROM document ORDER BY id",
    .count = "SELECT count(*) FROM document",
    .what = "a document",
    .fields = document_fields,
    .n_fields = KS_COUNT(document_fields),
    .size = sizeof(struct ks_document_facts),
};

static const struct rows arms = {
    .select = "SELECT * FROM arm ORDER BY id",
    .count = "SELECT count(*) FROM arm",
    .what = "an arm",
    .fields = arm_fields,
    .n_fields = KS_COUNT(arm_fields),
    .size = sizeof(struct ks_arm_facts),
};

/* ------------------------------------------------------------------ put */

static int put_rows(struct ks_runfile *f, const struct rows *rows, const void *objects, size_t n,
                    struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_prepare(&r, f, rows->insert, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++) {
        ks_row_put_int(&r, (int64_t)i);
        ks_row_put_fields(&r, rows->fields, rows->n_fields, (const char *)objects + i * rows->size);
        failed = ks_row_write(&r, err);
    }
    ks_row_finish(&r);
    return failed;
}

static int put_run(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_prepare(&r, f,
                       "INSERT INTO run VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
                       "?,?,?,?,?,?,?)",
                       err))
        return -1;
    ks_row_put_int(&r, 1);
    ks_row_put_int(&r, KS_RUNFILE_SCHEMA);
    ks_row_put_text(&r, KS_VERSION);
    ks_row_put_fields(&r, run_fields, KS_COUNT(run_fields), facts);
    int failed = ks_row_write(&r, err);
    ks_row_finish(&r);
    return failed;
}

/* The types of an arm's tensors, separated by commas. */
static int join_types(const struct ks_arm_facts *arm, struct ks_buf *out, struct ks_error *err)
{
    out->len = 0;
    for (size_t i = 0; i < arm->n_types; i++)
        if (ks_buf_printf(out, err, "%s%s", i ? "," : "", arm->types[i]))
            return -1;
    return 0;
}

static int put_arm(struct ks_row *r, size_t i, const struct ks_arm_facts *arm, struct ks_error *err)
{
    struct ks_buf *types = &r->f->blobs[0];
    if (join_types(arm, types, err))
        return -1;
    ks_row_put_int(r, (int64_t)i);
    ks_row_put_fields(r, arm_fields, KS_COUNT(arm_fields), arm);
    ks_row_put_text(r, arm->n_types > 0 ? types->bytes : NULL);
    return ks_row_write(r, err);
}

static int put_arms(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_prepare(&r, f, "INSERT OR REPLACE INTO arm VALUES(?,?,?,?,?,?,?,?,?,?)", err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < facts->n_arms && !failed; i++)
        failed = put_arm(&r, i, &facts->arms[i], err);
    ks_row_finish(&r);
    return failed;
}

int ks_runfile_put_facts(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err)
{
    return ks_schema_create(f, err) || put_run(f, facts, err) ||
                   put_rows(f, &corpora, facts->corpora, facts->n_corpora, err)
               ? -1
               : 0;
}

static int put_session_row(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err)
{
    struct ks_row r;
    struct utsname host;
    struct timespec now;
    int64_t id, windows;
    if (ks_runfile_count(f, "SELECT count(*) FROM session", &id, err) ||
        ks_runfile_count(f, "SELECT count(*) FROM reference_window", &windows, err) ||
        ks_row_prepare(&r, f, "INSERT INTO session VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err))
        return -1;
    if (uname(&host))
        snprintf(host.nodename, sizeof host.nodename, "?");
    clock_gettime(CLOCK_REALTIME, &now);
    ks_row_put_int(&r, id);
    ks_row_put_int(&r, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    ks_row_put_text(&r, host.nodename);
    ks_row_put_int(&r, getpid());
    ks_row_put_text(&r, KS_VERSION);
    ks_row_put_int(&r, windows);
    ks_row_put_fields(&r, session_fields, KS_COUNT(session_fields), facts);
    int failed = ks_row_write(&r, err);
    ks_row_finish(&r);
    return failed;
}

int ks_runfile_put_session(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err)
{
    return put_rows(f, &documents, facts->document, facts->documents, err) ||
                   put_arms(f, facts, err) || put_session_row(f, facts, err)
               ? -1
               : 0;
}

/* ------------------------------------------------------------------ read */

/* The first row of a statement that has one. */
static int read_one(struct ks_runfile *f, const char *sql, const char *what, int first,
                    const struct ks_field *fields, size_t n, void *object, struct ks_arena *a,
                    struct ks_error *err)
{
    struct ks_row r;
    bool there = false;
    if (ks_row_prepare(&r, f, sql, err))
        return -1;
    int failed = ks_row_next(&r, what, &there, err);
    if (!failed && !there)
        failed = ks_runfile_damaged(f, err, "%s is missing", what);
    if (!failed)
        failed = ks_row_read_fields(&r, first, fields, n, object, a, err);
    ks_row_finish(&r);
    return failed;
}

/* What a row of a list has beyond its fields. */
typedef int read_more(const struct ks_row *r, void *object, struct ks_arena *a,
                      struct ks_error *err);

static int read_row(struct ks_row *r, const struct rows *rows, size_t i, void *object,
                    read_more *more, struct ks_arena *a, struct ks_error *err)
{
    bool there = false;
    if (ks_row_next(r, rows->what, &there, err))
        return -1;
    if (!there || ks_row_int(r, 0) != (int64_t)i)
        return ks_runfile_damaged(r->f, err, "%s is missing: number %zu", rows->what, i + 1);
    if (ks_row_read_fields(r, 1, rows->fields, rows->n_fields, object, a, err))
        return -1;
    return more ? more(r, object, a, err) : 0;
}

/* *out = n objects in the arena. */
static int read_rows(struct ks_runfile *f, const struct rows *rows, size_t n, read_more *more,
                     struct ks_arena *a, void *out, struct ks_error *err)
{
    int64_t found;
    if (ks_runfile_count(f, rows->count, &found, err))
        return -1;
    if (found != (int64_t)n)
        return ks_runfile_damaged(f, err, "it has %lld times %s where %zu were written",
                                  (long long)found, rows->what, n);
    char *objects = ks_arena_alloc(a, n, rows->size);
    if (!objects)
        return ks_fail_memory(err, n * rows->size, "what a run file tells");
    struct ks_row r;
    if (ks_row_prepare(&r, f, rows->select, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++)
        failed = read_row(&r, rows, i, objects + i * rows->size, more, a, err);
    ks_row_finish(&r);
    memcpy(out, &objects, sizeof objects);
    return failed;
}

static size_t count_commas(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

static int read_types(const struct ks_row *r, void *object, struct ks_arena *a,
                      struct ks_error *err)
{
    struct ks_arm_facts *arm = object;
    bool no_memory = false;
    char *text = (char *)(uintptr_t)ks_row_text(r, 1 + (int)KS_COUNT(arm_fields), a, &no_memory);
    size_t n = text ? count_commas(text) + 1 : 0;
    const char **types = ks_arena_alloc(a, n, sizeof *types);
    if (no_memory || !types)
        return ks_fail_memory(err, n * sizeof *types, "what a run file tells");
    for (size_t i = 0; i < n; i++)
        types[i] = strsep(&text, ",");
    arm->types = n > 0 ? types : NULL;
    arm->n_types = n;
    return 0;
}

/* What the rest of the program takes for granted of facts. */
static int check_facts(const struct ks_runfile *f, const struct ks_facts *facts,
                       struct ks_error *err)
{
    const char *const texts[] = {
        facts->order,        facts->scoring,        facts->reference_hash, facts->tokenizer_hash,
        facts->architecture, facts->backend_body,   facts->backend_head,   facts->name,
        facts->isa,          facts->reference_file, facts->reference_name, facts->head_note,
    };
    for (size_t i = 0; i < KS_COUNT(texts); i++)
        if (!texts[i])
            return ks_runfile_damaged(f, err, "a fact of the run is missing");
    if (facts->top_k < 1 || facts->top_k > KS_TOP_MAX)
        return ks_runfile_damaged(f, err, "top_k is %d", facts->top_k);
    if (facts->vocab < 1 || facts->vocab > INT32_MAX)
        return ks_runfile_damaged(f, err, "its vocabulary is of %u tokens", facts->vocab);
    if (facts->window < 2)
        return ks_runfile_damaged(f, err, "the window is of %u tokens", facts->window);
    if (facts->shard.number < 1 || facts->shard.number > facts->shard.of ||
        facts->windows > facts->all_windows)
        return ks_runfile_damaged(f, err, "it is shard %u/%u, of %zu windows", facts->shard.number,
                                  facts->shard.of, facts->all_windows);
    for (size_t i = 0; i < facts->documents; i++)
        if (facts->document[i].corpus >= facts->n_corpora || !facts->document[i].file)
            return ks_runfile_damaged(f, err, "document %zu is of no corpus", i + 1);
    return 0;
}

int ks_runfile_read_facts(struct ks_runfile *f, struct ks_arena *a, struct ks_facts *out,
                          struct ks_error *err)
{
    struct ks_facts facts = {0};
    if (read_one(f, "SELECT * FROM run", "the row of the run", 3, run_fields, KS_COUNT(run_fields),
                 &facts, a, err) ||
        read_one(f, "SELECT * FROM session ORDER BY id DESC LIMIT 1", "the newest session", 6,
                 session_fields, KS_COUNT(session_fields), &facts, a, err) ||
        read_rows(f, &corpora, facts.n_corpora, NULL, a, &facts.corpora, err) ||
        read_rows(f, &documents, facts.documents, NULL, a, &facts.document, err) ||
        read_rows(f, &arms, facts.n_arms, read_types, a, &facts.arms, err) ||
        check_facts(f, &facts, err))
        return -1;
    *out = facts;
    return 0;
}

/* ------------------------------------------------------------------ what goes together */

/* Who is compared with whom, for the message. */
struct sides {
    const char *path;  /* of the file that b is to go on with, or the path of a */
    const char *other; /* of b; NULL where that is the run of now */
};

static int fail_differs(const struct sides *s, const char *whose, const struct ks_field *field,
                        const char *a, const char *b, struct ks_error *err)
{
    if (s->other)
        return ks_fail(
            err, KS_BAD_INPUT,
            "%.600s and %.600s are no shards of one run: %s%s is %.300s in the first and "
            "%.300s in the second; merge what was run of one scenario, over the same "
            "files",
            s->path, s->other, whose, field->name, a, b);
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: this run cannot go on there: %s%s is %.300s in the file and %.300s now; "
                   "name another file with --out, or run what the file was made of",
                   s->path, whose, field->name, a, b);
}

static int compare_list(const struct sides *s, const struct rows *rows, size_t n,
                        const void *list_a, const void *list_b, struct ks_error *err)
{
    char value_a[256], value_b[256], whose[300];
    for (size_t i = 0; i < n; i++) {
        const char *a = (const char *)list_a + i * rows->size;
        const char *b = (const char *)list_b + i * rows->size;
        const struct ks_field *field =
            ks_row_fields_differ(rows->fields, rows->n_fields, a, b, value_a, value_b);
        if (!field)
            continue;
        const char *name = *(const char *const *)(a + rows->fields[0].offset);
        snprintf(whose, sizeof whose, "of %s, number %zu (%.200s), the ", rows->what, i + 1,
                 name ? name : "");
        return fail_differs(s, whose, field, value_a, value_b, err);
    }
    return 0;
}

static int compare(const struct sides *s, const struct ks_facts *a, const struct ks_facts *b,
                   struct ks_error *err)
{
    char value_a[256], value_b[256];
    const struct ks_field *field =
        ks_row_fields_differ(run_fields, KS_COUNT(run_fields), a, b, value_a, value_b);
    /* A corpus that differs says more than what the run's sums of it say. */
    if (a->n_corpora == b->n_corpora && a->numerics == b->numerics &&
        compare_list(s, &corpora, a->n_corpora, a->corpora, b->corpora, err))
        return -1;
    if (field)
        return fail_differs(s, "the ", field, value_a, value_b, err);
    return compare_list(s, &arms, a->n_arms, a->arms, b->arms, err);
}

int ks_runfile_compare(const char *path, const struct ks_facts *file, const struct ks_facts *now,
                       struct ks_error *err)
{
    return compare(&(struct sides){.path = path}, file, now, err);
}

int ks_runfile_compare_shards(const char *path_a, const struct ks_facts *a, const char *path_b,
                              const struct ks_facts *b, struct ks_error *err)
{
    struct ks_facts same = *b;
    same.shard = a->shard;
    same.windows = a->windows;
    same.to_compute = a->to_compute;
    return compare(&(struct sides){.path = path_a, .other = path_b}, a, &same, err);
}
