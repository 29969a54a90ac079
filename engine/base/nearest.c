#include "engine/base/nearest.h"

#include <string.h>

/* Longer words are never the names in our lists; a suggestion for them would be noise. */
enum { LONGEST = 63 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Optimal string alignment distance. cost[i % 3][j] is that of making b's first j letters from a's
 * first i; three rows are kept since a swap looks two back.
 */
static unsigned distance(const char *a, size_t len_a, const char *b, size_t len_b)
{
    unsigned cost[3][LONGEST + 1];
    for (size_t j = 0; j <= len_b; j++)
        cost[0][j] = (unsigned)j;
    for (size_t i = 1; i <= len_a; i++) {
        unsigned *row = cost[i % 3];
        const unsigned *above = cost[(i + 2) % 3], *two_above = cost[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= len_b; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return cost[len_a % 3][len_b];
}

const char *ks_nearest_word(const char *word, const char *const *words, size_t n)
{
    size_t len = strlen(word);
    if (len > LONGEST)
        return NULL;
    const char *best = NULL;
    unsigned best_distance = LONGEST + 1;
    for (size_t i = 0; i < n; i++) {
        size_t other = words[i] ? strlen(words[i]) : LONGEST + 1;
        if (other > LONGEST)
            continue;
        size_t allowed = (len > other ? len : other) / 3;
        unsigned d = distance(word, len, words[i], other);
        if (d <= (allowed ? allowed : 1) && d < best_distance) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}
