/*
 * Which tokens of a text lie in given parts of it.
 *
 * Pure; any thread.
 */
#ifndef KS_ENGINE_TEXT_DOCUMENT_MASK_H
#define KS_ENGINE_TEXT_DOCUMENT_MASK_H

#include "engine/text/document/chat.h"
#include "engine/text/tokenizer.h"

/*
 * Sets mask[i] (n) to 1 where ids[i] holds a byte of one of the spans (ascending), else to 0. ids
 * is what text became, after n_bos added tokens; tokens past the text's end are in no span. Fails
 * where ids do not spell text, as with bytes that the vocabulary has no token for.
 */
int ks_mask_spans(const struct ks_tokenizer *t, const int32_t *ids, size_t n, size_t n_bos,
                  const char *text, size_t len, const struct ks_span *spans, size_t n_spans,
                  uint8_t *mask, struct ks_error *err);

#endif
