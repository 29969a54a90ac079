/*
 * The run file: all that a run finds, in one SQLite database, so that nothing of it is lost.
 * README.md beside this is its page for people: tables, views, blobs.
 *
 *   ks_runfile   one file, open to write (create, resume) or to read (open)
 *
 * A writer holds the file's lock (the kernel's, so a process that dies leaves none behind); a
 * second one is refused, readers are not. What is put between begin and commit is in the file
 * together or not at all, and on the disk when commit returns.
 *
 * Every row has a checksum over all it holds, its place too, and is held against it when it is
 * read. So a damaged file is an error, KS_BAD_INPUT; never a wrong number. What the system refuses
 * and may allow later (a full disk, a lock that somebody holds) is KS_SYSTEM: the transaction can
 * be rolled back and tried again.
 *
 * One thread at a time. This is the one part that knows SQLite.
 */
#ifndef KS_ENGINE_RUNFILE_RUNFILE_H
#define KS_ENGINE_RUNFILE_RUNFILE_H

#include "engine/base/arena.h"
#include "engine/engine.h"
#include "engine/ruler/ruler.h"

#define KS_RUNFILE_SCHEMA 1

struct ks_runfile;

/* Makes a file that is not there yet, and holds its lock. It's empty, and goes again when it is
 * closed, until facts were put and committed. */
struct ks_runfile *ks_runfile_create(const char *path, struct ks_error *err);
/* Opens a file to go on writing it, or makes it; *fresh: there is nothing in it to go on with. */
struct ks_runfile *ks_runfile_resume(const char *path, bool *fresh, struct ks_error *err);
/* Opens a file to read it, while another process may write it. The file is not changed. */
struct ks_runfile *ks_runfile_open(const char *path, struct ks_error *err);
/* A writer leaves one file behind, without its journal, unless a reader has it open or the system
 * refuses; then whoever opens it next sees to that. Accepts NULL. */
void ks_runfile_close(struct ks_runfile *f);

const char *ks_runfile_path(const struct ks_runfile *f);
/* Whether a process (or another writer of this one) holds the file's lock. */
bool ks_runfile_is_written(const struct ks_runfile *f);

/*
 * For a reader, outside a transaction: a number that is another one after each commit of somebody
 * else, and at times without one. Cheap. -1 with KS_BAD_INPUT where the path leads to this file no
 * more, or it has shrunk: what was read of it stays right, what would be read now does not go with
 * it.
 */
int ks_runfile_look(struct ks_runfile *f, int64_t *version, struct ks_error *err);

/* A transaction: to write, or a view of the file that doesn't change while it's read. */
int ks_runfile_begin(struct ks_runfile *f, struct ks_error *err);
int ks_runfile_commit(struct ks_runfile *f, struct ks_error *err);
/* Nothing of the transaction was; harmless without one. */
void ks_runfile_rollback(struct ks_runfile *f);
/* For a writer whose disk is full: gives back what the journal takes, as far as that can be done
 * now. */
void ks_runfile_make_room(struct ks_runfile *f);

/* That the file is damaged, which is told behind its name and before what to do. Returns -1. */
int ks_runfile_damaged(const struct ks_runfile *f, struct ks_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ facts */

/* Makes the tables and puts what is fixed; strings are copied. Once in a file's life. */
int ks_runfile_put_facts(struct ks_runfile *f, const struct ks_facts *facts, struct ks_error *err);
/* Replaces what is told and not compared: names, paths, the order of arms. The session tells who
 * writes from here on: time, host, threads, ISA. */
int ks_runfile_put_session(struct ks_runfile *f, const struct ks_facts *facts,
                           struct ks_error *err);
/* Arrays and strings are in the arena. */
int ks_runfile_read_facts(struct ks_runfile *f, struct ks_arena *a, struct ks_facts *out,
                          struct ks_error *err);
/* Whether a run of `now` goes on where the file's left off: the comparability manifest. -1 with
 * *err naming the first field that differs and both values. */
int ks_runfile_compare(const char *path, const struct ks_facts *file, const struct ks_facts *now,
                       struct ks_error *err);

/* Whether `b`, of the file path_b, is another part of what `a`, of path_a, is a part of: the
 * manifest without the shard. -1 with *err naming the first field that differs and both values. */
int ks_runfile_compare_shards(const char *path_a, const struct ks_facts *a, const char *path_b,
                              const struct ks_facts *b, struct ks_error *err);

/* A number that tells the newest session from others: it's another one once somebody goes on with
 * the file. */
int ks_runfile_read_session(struct ks_runfile *f, int64_t *session, struct ks_error *err);

/* ------------------------------------------------------------------ windows */

struct ks_runfile_window {
    size_t id;         /* index among the run's windows */
    uint32_t document; /* index into the facts' */
    size_t start;      /* token of the document that row 0 holds */
    size_t rows, first;
    size_t n;                     /* scored positions */
    bool head_on_cpu;             /* though the run's head is on a device that failed */
    const int32_t *tokens;        /* (rows + 1): the document's from start on; row r predicts the
                                     token r + 1 */
    const int32_t *offsets;       /* (n): places in the document */
    const struct ks_ref_row *ref; /* (n); read: logprob, entropy, rank, measurement, n_top alone */
};

int ks_runfile_put_window(struct ks_runfile *f, const struct ks_runfile_window *w,
                          struct ks_error *err);
/* rows(n): of an arm at window w. */
int ks_runfile_put_scores(struct ks_runfile *f, size_t window, size_t arm,
                          const struct ks_arm_row *rows, size_t n, struct ks_error *err);

/* The window whose id is `at`; *there false where there is none. Arrays live until the next call
 * on f. n_top: what a row's top list holds, min(top_k, vocab). */
int ks_runfile_read_window(struct ks_runfile *f, size_t at, int32_t n_top,
                           struct ks_runfile_window *out, bool *there, struct ks_error *err);
/* Copies a window, with the scores of all its arms, as its rows stand; so no bit changes. */
int ks_runfile_copy_window(struct ks_runfile *to, struct ks_runfile *from, size_t id,
                           struct ks_error *err);
/* Copies the bytes of all tokens; those that are there already stay. */
int ks_runfile_copy_tokens(struct ks_runfile *to, struct ks_runfile *from, struct ks_error *err);

/* The rows of an arm at a window of n positions; *there false where it wasn't measured. *rows lives
 * until the next call of this. */
int ks_runfile_read_scores(struct ks_runfile *f, size_t window, size_t arm, size_t n,
                           const struct ks_arm_row **rows, bool *there, struct ks_error *err);

/* ------------------------------------------------------------------ the worst positions */

enum { KS_RUNFILE_WORST = 256 }; /* of an arm that are kept */

/* What an arm makes of a position, with both top lists. */
struct ks_runfile_worst {
    size_t window, position; /* index among the window's scored positions */
    int32_t offset, target;  /* place in the document; the true next token */
    double kld, ref_logprob, arm_logprob;
    int32_t n_top; /* at most KS_TOP_SHOWN */
    int32_t ref_top[KS_TOP_SHOWN], arm_top[KS_TOP_SHOWN];
    float ref_top_logprob[KS_TOP_SHOWN], arm_top_logprob[KS_TOP_SHOWN]; /* NaN: not known */
};
int ks_runfile_put_worst(struct ks_runfile *f, size_t arm, const struct ks_runfile_worst *w,
                         struct ks_error *err);
/* It is among the worst no more. */
int ks_runfile_drop_worst(struct ks_runfile *f, size_t arm, size_t window, size_t position,
                          struct ks_error *err);
/* An arm's, the largest KLD first, of equal ones the earlier; out(KS_RUNFILE_WORST). */
int ks_runfile_read_worst(struct ks_runfile *f, size_t arm, struct ks_runfile_worst *out, size_t *n,
                          struct ks_error *err);

/* ------------------------------------------------------------------ how it goes */

struct ks_runfile_progress {
    enum ks_run_state state; /* RUNNING until the run ends */
    enum ks_code failure_code;
    const char *failure; /* "" unless failed */
    size_t windows, positions, tokens, windows_on_cpu;
    int64_t prepare_ns, elapsed_ns, cpu_ns;
    double flops;
};
int ks_runfile_put_progress(struct ks_runfile *f, const struct ks_runfile_progress *p,
                            struct ks_error *err);
/* Strings are in the arena. A file whose windows are not as many as it says is damaged. */
int ks_runfile_read_progress(struct ks_runfile *f, struct ks_arena *a,
                             struct ks_runfile_progress *out, struct ks_error *err);

struct ks_runfile_arm {
    enum ks_arm_state state; /* DROPPED or FAILED: for good */
    const char *why;         /* "" unless dropped or failed */
    size_t windows;          /* that it was measured over, where it's dropped or failed */
    size_t lacks;            /* put: the first window that it was not measured over */
};
/* Of a dropped arm, scores and worst positions from window `lacks` on go. */
int ks_runfile_put_arm(struct ks_runfile *f, size_t arm, const struct ks_runfile_arm *state,
                       struct ks_error *err);
/* RUNNING with "" where nothing was put; lacks is not read. Strings are in the arena. */
int ks_runfile_read_arm(struct ks_runfile *f, struct ks_arena *a, size_t arm,
                        struct ks_runfile_arm *out, struct ks_error *err);

/* The numbers of an arm after so many windows, for the view `summary`. Reports don't read them:
 * they are computed from positions. */
int ks_runfile_put_numbers(struct ks_runfile *f, size_t arm, size_t windows,
                           const struct ks_numbers *n, struct ks_error *err);

/* The bytes that a token stands for; one that is there already stays. */
int ks_runfile_put_token(struct ks_runfile *f, int32_t id, const void *bytes, size_t len,
                         struct ks_error *err);

int ks_runfile_put_line(struct ks_runfile *f, const struct ks_log_line *line, struct ks_error *err);
/* The newest lines, at most max, oldest first; *lost: how many stood before. */
int ks_runfile_read_lines(struct ks_runfile *f, struct ks_arena *a, size_t max,
                          struct ks_log_line **out, size_t *n, uint64_t *lost,
                          struct ks_error *err);

#endif
