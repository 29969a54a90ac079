/* Windows and scores: arrays as blobs of little-endian numbers, as README.md lays them out. */
#include <math.h>
#include <stdlib.h>

#include "engine/runfile/object.h"

enum { MEASURED = 1, SAME_TOP = 2 }; /* flags of a position */

/* ------------------------------------------------------------------ put */

/* Empties a scratch blob and makes room for len bytes, which the caller fills. */
static void *fill(struct ks_runfile *f, int blob, size_t len, struct ks_error *err)
{
    struct ks_buf *b = &f->blobs[blob];
    b->len = 0;
    if (b->cap < len + 1) {
        char *bytes = realloc(b->bytes, len + 1);
        if (!bytes) {
            ks_fail_memory(err, len, "a window for the run file");
            return NULL;
        }
        b->bytes = bytes;
        b->cap = len + 1;
    }
    b->len = len;
    return b->bytes;
}

enum { LOGPROB, ENTROPY, RANK, FLAGS, N_REFERENCE };

static int pack_reference(struct ks_runfile *f, const struct ks_ref_row *ref, size_t n,
                          struct ks_error *err)
{
    double *logprob = fill(f, LOGPROB, n * sizeof *logprob, err);
    double *entropy = fill(f, ENTROPY, n * sizeof *entropy, err);
    int32_t *rank = fill(f, RANK, n * sizeof *rank, err);
    uint8_t *flags = fill(f, FLAGS, n, err);
    if (!logprob || !entropy || !rank || !flags)
        return -1;
    for (size_t i = 0; i < n; i++) {
        logprob[i] = ref[i].logprob;
        entropy[i] = ref[i].entropy;
        rank[i] = ref[i].rank;
        flags[i] = ref[i].measurement ? MEASURED : 0;
    }
    return 0;
}

static void put_packed(struct ks_row *r, int first, int n)
{
    for (int i = first; i < first + n; i++)
        ks_row_put_blob(r, r->f->blobs[i].bytes, r->f->blobs[i].len);
}

int ks_runfile_put_window(struct ks_runfile *f, const struct ks_runfile_window *w,
                          struct ks_error *err)
{
    struct ks_row r;
    if (pack_reference(f, w->ref, w->n, err) ||
        ks_row_begin(&r, f, KS_PUT_WINDOW,
                     "INSERT INTO reference_window VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err))
        return -1;
    ks_row_put_int(&r, (int64_t)w->id);
    ks_row_put_int(&r, w->document);
    ks_row_put_int(&r, (int64_t)w->start);
    ks_row_put_int(&r, (int64_t)w->rows);
    ks_row_put_int(&r, (int64_t)w->first);
    ks_row_put_int(&r, (int64_t)w->n);
    ks_row_put_int(&r, w->head_on_cpu);
    ks_row_put_blob(&r, w->tokens, (w->rows + 1) * sizeof *w->tokens);
    ks_row_put_blob(&r, w->offsets, w->n * sizeof *w->offsets);
    put_packed(&r, 0, N_REFERENCE);
    return ks_row_write(&r, err);
}

enum { ARM_KLD, ARM_REVERSE, ARM_LOGPROB, ARM_RANK, ARM_OVERLAP, ARM_FLAGS, N_ARM };

static int pack_arm(struct ks_runfile *f, const struct ks_arm_row *rows, size_t n,
                    struct ks_error *err)
{
    double *kld = fill(f, ARM_KLD, n * sizeof *kld, err);
    double *reverse = fill(f, ARM_REVERSE, n * sizeof *reverse, err);
    double *logprob = fill(f, ARM_LOGPROB, n * sizeof *logprob, err);
    int32_t *rank = fill(f, ARM_RANK, n * sizeof *rank, err);
    uint8_t *overlap = fill(f, ARM_OVERLAP, n, err);
    uint8_t *flags = fill(f, ARM_FLAGS, n, err);
    if (!kld || !reverse || !logprob || !rank || !overlap || !flags)
        return -1;
    for (size_t i = 0; i < n; i++) {
        kld[i] = rows[i].kld;
        reverse[i] = rows[i].reverse;
        logprob[i] = rows[i].logprob;
        rank[i] = rows[i].rank;
        overlap[i] = (uint8_t)rows[i].overlap;
        flags[i] = (uint8_t)((rows[i].measurement ? MEASURED : 0) | (rows[i].top1 ? SAME_TOP : 0));
    }
    return 0;
}

int ks_runfile_put_scores(struct ks_runfile *f, size_t window, size_t arm,
                          const struct ks_arm_row *rows, size_t n, struct ks_error *err)
{
    struct ks_row r;
    if (pack_arm(f, rows, n, err) ||
        ks_row_begin(&r, f, KS_PUT_SCORES, "INSERT INTO arm_window VALUES(?,?,?,?,?,?,?,?,?)", err))
        return -1;
    ks_row_put_int(&r, (int64_t)window);
    ks_row_put_int(&r, (int64_t)arm);
    put_packed(&r, 0, N_ARM);
    return ks_row_write(&r, err);
}

/* ------------------------------------------------------------------ read */

/* Room for n objects in *array; false without memory. */
static bool make_room(void *array, size_t *cap, size_t n, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (*cap >= n && old)
        return true;
    void *more = reallocarray(old, n > 0 ? n : 1, size);
    if (!more)
        return false;
    memcpy(array, &more, sizeof more);
    *cap = n;
    return true;
}

static bool make_window_room(struct ks_runfile *f, const struct ks_runfile_window *w)
{
    return make_room(&f->tokens, &f->cap_tokens, w->rows + 1, sizeof *f->tokens) &&
           make_room(&f->offsets, &f->cap_offsets, w->n, sizeof *f->offsets) &&
           make_room(&f->ref, &f->cap_ref, w->n, sizeof *f->ref);
}

static void unpack_reference(struct ks_ref_row *out, size_t i, const void *const blobs[],
                             int32_t n_top)
{
    uint8_t flags = ((const uint8_t *)blobs[FLAGS])[i];
    *out = (struct ks_ref_row){.measurement = flags & MEASURED, .max = NAN, .sum = NAN, .lse = NAN};
    memcpy(&out->logprob, (const char *)blobs[LOGPROB] + i * sizeof(double), sizeof(double));
    memcpy(&out->entropy, (const char *)blobs[ENTROPY] + i * sizeof(double), sizeof(double));
    memcpy(&out->rank, (const char *)blobs[RANK] + i * sizeof(int32_t), sizeof(int32_t));
    out->n_top = out->measurement ? n_top : 0;
}

static const size_t reference_sizes[N_REFERENCE] = {sizeof(double), sizeof(double), sizeof(int32_t),
                                                    1};
static const size_t arm_sizes[N_ARM] = {
    sizeof(double), sizeof(double), sizeof(double), sizeof(int32_t), 1, 1};

/* Blobs of n elements each, from column `first` on; false where one has another length. */
static bool take_blobs(const struct ks_row *r, int first, const size_t sizes[], int n_blobs,
                       size_t n, const void *blobs[])
{
    for (int i = 0; i < n_blobs; i++) {
        blobs[i] = ks_row_blob(r, first + i, n * sizes[i]);
        if (!blobs[i])
            return false;
    }
    return true;
}

static bool take_shape(const struct ks_row *r, struct ks_runfile_window *w)
{
    for (int i = 0; i < 7; i++)
        if (ks_row_int(r, i) < 0 || ks_row_int(r, i) > INT32_MAX)
            return false;
    *w = (struct ks_runfile_window){
        .id = (size_t)ks_row_int(r, 0),
        .document = (uint32_t)ks_row_int(r, 1),
        .start = (size_t)ks_row_int(r, 2),
        .rows = (size_t)ks_row_int(r, 3),
        .first = (size_t)ks_row_int(r, 4),
        .n = (size_t)ks_row_int(r, 5),
        .head_on_cpu = ks_row_int(r, 6) != 0,
    };
    return w->n <= w->rows;
}

static int take_window(struct ks_runfile *f, const struct ks_row *r, int32_t n_top,
                       struct ks_runfile_window *w, struct ks_error *err)
{
    const void *blobs[N_REFERENCE], *tokens = NULL, *offsets = NULL;
    bool good = take_shape(r, w);
    if (good) {
        tokens = ks_row_blob(r, 7, (w->rows + 1) * sizeof(int32_t));
        offsets = ks_row_blob(r, 8, w->n * sizeof(int32_t));
    }
    if (!tokens || !offsets || !take_blobs(r, 9, reference_sizes, N_REFERENCE, w->n, blobs))
        return ks_runfile_damaged(f, err, "a window has arrays of another length than it says");
    if (!make_window_room(f, w))
        return ks_fail_memory(err, w->n * sizeof *f->ref, "a window of the run file");
    memcpy(f->tokens, tokens, (w->rows + 1) * sizeof *f->tokens);
    memcpy(f->offsets, offsets, w->n * sizeof *f->offsets);
    for (size_t i = 0; i < w->n; i++)
        unpack_reference(&f->ref[i], i, blobs, n_top);
    w->tokens = f->tokens;
    w->offsets = f->offsets;
    w->ref = f->ref;
    return 0;
}

int ks_runfile_read_window(struct ks_runfile *f, size_t at, int32_t n_top,
                           struct ks_runfile_window *out, bool *there, struct ks_error *err)
{
    struct ks_row r;
    if (ks_row_begin(&r, f, KS_READ_WINDOW, "SELECT * FROM reference_window WHERE id=?", err))
        return -1;
    ks_row_ask(&r, (int64_t)at);
    int failed = ks_row_next(&r, "a window", there, err);
    if (!failed && *there)
        failed = take_window(f, &r, n_top, out, err);
    sqlite3_reset(r.stmt);
    return failed;
}

static void unpack_arm(struct ks_arm_row *out, size_t i, const void *const blobs[])
{
    uint8_t flags = ((const uint8_t *)blobs[ARM_FLAGS])[i];
    *out = (struct ks_arm_row){.measurement = flags & MEASURED, .top1 = (flags & SAME_TOP) != 0};
    memcpy(&out->kld, (const char *)blobs[ARM_KLD] + i * sizeof(double), sizeof(double));
    memcpy(&out->reverse, (const char *)blobs[ARM_REVERSE] + i * sizeof(double), sizeof(double));
    memcpy(&out->logprob, (const char *)blobs[ARM_LOGPROB] + i * sizeof(double), sizeof(double));
    memcpy(&out->rank, (const char *)blobs[ARM_RANK] + i * sizeof(int32_t), sizeof(int32_t));
    out->overlap = ((const uint8_t *)blobs[ARM_OVERLAP])[i];
}

int ks_runfile_read_scores(struct ks_runfile *f, size_t window, size_t arm, size_t n,
                           const struct ks_arm_row **rows, bool *there, struct ks_error *err)
{
    struct ks_row r;
    const void *blobs[N_ARM];
    if (ks_row_begin(&r, f, KS_READ_SCORES, "SELECT * FROM arm_window WHERE \"window\"=? AND arm=?",
                     err))
        return -1;
    ks_row_ask(&r, (int64_t)window);
    ks_row_ask(&r, (int64_t)arm);
    int failed = ks_row_next(&r, "an arm's scores", there, err);
    if (!failed && *there && !take_blobs(&r, 2, arm_sizes, N_ARM, n, blobs))
        failed = ks_runfile_damaged(f, err, "an arm has scores of another number of positions");
    if (!failed && *there && !make_room(&f->arm, &f->cap_arm, n, sizeof *f->arm))
        failed = ks_fail_memory(err, n * sizeof *f->arm, "scores of the run file");
    for (size_t i = 0; !failed && *there && i < n; i++)
        unpack_arm(&f->arm[i], i, blobs);
    *rows = f->arm;
    sqlite3_reset(r.stmt);
    return failed;
}
