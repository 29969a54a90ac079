#include "lua/script/thread.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/base/clock.h"

/* Lua nests at most 200 C calls; the deepest of them hold a buffer of about 2 KB. */
#define STACK_BYTES (4u << 20)

struct ks_script_thread {
    void *owner;
    void (*free_owner)(void *owner);
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;      /* to the thread: a job or the end */
    pthread_cond_t done;      /* to the waiter: the job ended, or its clock goes on */
    void (*job)(void *owner); /* NULL: idle */
    bool quit, abandoned, clock_stopped;
    int64_t deadline_ns, stopped_at_ns;
    int64_t grace_ns;
};

static void free_all(struct ks_script_thread *t)
{
    t->free_owner(t->owner);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* Numbers and the order of strings are read by the C locale's rules, whatever the screen's is. */
static locale_t use_c_locale(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c)
        uselocale(c);
    return c;
}

static void give_back_locale(locale_t c)
{
    if (!c)
        return;
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(c);
}

/* Signals that a person sends are for the threads that watch for them. */
static void leave_signals_to_others(void)
{
    sigset_t set;
    sigfillset(&set);
    const int ours[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigdelset(&set, ours[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *thread_main(void *arg)
{
    struct ks_script_thread *t = arg;
    leave_signals_to_others();
    locale_t locale = use_c_locale();
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->job && !t->quit)
            pthread_cond_wait(&t->work, &t->lock);
        if (!t->job)
            break;
        void (*job)(void *) = t->job;
        pthread_mutex_unlock(&t->lock);
        job(t->owner);
        pthread_mutex_lock(&t->lock);
        t->job = NULL;
        if (t->abandoned)
            break;
        pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    free_all(t);
    give_back_locale(locale);
    return NULL;
}

static int start(struct ks_script_thread *t)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = pthread_create(&t->thread, &attr, thread_main, t);
    pthread_attr_destroy(&attr);
    return failed;
}

struct ks_script_thread *ks_script_thread_create(void *owner, void (*free_owner)(void *owner),
                                                 struct ks_error *err)
{
    struct ks_script_thread *t = calloc(1, sizeof *t);
    if (!t) {
        ks_fail_memory(err, sizeof *t, "the script's thread");
        return NULL;
    }
    t->owner = owner;
    t->free_owner = free_owner;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->done, &attr);
    pthread_condattr_destroy(&attr);
    errno = start(t);
    if (errno) {
        ks_fail_errno(err, "cannot start the script's thread");
        pthread_cond_destroy(&t->work);
        pthread_cond_destroy(&t->done);
        pthread_mutex_destroy(&t->lock);
        free(t);
        return NULL;
    }
    return t;
}

void ks_script_thread_destroy(struct ks_script_thread *t)
{
    if (!t)
        return;
    pthread_t thread = t->thread; /* t is the thread's to free */
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->lock);
    pthread_join(thread, NULL);
}

static void wait_until(struct ks_script_thread *t, int64_t ns)
{
    struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    pthread_cond_timedwait(&t->done, &t->lock, &until);
}

static bool wait_for_job(struct ks_script_thread *t)
{
    while (t->job) {
        if (t->clock_stopped) {
            pthread_cond_wait(&t->done, &t->lock);
            continue;
        }
        int64_t last = t->deadline_ns + t->grace_ns;
        if (ks_clock_ns() >= last)
            return false;
        wait_until(t, last);
    }
    return true;
}

bool ks_script_thread_run(struct ks_script_thread *t, void (*job)(void *owner), int limit_ms)
{
    pthread_mutex_lock(&t->lock);
    t->job = job;
    t->clock_stopped = false;
    t->deadline_ns = ks_clock_ns() + (int64_t)limit_ms * 1000000;
    t->grace_ns = (int64_t)limit_ms * 100000;
    pthread_cond_signal(&t->work);
    bool ended = wait_for_job(t);
    if (!ended) {
        t->abandoned = true;
        pthread_setschedparam(t->thread, SCHED_IDLE, &(struct sched_param){0});
        pthread_detach(t->thread);
    }
    pthread_mutex_unlock(&t->lock);
    return ended;
}

/* Only the thread itself moves the deadline during a job, so its own reading needs no lock. */
bool ks_script_thread_late(const struct ks_script_thread *t)
{
    return ks_clock_ns() >= t->deadline_ns;
}

void ks_script_thread_stop_clock(struct ks_script_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->clock_stopped = true;
    t->stopped_at_ns = ks_clock_ns();
    pthread_mutex_unlock(&t->lock);
}

void ks_script_thread_start_clock(struct ks_script_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->deadline_ns += ks_clock_ns() - t->stopped_at_ns;
    t->clock_stopped = false;
    pthread_cond_signal(&t->done);
    pthread_mutex_unlock(&t->lock);
}
