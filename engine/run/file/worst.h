/*
 * Which positions of an arm are its worst so far: at most KS_RUNFILE_WORST, the largest KLD first,
 * of equal ones the earlier. Positions that are exact or no measurement are none of them. The set
 * depends on the positions alone, not on where a run was interrupted.
 *
 * Plain data, one thread at a time.
 */
#ifndef KS_ENGINE_RUN_FILE_WORST_H
#define KS_ENGINE_RUN_FILE_WORST_H

#include "engine/runfile/runfile.h"

struct ks_worst_place {
    double kld;
    size_t window, position;
};

struct ks_worst {
    struct ks_worst_place places[KS_RUNFILE_WORST];
    size_t n;
};

/* Takes in the positions of a window that comes behind all others. What had to make room for them
 * are the last of the places that were there. */
void ks_worst_add(struct ks_worst *w, size_t window, const struct ks_arm_row *rows, size_t n);

#endif
