/*
 * Snapshots, filled from what a run has found: a run's own, and those of a run file that others
 * read.
 *
 * Strings and arrays are in the arena given; -1 with *err where it has no memory, and what is
 * filled is of no use then. One thread at a time.
 */
#ifndef KS_ENGINE_RUN_BOARD_FILL_H
#define KS_ENGINE_RUN_BOARD_FILL_H

#include "engine/base/arena.h"
#include "engine/engine.h"
#include "engine/ruler/tally.h"
#include "engine/runfile/runfile.h"

/* State, failure, counts and times; p's failure is copied. */
int ks_fill_progress(const struct ks_runfile_progress *p, struct ks_arena *arena,
                     struct ks_snapshot *out, struct ks_error *err);
/* A tally's numbers, with its trend and those of n_corpora. */
int ks_fill_numbers(const struct ks_tally *t, size_t n_corpora, struct ks_arena *arena,
                    struct ks_numbers *out, struct ks_error *err);
/* An arm's numbers, its state and a copy of why. */
int ks_fill_arm(const struct ks_tally *t, size_t n_corpora, enum ks_arm_state state,
                const char *why, struct ks_arena *arena, struct ks_arm_snapshot *out,
                struct ks_error *err);

#endif
