/*
 * The word somebody meant: for messages that end in "did you mean `override`?".
 *
 * Pure; any thread.
 */
#ifndef KS_ENGINE_BASE_NEAREST_H
#define KS_ENGINE_BASE_NEAREST_H

#include <stddef.h>

/*
 * The one of words[n] that is nearest to `word`, the first of equals; NULL where none is near
 * enough to be worth a suggestion. Distance is the number of letters put in, left out, replaced or
 * swapped with their neighbour (optimal string alignment), in any case; near enough is a third of
 * the longer word's letters, one at least. NULL entries of words are skipped.
 */
const char *ks_nearest_word(const char *word, const char *const *words, size_t n);

#endif
