/* How a run goes: progress, arms that ended before it, numbers, tokens, the log. */
#include "engine/runfile/object.h"

/* ------------------------------------------------------------------ progress */

#define PROGRESS(kind, field)                                                                      \
    {                                                                                              \
#field, kind, offsetof(struct ks_runfile_progress, field), false                           \
    }
static const struct ks_field progress_fields[] = {
    PROGRESS(KS_FIELD_INT, state),           PROGRESS(KS_FIELD_INT, failure_code),
    PROGRESS(KS_FIELD_TEXT, failure),        PROGRESS(KS_FIELD_SIZE, windows),
    PROGRESS(KS_FIELD_SIZE, positions),      PROGRESS(KS_FIELD_SIZE, tokens),
    PROGRESS(KS_FIELD_SIZE, windows_on_cpu), PROGRESS(KS_FIELD_I64, prepare_ns),
    PROGRESS(KS_FIELD_I64, elapsed_ns),      PROGRESS(KS_FIELD_I64, cpu_ns),
    PROGRESS(KS_FIELD_REAL, flops),
};

int ks_runfile_put_progress(struct ks_runfile *f, const struct ks_runfile_progress *p,
                            struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_PUT_PROGRESS,
                     "INSERT OR REPLACE INTO progress VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", err))
        return -1;
    ks_row_put_int(&r, 1);
    ks_row_put_fields(&r, progress_fields, KS_COUNT(progress_fields), p);
    return ks_row_write(&r, err);
}

static int check_progress(const struct ks_runfile *f, const struct ks_runfile_progress *p,
                          struct ks_error *err)
{
    int64_t windows;
    if (ks_runfile_count(f, "SELECT count(*) FROM reference_window", &windows, err))
        return -1;
    if (windows != (int64_t)p->windows)
        return ks_runfile_damaged(f, err, "it has %lld windows where %zu were written",
                                  (long long)windows, p->windows);
    if ((int)p->state < KS_RUN_PREPARING || p->state > KS_RUN_FAILED || !p->failure)
        return ks_runfile_damaged(f, err, "its state is unknown");
    if ((int)p->failure_code < KS_OK || p->failure_code > KS_INTERNAL ||
        (p->failure_code != KS_OK) != (p->state == KS_RUN_FAILED))
        return ks_runfile_damaged(f, err, "its state does not go with its failure's code, %d",
                                  (int)p->failure_code);
    return 0;
}

int ks_runfile_read_progress(struct ks_runfile *f, struct ks_arena *a,
                             struct ks_runfile_progress *out, struct ks_error *err)
{
    struct ks_row r;
    bool there;
    struct ks_runfile_progress p;
    if (ks_row_prepare(&r, f, "SELECT * FROM progress", err))
        return -1;
    int failed = ks_row_next(&r, "its progress", &there, err);
    if (!failed && !there)
        failed = ks_runfile_damaged(f, err, "its progress is missing");
    if (!failed)
        failed =
            ks_row_read_fields(&r, 1, progress_fields, KS_COUNT(progress_fields), &p, a, err) ||
            check_progress(f, &p, err);
    ks_row_finish(&r);
    if (failed)
        return -1;
    *out = p;
    return 0;
}

/* ------------------------------------------------------------------ arms */

static int drop_from(struct ks_runfile *f, const char *sql, size_t arm, size_t window,
                     struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_prepare(&r, f, sql, err))
        return -1;
    ks_row_ask(&r, (int64_t)arm);
    ks_row_ask(&r, (int64_t)window);
    int failed = ks_row_delete(&r, err);
    ks_row_finish(&r);
    return failed;
}

int ks_runfile_put_arm(struct ks_runfile *f, size_t arm, const struct ks_runfile_arm *state,
                       struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_PUT_ARM, "INSERT OR REPLACE INTO arm_state VALUES(?,?,?,?,?)", err))
        return -1;
    ks_row_put_int(&r, (int64_t)arm);
    ks_row_put_int(&r, state->state);
    ks_row_put_text(&r, state->why);
    ks_row_put_int(&r, (int64_t)state->windows);
    return ks_row_write(&r, err) ||
                   drop_from(f, "DELETE FROM arm_window WHERE arm=? AND \"window\">=?", arm,
                             state->lacks, err) ||
                   drop_from(f, "DELETE FROM arm_worst WHERE arm=? AND \"window\">=?", arm,
                             state->lacks, err)
               ? -1
               : 0;
}

int ks_runfile_read_arm(struct ks_runfile *f, struct ks_arena *a, size_t arm,
                        struct ks_runfile_arm *out, struct ks_error *err)
{
    struct ks_row r;
    bool there, no_memory = false;
    if (ks_row_prepare(&r, f, "SELECT * FROM arm_state WHERE arm=?", err))
        return -1;
    ks_row_ask(&r, (int64_t)arm);
    int failed = ks_row_next(&r, "an arm's state", &there, err);
    struct ks_runfile_arm read = {.state = KS_ARM_RUNNING, .why = ""};
    if (!failed && there)
        read = (struct ks_runfile_arm){.state = (enum ks_arm_state)ks_row_int(&r, 1),
                                       .why = ks_row_text(&r, 2, a, &no_memory),
                                       .windows = (size_t)ks_row_int(&r, 3)};
    ks_row_finish(&r);
    if (failed)
        return -1;
    if (no_memory)
        return ks_fail_memory(err, 1, "why an arm ended");
    if (!read.why || (there && read.state != KS_ARM_DROPPED && read.state != KS_ARM_FAILED))
        return ks_runfile_damaged(f, err, "an arm's state is unknown");
    *out = read;
    return 0;
}

/* ------------------------------------------------------------------ numbers */

#define NUMBER_OF(kind, field)                                                                     \
    {                                                                                              \
#field, kind, offsetof(struct ks_numbers, field), false                                    \
    }
static const struct ks_field number_fields[] = {
    NUMBER_OF(KS_FIELD_SIZE, n),
    NUMBER_OF(KS_FIELD_REAL, kld_mean),
    NUMBER_OF(KS_FIELD_REAL, kld_sem),
    NUMBER_OF(KS_FIELD_REAL, kld_median),
    NUMBER_OF(KS_FIELD_REAL, kld_p90),
    NUMBER_OF(KS_FIELD_REAL, kld_p95),
    NUMBER_OF(KS_FIELD_REAL, kld_p99),
    NUMBER_OF(KS_FIELD_REAL, kld_p999),
    NUMBER_OF(KS_FIELD_REAL, kld_max),
    NUMBER_OF(KS_FIELD_REAL, kld_reverse_mean),
    NUMBER_OF(KS_FIELD_REAL, top1_agreement),
    NUMBER_OF(KS_FIELD_REAL, topk_overlap),
    NUMBER_OF(KS_FIELD_REAL, ppl_ref),
    NUMBER_OF(KS_FIELD_REAL, ppl_arm),
    NUMBER_OF(KS_FIELD_REAL, ppl_arm_sem),
    NUMBER_OF(KS_FIELD_REAL, ln_ppl_ratio),
    NUMBER_OF(KS_FIELD_REAL, delta_p_mean),
    NUMBER_OF(KS_FIELD_REAL, delta_p_rms),
    NUMBER_OF(KS_FIELD_SIZE, nonfinite),
    NUMBER_OF(KS_FIELD_SIZE, infinite),
};

int ks_runfile_put_numbers(struct ks_runfile *f, size_t arm, size_t windows,
                           const struct ks_numbers *n, struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_PUT_NUMBERS,
                     "INSERT OR REPLACE INTO arm_numbers VALUES"
                     "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                     err))
        return -1;
    ks_row_put_int(&r, (int64_t)arm);
    ks_row_put_int(&r, (int64_t)windows);
    ks_row_put_fields(&r, number_fields, KS_COUNT(number_fields), n);
    return ks_row_write(&r, err);
}

/* ------------------------------------------------------------------ tokens and the log */

int ks_runfile_put_token(struct ks_runfile *f, int32_t id, const void *bytes, size_t len,
                         struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_PUT_TOKEN, "INSERT OR IGNORE INTO token VALUES(?,?,?)", err))
        return -1;
    ks_row_put_int(&r, id);
    ks_row_put_blob(&r, bytes, len);
    return ks_row_write(&r, err);
}

int ks_runfile_put_line(struct ks_runfile *f, const struct ks_log_line *line, struct ks_error *err)
{
    struct ks_row r;
    int64_t id;
    if (ks_runfile_count(f, "SELECT coalesce(max(id)+1,0) FROM log", &id, err) ||
        ks_row_begin(&r, f, KS_PUT_LINE, "INSERT INTO log VALUES(?,?,?,?,?)", err))
        return -1;
    ks_row_put_int(&r, id);
    ks_row_put_int(&r, line->unix_ns);
    ks_row_put_int(&r, line->level);
    ks_row_put_text(&r, line->text);
    return ks_row_write(&r, err);
}

static int read_line(struct ks_row *r, struct ks_arena *a, struct ks_log_line *out, size_t number,
                     struct ks_error *err)
{
    bool there, no_memory = false;
    if (ks_row_next(r, "a line of the log", &there, err))
        return -1;
    if (!there || ks_row_int(r, 0) != (int64_t)number || ks_row_int(r, 2) < KS_LOG_INFO ||
        ks_row_int(r, 2) > KS_LOG_ERROR)
        return ks_runfile_damaged(r->f, err, "line %zu of its log is missing", number + 1);
    *out = (struct ks_log_line){.unix_ns = ks_row_int(r, 1),
                                .level = (enum ks_log_level)ks_row_int(r, 2),
                                .text = ks_row_text(r, 3, a, &no_memory)};
    return out->text ? 0 : ks_fail_memory(err, 1, "a line of the log");
}

int ks_runfile_read_lines(struct ks_runfile *f, struct ks_arena *a, size_t max,
                          struct ks_log_line **out, size_t *n, uint64_t *lost, struct ks_error *err)
{
    struct ks_row r;
    int64_t in_all;
    if (ks_runfile_count(f, "SELECT count(*) FROM log", &in_all, err))
        return -1;
    size_t skip = (uint64_t)in_all > max ? (size_t)in_all - max : 0, wanted = (size_t)in_all - skip;
    struct ks_log_line *lines = ks_arena_alloc(a, wanted, sizeof *lines);
    if (!lines)
        return ks_fail_memory(err, wanted * sizeof *lines, "the log");
    if (ks_row_prepare(&r, f, "SELECT * FROM log WHERE id>=? ORDER BY id", err))
        return -1;
    ks_row_ask(&r, (int64_t)skip);
    int failed = 0;
    for (size_t i = 0; i < wanted && !failed; i++)
        failed = read_line(&r, a, &lines[i], skip + i, err);
    ks_row_finish(&r);
    if (failed)
        return -1;
    *out = lines;
    *n = wanted;
    *lost = skip;
    return 0;
}
