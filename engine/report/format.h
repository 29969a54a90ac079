/*
 * What the reports share: numbers and facts as text, and lines of a given width. Private to them.
 *
 * Numbers are written with '.', as the program never sets LC_NUMERIC. Pure functions; buffers are
 * the caller's.
 */
#ifndef KS_ENGINE_REPORT_FORMAT_H
#define KS_ENGINE_REPORT_FORMAT_H

#include "engine/base/bytes.h"
#include "engine/engine.h"

#define KS_CELL 32 /* bytes of a number as text */

/* 0 where there is something to report; else -1 with *err saying why not. */
int ks_report_ready(const struct ks_snapshot *s, struct ks_error *err);

/* "running", "stopped", ... */
const char *ks_report_state(enum ks_run_state state);
/* "cpu", or "head vulkan, body cpu" where they differ. */
const char *ks_report_backend(const struct ks_facts *f, char *out, size_t size);
/* Whether windows stand side by side, as with llama scoring: what fills none is left over. */
bool ks_report_chunks(const struct ks_facts *f);
/* NULL for an index past the documents. */
const struct ks_document_facts *ks_report_document(const struct ks_facts *f, uint32_t document);

/* "-" for NaN, "inf"; otherwise that many digits from the first that is not 0, without an exponent
 * from 1e-7 up to 1e7. sign: a "+" before what is above 0. */
void ks_report_digits(char out[KS_CELL], double x, int digits, bool sign);
/* A value and the half-width of its interval, both to the second digit of the half-width, but the
 * value to at most six digits; without a half-width the value has four. */
void ks_report_interval(char value[KS_CELL], char half[KS_CELL], double x, double half_width);
/* Decimal units: "3.65 MB". */
void ks_report_bytes(char out[KS_CELL], uint64_t bytes);
/* "71 732" */
void ks_report_count(char out[KS_CELL], uint64_t n);

/*
 * Appends text as lines of at most width columns, each ended by a newline, broken at spaces, those
 * after the first indented. Plain ASCII: any other character becomes '?', a control character a
 * space. A word longer than a line is broken.
 */
int ks_report_wrapped(struct ks_buf *out, const char *text, int width, int indent,
                      struct ks_error *err);

#endif
