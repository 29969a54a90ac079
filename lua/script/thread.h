/*
 * A thread that runs jobs for somebody who will not wait for ever.
 *
 * The thread owns `owner`: jobs run there one at a time, and it is freed there, so nothing in it
 * needs a lock. Between jobs the creator may read and write it; during one only the job may.
 *
 * A job that does not return in time is abandoned: the thread is detached, at idle priority, and
 * with it everything it owns. Should the job return after all, the thread frees what it has and
 * ends; should it not, that memory is lost, which is the price of never hanging.
 */
#ifndef KS_LUA_SCRIPT_THREAD_H
#define KS_LUA_SCRIPT_THREAD_H

#include <stdbool.h>

#include "engine/base/error.h"

struct ks_script_thread;

/* free_owner runs on the thread when it ends. On failure owner stays the caller's. */
struct ks_script_thread *ks_script_thread_create(void *owner, void (*free_owner)(void *owner),
                                                 struct ks_error *err);
/* Ends the thread when it is idle, and waits for it. Not for an abandoned one. Accepts NULL. */
void ks_script_thread_destroy(struct ks_script_thread *t);

/*
 * Runs job(owner) and waits for it, limit_ms and a tenth of that for an orderly end. false: it was
 * abandoned, and neither t nor owner may be touched again. One caller at a time.
 */
bool ks_script_thread_run(struct ks_script_thread *t, void (*job)(void *owner), int limit_ms);

/* For the job: whether limit_ms have passed. */
bool ks_script_thread_late(const struct ks_script_thread *t);
/* For the job: time between the two does not count; it is spent by us, not by the script. */
void ks_script_thread_stop_clock(struct ks_script_thread *t);
void ks_script_thread_start_clock(struct ks_script_thread *t);

#endif
