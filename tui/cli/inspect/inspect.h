/*
 * What `kldscope inspect` shows of a model, or of the difference of two: text for people, or JSON.
 * Private to this folder. Main thread only; exit statuses as in tui/cli/cli.h.
 */
#ifndef KS_TUI_CLI_INSPECT_INSPECT_H
#define KS_TUI_CLI_INSPECT_INSPECT_H

#include <jansson.h>

#include "tui/cli/cli.h"

/* Both models are lent. */
struct inspected {
    const struct ks_model *a, *b;
};

/* Differences as they were told, texts copied. */
struct inspect_differences {
    struct ks_difference *items; /* (n) */
    size_t n, cap;
};

/* One model as JSON on stdout. */
int inspect_print_json(const struct ks_model *m);

/*
 * Pieces of JSON, owned by the caller; NULL without memory. What JSON has no form for is an object
 * with one member that tells what it is, so that nothing is lost: {"hex": "ff41"} is a text that is
 * no UTF-8, {"decimal": "18446744073709551615"} a whole number beyond 64 signed bits,
 * {"float": "nan"} a number that is none.
 */
json_t *inspect_json_text(const char *bytes, size_t len);
json_t *inspect_json_datum(struct ks_datum datum);
json_t *inspect_json_shape(const struct ks_tensor_info *t);
/* Prints and releases what was made; NULL complains of memory. Returns the exit status. */
int inspect_put_json(json_t *made);

/* "256 x 4096". Returns text. */
enum { INSPECT_SHAPE = 96 };
const char *inspect_shape(const struct ks_tensor_info *t, char text[INSPECT_SHAPE]);

/* What differs, as text or JSON. */
int inspect_print_diff(const struct inspected *both, const struct inspect_differences *list);
int inspect_print_diff_json(const struct inspected *both, const struct inspect_differences *list);
/* Compares two models and prints what was found; the exit status is 1 where they differ. */
int inspect_diff(const char *a, const char *b, bool json);

#endif
