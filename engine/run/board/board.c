#include "engine/run/board/board.h"

#include "engine/base/bytes.h"
#include "engine/base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINES 256
#define WHY_BYTES 256

struct ks_facts_box {
    atomic_int refs;
    struct ks_arena arena;
    struct ks_facts facts;
};

struct ks_draft {
    atomic_int refs;
    struct ks_facts_box *facts;
    struct ks_arena arena;
    struct ks_snapshot snapshot;
};

struct line {
    int64_t unix_ns;
    enum ks_log_level level;
    char *text;
};

struct drop {
    size_t arm;
    char why[WHY_BYTES];
};

struct ks_board {
    pthread_mutex_t lock;
    pthread_cond_t asked;
    struct ks_facts_box *facts;
    struct ks_draft *newest;
    uint64_t serial;
    struct line log[LOG_LINES]; /* a ring: the oldest at first_line */
    size_t first_line, n_lines;
    uint64_t lost_lines;
    struct drop *drops; /* (n_drops), each arm once */
    size_t n_drops, drops_cap;
    bool stop, pause, news;
    int wake_fd;
};

/* ------------------------------------------------------------------ boxes */

struct ks_facts_box *ks_facts_create(struct ks_error *err)
{
    struct ks_facts_box *box = calloc(1, sizeof *box);
    if (!box) {
        ks_fail_memory(err, sizeof *box, "the run's facts");
        return NULL;
    }
    atomic_init(&box->refs, 1);
    return box;
}

struct ks_arena *ks_facts_arena(struct ks_facts_box *box)
{
    return &box->arena;
}

struct ks_facts *ks_facts_of(struct ks_facts_box *box)
{
    return &box->facts;
}

void ks_facts_release(struct ks_facts_box *box)
{
    if (!box || atomic_fetch_sub(&box->refs, 1) != 1)
        return;
    ks_arena_finish(&box->arena);
    free(box);
}

struct ks_draft *ks_draft_create(struct ks_error *err)
{
    struct ks_draft *d = calloc(1, sizeof *d);
    if (!d) {
        ks_fail_memory(err, sizeof *d, "a snapshot");
        return NULL;
    }
    atomic_init(&d->refs, 1);
    d->snapshot.doing = d->snapshot.failure = "";
    return d;
}

struct ks_arena *ks_draft_arena(struct ks_draft *d)
{
    return &d->arena;
}

struct ks_snapshot *ks_draft_snapshot(struct ks_draft *d)
{
    return &d->snapshot;
}

static void draft_release(struct ks_draft *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) != 1)
        return;
    ks_facts_release(d->facts);
    ks_arena_finish(&d->arena);
    free(d);
}

void ks_snapshot_release(const struct ks_snapshot *s)
{
    if (!s)
        return;
    const char *at = (const char *)s - offsetof(struct ks_draft, snapshot);
    draft_release((struct ks_draft *)(uintptr_t)at);
}

/* ------------------------------------------------------------------ the board */

struct ks_board *ks_board_create(struct ks_error *err)
{
    struct ks_board *b = calloc(1, sizeof *b);
    struct ks_draft *first = ks_draft_create(err);
    if (!b || !first) {
        free(b);
        draft_release(first);
        ks_fail_memory(err, sizeof *b, "the run's board");
        return NULL;
    }
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->asked, NULL);
    b->newest = first;
    b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->wake_fd < 0) {
        ks_fail_errno(err, "cannot make an eventfd to wake the screen with");
        ks_board_destroy(b);
        return NULL;
    }
    return b;
}

void ks_board_destroy(struct ks_board *b)
{
    if (!b)
        return;
    if (b->wake_fd >= 0)
        close(b->wake_fd);
    for (size_t i = 0; i < LOG_LINES; i++)
        free(b->log[i].text);
    free(b->drops);
    draft_release(b->newest);
    ks_facts_release(b->facts);
    pthread_cond_destroy(&b->asked);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void ks_board_set_facts(struct ks_board *b, struct ks_facts_box *box)
{
    pthread_mutex_lock(&b->lock);
    struct ks_facts_box *old = b->facts;
    b->facts = box;
    pthread_mutex_unlock(&b->lock);
    ks_facts_release(old);
}

/* Called with the lock held. */
static void append_line(struct ks_board *b, int64_t unix_ns, enum ks_log_level level, char *text)
{
    size_t at = (b->first_line + b->n_lines) % LOG_LINES;
    if (b->n_lines < LOG_LINES) {
        b->n_lines++;
    } else {
        b->first_line = (b->first_line + 1) % LOG_LINES;
        b->lost_lines++;
    }
    free(b->log[at].text);
    b->log[at] = (struct line){.unix_ns = unix_ns, .level = level, .text = text};
}

void ks_board_put_line(struct ks_board *b, const struct ks_log_line *line)
{
    char *copy = strdup(line->text);
    if (!copy)
        return; /* the log is a courtesy: a line lost to memory is no reason to end a run */
    ks_text_one_line(copy);
    pthread_mutex_lock(&b->lock);
    append_line(b, line->unix_ns, line->level, copy);
    b->news = true;
    pthread_cond_signal(&b->asked);
    pthread_mutex_unlock(&b->lock);
}

void ks_board_note(struct ks_board *b, enum ks_log_level level, const char *format, ...)
{
    char text[KS_LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    ks_board_put_line(b, &(struct ks_log_line){
                             .unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                             .level = level,
                             .text = text,
                         });
}

bool ks_board_line(struct ks_board *b, uint64_t *number, struct ks_log_line *out,
                   char text[KS_LINE_BYTES])
{
    pthread_mutex_lock(&b->lock);
    if (*number < b->lost_lines)
        *number = b->lost_lines;
    bool there = *number - b->lost_lines < b->n_lines;
    if (there) {
        size_t at = (b->first_line + (size_t)(*number - b->lost_lines)) % LOG_LINES;
        snprintf(text, KS_LINE_BYTES, "%s", b->log[at].text);
        *out = (struct ks_log_line){
            .unix_ns = b->log[at].unix_ns, .level = b->log[at].level, .text = text};
    }
    pthread_mutex_unlock(&b->lock);
    return there;
}

/* Called with the lock held. */
static int copy_log(const struct ks_board *b, struct ks_draft *d)
{
    struct ks_snapshot *s = &d->snapshot;
    s->log = ks_arena_alloc(&d->arena, b->n_lines, sizeof *s->log);
    if (!s->log)
        return -1;
    for (size_t i = 0; i < b->n_lines; i++) {
        const struct line *l = &b->log[(b->first_line + i) % LOG_LINES];
        char *text = ks_arena_strdup(&d->arena, l->text);
        if (!text)
            return -1;
        s->log[i] = (struct ks_log_line){.unix_ns = l->unix_ns, .level = l->level, .text = text};
    }
    s->n_log = b->n_lines;
    s->log_lost = b->lost_lines;
    return 0;
}

int ks_board_publish(struct ks_board *b, struct ks_draft *d, struct ks_error *err)
{
    pthread_mutex_lock(&b->lock);
    if (copy_log(b, d)) {
        pthread_mutex_unlock(&b->lock);
        draft_release(d);
        return ks_fail_memory(err, LOG_LINES * sizeof(struct ks_log_line), "a snapshot's log");
    }
    d->snapshot.serial = ++b->serial;
    d->facts = b->facts;
    if (d->facts)
        atomic_fetch_add(&d->facts->refs, 1);
    d->snapshot.facts = d->facts ? &d->facts->facts : NULL;
    struct ks_draft *old = b->newest;
    b->newest = d;
    b->news = false;
    pthread_mutex_unlock(&b->lock);
    draft_release(old);
    (void)!write(b->wake_fd, &(uint64_t){1}, sizeof(uint64_t)); /* full: it wakes already */
    return 0;
}

const struct ks_snapshot *ks_board_snapshot(struct ks_board *b)
{
    uint64_t count;
    (void)!read(b->wake_fd, &count, sizeof count); /* empty: nothing to clear */
    pthread_mutex_lock(&b->lock);
    struct ks_draft *d = b->newest;
    atomic_fetch_add(&d->refs, 1);
    pthread_mutex_unlock(&b->lock);
    return &d->snapshot;
}

int ks_board_wake_fd(const struct ks_board *b)
{
    return b->wake_fd;
}

/* ------------------------------------------------------------------ requests */

void ks_board_ask_stop(struct ks_board *b, const char *why)
{
    pthread_mutex_lock(&b->lock);
    bool first = !b->stop;
    b->stop = true;
    pthread_cond_signal(&b->asked);
    pthread_mutex_unlock(&b->lock);
    if (first)
        ks_board_note(b, KS_LOG_INFO, "stopping: %s", why);
}

void ks_board_ask_pause(struct ks_board *b, bool paused)
{
    pthread_mutex_lock(&b->lock);
    b->pause = paused;
    pthread_cond_signal(&b->asked);
    pthread_mutex_unlock(&b->lock);
}

/* Called with the lock held. What was asked for before keeps its place and reason. */
static int add_drop(struct ks_board *b, size_t arm, const char *why, struct ks_error *err)
{
    for (size_t i = 0; i < b->n_drops; i++)
        if (b->drops[i].arm == arm)
            return 0;
    struct drop *drops =
        ks_grow(b->drops, &b->drops_cap, b->n_drops, sizeof *drops, "dropping an arm", err);
    if (!drops)
        return -1;
    b->drops = drops;
    drops[b->n_drops].arm = arm;
    snprintf(drops[b->n_drops].why, sizeof drops->why, "%s", why);
    b->n_drops++;
    return 0;
}

void ks_board_ask_drop(struct ks_board *b, size_t arm, const char *why)
{
    struct ks_error err;
    pthread_mutex_lock(&b->lock);
    int failed = add_drop(b, arm, why, &err);
    pthread_cond_signal(&b->asked);
    pthread_mutex_unlock(&b->lock);
    if (failed)
        ks_board_note(b, KS_LOG_WARNING, "an arm is not dropped: %s", err.text);
}

bool ks_board_stopping(struct ks_board *b)
{
    pthread_mutex_lock(&b->lock);
    bool stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    return stop;
}

bool ks_board_pausing(struct ks_board *b)
{
    pthread_mutex_lock(&b->lock);
    bool pause = b->pause && !b->stop;
    pthread_mutex_unlock(&b->lock);
    return pause;
}

bool ks_board_next_drop(struct ks_board *b, size_t *arm, char *why, size_t why_size)
{
    pthread_mutex_lock(&b->lock);
    bool found = b->n_drops > 0;
    if (found) {
        *arm = b->drops[0].arm;
        snprintf(why, why_size, "%s", b->drops[0].why);
        memmove(b->drops, b->drops + 1, --b->n_drops * sizeof *b->drops);
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

void ks_board_wait(struct ks_board *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->pause && !b->stop && !b->news && b->n_drops == 0)
        pthread_cond_wait(&b->asked, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

bool ks_board_sleep(struct ks_board *b, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int woken = 0;
    pthread_mutex_lock(&b->lock);
    while (!b->stop && woken != ETIMEDOUT)
        woken = pthread_cond_timedwait(&b->asked, &b->lock, &until);
    bool stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    return stop;
}
