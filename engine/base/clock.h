/*
 * The clocks for how long things take. Any thread.
 */
#ifndef KS_ENGINE_BASE_CLOCK_H
#define KS_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment in the past; never runs backwards. */
static inline int64_t ks_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds that all threads of this process have run. */
static inline int64_t ks_clock_process_ns(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
    return (int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec;
}

/* Nanoseconds that the calling thread has run. */
static inline int64_t ks_clock_thread_ns(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec;
}

#endif
