/*
 * The records of a .jsonl: {"text": "..."} or {"messages": [{"role": "...", "content": "..."}...]}.
 * Other keys are passed over. Errors say what is wrong in the line; the caller says which.
 */
#ifndef KS_ENGINE_TEXT_DOCUMENT_RECORD_H
#define KS_ENGINE_TEXT_DOCUMENT_RECORD_H

#include "engine/engine.h"

/* What a line holds. Strings live until ks_record_finish. */
struct ks_record {
    const char *text; /* text: (len), may hold NUL */
    size_t len;
    struct ks_message *messages; /* chat: (n_messages), at least one */
    size_t n_messages;
    void *json; /* private */
};

int ks_record_parse(enum ks_corpus_kind kind, const char *line, size_t len, struct ks_record *out,
                    struct ks_error *err);
void ks_record_finish(struct ks_record *r); /* accepts a zeroed one */

#endif
