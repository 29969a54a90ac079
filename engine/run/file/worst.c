#include "engine/run/file/worst.h"

#include <string.h>

/* The first place with a smaller KLD: equal ones were earlier, and stay before. */
static size_t place_of(const struct ks_worst *w, double kld)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->places[middle].kld >= kld)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ks_worst_add(struct ks_worst *w, size_t window, const struct ks_arm_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].measurement || !(rows[i].kld > 0))
            continue;
        size_t at = place_of(w, rows[i].kld);
        if (at == KS_RUNFILE_WORST)
            continue;
        if (w->n < KS_RUNFILE_WORST)
            w->n++;
        memmove(w->places + at + 1, w->places + at, (w->n - at - 1) * sizeof *w->places);
        w->places[at] =
            (struct ks_worst_place){.kld = rows[i].kld, .window = window, .position = i};
    }
}
