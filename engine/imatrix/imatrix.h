/*
 * Importance matrices: how much each column of a weight matrix matters, as the mean square of what
 * it was multiplied by on some text. llama-imatrix writes them, in GGUF (general.type "imatrix",
 * tensors NAME.in_sum2 and NAME.counts) or in the older form of its own (.dat); both are read here
 * and mean the same.
 *
 * A ks_imatrix (engine.h opens it) is immutable and reference-counted; any thread. It keeps nothing
 * open.
 */
#ifndef KS_ENGINE_IMATRIX_IMATRIX_H
#define KS_ENGINE_IMATRIX_IMATRIX_H

#include "engine/base/bytes.h"
#include "engine/engine.h"
#include "engine/quant/recode.h"

/* ks_imatrix_open of a file's bytes, which are not needed any longer then. */
struct ks_imatrix *ks_imatrix_parse(const char *shown, const uint8_t *bytes, size_t len,
                                    struct ks_error *err);

const char *ks_imatrix_shown(const struct ks_imatrix *m); /* as given to open */
/* Of names and weights: the same for the same matrix in either form. */
struct ks_hash ks_imatrix_hash(const struct ks_imatrix *m);

/* What its maker told of the text: the name of the first corpus, "" if none, and over how many
 * chunks of it the sums are, 0 if not told. */
const char *ks_imatrix_dataset(const struct ks_imatrix *m);
uint32_t ks_imatrix_chunks(const struct ks_imatrix *m);

size_t ks_imatrix_n(const struct ks_imatrix *m);
const char *ks_imatrix_name(const struct ks_imatrix *m, size_t i); /* of a tensor, in name order */

/*
 * The weights for a tensor of `matrices` (cols, rows) matrices, 1 or a layer's experts. Returns 1
 * with *out, which lives as long as m; 0 where there are none for that name; -1 with *err where
 * there are, of another size. (For the embedding that is 0 too: old files count its tokens.)
 */
int ks_imatrix_find(const struct ks_imatrix *m, const char *tensor, uint64_t cols,
                    uint64_t matrices, struct ks_importance *out, struct ks_error *err);

#endif
