#include <inttypes.h>
#include <stdio.h>

#include "engine/runfile/object.h"

/* ------------------------------------------------------------------ into a row */

static int64_t integer_at(const void *at, enum ks_field_kind kind)
{
    switch (kind) {
    case KS_FIELD_SIZE:
        return (int64_t) * (const size_t *)at;
    case KS_FIELD_U64:
        return (int64_t) * (const uint64_t *)at;
    case KS_FIELD_I64:
        return *(const int64_t *)at;
    case KS_FIELD_U32:
        return *(const uint32_t *)at;
    case KS_FIELD_INT:
        return *(const int *)at;
    default:
        return *(const bool *)at;
    }
}

void ks_row_put_fields(struct ks_row *r, const struct ks_field *fields, size_t n,
                       const void *object)
{
    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)object + fields[i].offset;
        if (fields[i].kind == KS_FIELD_TEXT)
            ks_row_put_text(r, *(const char *const *)at);
        else if (fields[i].kind == KS_FIELD_REAL)
            ks_row_put_real(r, *(const double *)at);
        else
            ks_row_put_int(r, integer_at(at, fields[i].kind));
    }
}

/* ------------------------------------------------------------------ out of one */

/* false where it does not fit: no row of ours holds that. */
static bool set_integer(void *at, enum ks_field_kind kind, int64_t value)
{
    switch (kind) {
    case KS_FIELD_SIZE:
        *(size_t *)at = (size_t)value;
        return value >= 0;
    case KS_FIELD_U64:
        *(uint64_t *)at = (uint64_t)value;
        return true;
    case KS_FIELD_I64:
        *(int64_t *)at = value;
        return true;
    case KS_FIELD_U32:
        *(uint32_t *)at = (uint32_t)value;
        return value >= 0 && value <= UINT32_MAX;
    case KS_FIELD_INT:
        *(int *)at = (int)value;
        return value >= INT32_MIN && value <= INT32_MAX;
    default:
        *(bool *)at = value != 0;
        return value == 0 || value == 1;
    }
}

int ks_row_read_fields(const struct ks_row *r, int first, const struct ks_field *fields, size_t n,
                       void *object, struct ks_arena *a, struct ks_error *err)
{
    bool no_memory = false;
    for (size_t i = 0; i < n; i++) {
        void *at = (char *)object + fields[i].offset;
        int column = first + (int)i;
        if (fields[i].kind == KS_FIELD_TEXT)
            *(const char **)at = ks_row_text(r, column, a, &no_memory);
        else if (fields[i].kind == KS_FIELD_REAL)
            *(double *)at = ks_row_real(r, column);
        else if (!set_integer(at, fields[i].kind, ks_row_int(r, column)))
            return ks_runfile_damaged(r->f, err, "%s is out of range", fields[i].name);
    }
    return no_memory ? ks_fail_memory(err, n, "what a run file tells") : 0;
}

/* ------------------------------------------------------------------ two of a kind */

static void as_text(const struct ks_field *field, const void *object, char out[256])
{
    const void *at = (const char *)object + field->offset;
    const char *text = field->kind == KS_FIELD_TEXT ? *(const char *const *)at : NULL;
    if (field->kind == KS_FIELD_TEXT)
        snprintf(out, 256, "%s", text ? text : "none");
    else if (field->kind == KS_FIELD_REAL)
        snprintf(out, 256, "%.17g", *(const double *)at);
    else if (field->kind == KS_FIELD_BOOL)
        snprintf(out, 256, "%s", *(const bool *)at ? "yes" : "no");
    else if (field->kind == KS_FIELD_U64)
        snprintf(out, 256, "%" PRIu64, *(const uint64_t *)at);
    else
        snprintf(out, 256, "%" PRId64, integer_at(at, field->kind));
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool values_equal(const struct ks_field *field, const void *a, const void *b)
{
    const void *at_a = (const char *)a + field->offset, *at_b = (const char *)b + field->offset;
    if (field->kind == KS_FIELD_TEXT)
        return texts_equal(*(const char *const *)at_a, *(const char *const *)at_b);
    if (field->kind == KS_FIELD_REAL)
        return memcmp(at_a, at_b, sizeof(double)) == 0;
    return integer_at(at_a, field->kind) == integer_at(at_b, field->kind);
}

const struct ks_field *ks_row_fields_differ(const struct ks_field *fields, size_t n, const void *a,
                                            const void *b, char value_a[256], char value_b[256])
{
    for (size_t i = 0; i < n; i++) {
        if (!fields[i].must_match || values_equal(&fields[i], a, b))
            continue;
        as_text(&fields[i], a, value_a);
        as_text(&fields[i], b, value_b);
        return &fields[i];
    }
    return NULL;
}
