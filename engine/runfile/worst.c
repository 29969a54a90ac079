#include "engine/runfile/object.h"

int ks_runfile_put_worst(struct ks_runfile *f, size_t arm, const struct ks_runfile_worst *w,
                         struct ks_error *err)
{
    struct ks_row r;
    size_t n = (size_t)w->n_top;
    if (ks_row_begin(&r, f, KS_PUT_WORST, "INSERT INTO arm_worst VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                     err))
        return -1;
    ks_row_put_int(&r, (int64_t)arm);
    ks_row_put_int(&r, (int64_t)w->window);
    ks_row_put_int(&r, (int64_t)w->position);
    ks_row_put_int(&r, w->offset);
    ks_row_put_int(&r, w->target);
    ks_row_put_real(&r, w->kld);
    ks_row_put_real(&r, w->ref_logprob);
    ks_row_put_real(&r, w->arm_logprob);
    ks_row_put_blob(&r, w->ref_top, n * sizeof *w->ref_top);
    ks_row_put_blob(&r, w->ref_top_logprob, n * sizeof *w->ref_top_logprob);
    ks_row_put_blob(&r, w->arm_top, n * sizeof *w->arm_top);
    ks_row_put_blob(&r, w->arm_top_logprob, n * sizeof *w->arm_top_logprob);
    return ks_row_write(&r, err);
}

int ks_runfile_drop_worst(struct ks_runfile *f, size_t arm, size_t window, size_t position,
                          struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_DROP_WORST,
                     "DELETE FROM arm_worst WHERE arm=? AND \"window\"=? AND position=?", err))
        return -1;
    ks_row_ask(&r, (int64_t)arm);
    ks_row_ask(&r, (int64_t)window);
    ks_row_ask(&r, (int64_t)position);
    return ks_row_delete(&r, err);
}

/* A list of n elements of four bytes; false where the blob has another length. */
static bool take_list(const struct ks_row *r, int column, size_t n, void *out)
{
    const void *bytes = ks_row_blob(r, column, n * sizeof(int32_t));
    if (bytes)
        memcpy(out, bytes, n * sizeof(int32_t));
    return bytes != NULL;
}

static int take_worst(const struct ks_row *r, struct ks_runfile_worst *out, struct ks_error *err)
{
    size_t n = (size_t)sqlite3_column_bytes(r->stmt, 8) / sizeof(int32_t);
    struct ks_runfile_worst w = {
        .window = (size_t)ks_row_int(r, 1),
        .position = (size_t)ks_row_int(r, 2),
        .offset = (int32_t)ks_row_int(r, 3),
        .target = (int32_t)ks_row_int(r, 4),
        .kld = ks_row_real(r, 5),
        .ref_logprob = ks_row_real(r, 6),
        .arm_logprob = ks_row_real(r, 7),
        .n_top = (int32_t)n,
    };
    if (n > KS_TOP_SHOWN || !take_list(r, 8, n, w.ref_top) ||
        !take_list(r, 9, n, w.ref_top_logprob) || !take_list(r, 10, n, w.arm_top) ||
        !take_list(r, 11, n, w.arm_top_logprob))
        return ks_runfile_damaged(r->f, err,
                                  "the lists of a worst position have no length of theirs");
    *out = w;
    return 0;
}

int ks_runfile_read_worst(struct ks_runfile *f, size_t arm, struct ks_runfile_worst *out, size_t *n,
                          struct ks_error *err)
{
    struct ks_row r;
    bool there = true;
    size_t found = 0;
    if (ks_row_prepare(
            &r, f, "SELECT * FROM arm_worst WHERE arm=? ORDER BY kld DESC, \"window\", position",
            err))
        return -1;
    ks_row_ask(&r, (int64_t)arm);
    int failed = 0;
    while (!failed && there) {
        failed = ks_row_next(&r, "a worst position", &there, err);
        if (failed || !there)
            break;
        failed = found == KS_RUNFILE_WORST
                     ? ks_runfile_damaged(f, err, "an arm has more than %d worst positions",
                                          KS_RUNFILE_WORST)
                     : take_worst(&r, &out[found++], err);
    }
    ks_row_finish(&r);
    if (failed)
        return -1;
    *n = found;
    return 0;
}
