#include "engine/text/split/split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/text/vocab/utf8.h"

enum { MAX_STEPS = 8 };

struct ks_splitter {
    const struct ks_pre *pre;
    pcre2_code *code[MAX_STEPS]; /* NULL for a step that is not a pattern */
    pcre2_match_context *context;
    bool jit; /* all are machine code */
};

/* ------------------------------------------------------------------ compiling */

static int compile_step(struct ks_splitter *s, const struct ks_step *step, pcre2_code **code,
                        struct ks_error *err)
{
    int number;
    PCRE2_SIZE offset;
    *code = pcre2_compile((PCRE2_SPTR)step->pattern, PCRE2_ZERO_TERMINATED, PCRE2_DOLLAR_ENDONLY,
                          &number, &offset, NULL);
    if (*code) {
        /* Without a JIT the interpreter gives the same matches, slower. */
        if (pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE))
            s->jit = false;
        return 0;
    }
    if (number == PCRE2_ERROR_HEAP_FAILED)
        return ks_fail_memory(err, 4096, "a split pattern");
    return ks_fail(err, KS_INTERNAL, "the split \"%s\" does not compile: PCRE2 error %d at %zu",
                   s->pre->name, number, offset);
}

struct ks_splitter *ks_splitter_create(const struct ks_pre *pre, struct ks_error *err)
{
    struct ks_splitter *s = calloc(1, sizeof *s);
    if (!s) {
        ks_fail_memory(err, sizeof *s, "a splitter");
        return NULL;
    }
    s->pre = pre;
    s->jit = true;
    s->context = pcre2_match_context_create(NULL);
    if (!s->context) {
        ks_fail_memory(err, 4096, "a splitter");
        goto fail;
    }
    pcre2_set_match_limit(s->context, UINT32_MAX);
    pcre2_set_depth_limit(s->context, UINT32_MAX);
    pcre2_set_heap_limit(s->context, UINT32_MAX);
    for (size_t i = 0; pre->steps[i].kind != KS_STEP_END; i++) {
        if (pre->steps[i].pattern && compile_step(s, &pre->steps[i], &s->code[i], err))
            goto fail;
    }
    return s;
fail:
    ks_splitter_destroy(s);
    return NULL;
}

void ks_splitter_destroy(struct ks_splitter *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < MAX_STEPS; i++)
        pcre2_code_free(s->code[i]);
    pcre2_match_context_free(s->context);
    free(s);
}

/* ------------------------------------------------------------------ memory */

static int put_end(struct ks_ends *e, size_t at, struct ks_error *err)
{
    uint32_t *ends = ks_grow(e->at, &e->cap, e->n, sizeof *ends, "the words of a text", err);
    if (!ends)
        return -1;
    e->at = ends;
    ends[e->n++] = (uint32_t)at;
    return 0;
}

/* Room for a text of len bytes: decoding makes at most three bytes of one. */
static int reserve(struct ks_split *w, size_t len, struct ks_error *err)
{
    if (len <= w->cap)
        return 0;
    free(w->clean);
    free(w->classes);
    w->cap = 0;
    w->clean = malloc(3 * len);
    w->classes = malloc(len);
    if (!w->clean || !w->classes)
        return ks_fail_memory(err, 4 * len, "a decoded text");
    w->cap = len;
    return 0;
}

void ks_split_finish(struct ks_split *w)
{
    free(w->clean);
    free(w->classes);
    free(w->ends[0].at);
    free(w->ends[1].at);
    pcre2_match_data_free(w->match);
    *w = (struct ks_split){0};
}

/* ------------------------------------------------------------------ classes */

/* Decodes text into w->clean; returns its code points. */
static size_t decode(struct ks_split *w, const char *text, size_t len)
{
    size_t out = 0, n = 0;
    for (size_t i = 0; i < len;) {
        size_t plain = ks_utf8_ascii_prefix(text + i, len - i);
        memcpy(w->clean + out, text + i, plain);
        i += plain;
        out += plain;
        n += plain;
        for (; i < len && text[i] & 0x80; n++) {
            unsigned used;
            uint32_t cp = ks_utf8_decode((const unsigned char *)text + i, len - i, &used);
            out += ks_utf8_encode(cp, w->clean + out);
            i += used;
        }
    }
    w->text = w->clean;
    w->len = out;
    return n;
}

static void classify(struct ks_split *w, const struct ks_code_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < w->len;) {
        size_t plain = ks_utf8_ascii_prefix(w->text + i, w->len - i);
        memcpy(w->classes + n, w->text + i, plain);
        i += plain;
        n += plain;
        for (; i < w->len && w->text[i] & 0x80; n++) {
            unsigned used;
            uint32_t cp = ks_utf8_decode((const unsigned char *)w->text + i, w->len - i, &used);
            w->classes[n] = ks_class_of(cp, set);
            i += used;
        }
    }
    w->set = set;
}

/* ------------------------------------------------------------------ steps */

struct step_run {
    const struct ks_step *step;
    const struct ks_splitter *splitter;
    const pcre2_code *code;
    pcre2_match_data *match;
    const unsigned char *classes; /* a byte a code point */
    struct ks_ends *out;
    struct ks_error *err;
};

static bool is_letter(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_capital(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Where the plain word at classes[pos] ends, 0: none is there. */
static size_t plain_word(const unsigned char *classes, size_t pos, size_t len,
                         enum ks_plain_words plain)
{
    size_t first = pos + (classes[pos] == ' '), i = first;
    if (plain == KS_PLAIN_NONE)
        return 0;
    if (plain == KS_PLAIN_CASED) {
        while (i < len && is_capital(classes[i]))
            i++;
        while (i < len && is_letter(classes[i]) && !is_capital(classes[i]))
            i++;
    } else {
        while (i < len && is_letter(classes[i]))
            i++;
    }
    bool ends = i == len || (classes[i] < 0x80 && classes[i] != '\'' && !is_letter(classes[i]));
    return i > first && ends ? i : 0;
}

static int run_pattern(const struct step_run *r, size_t start, size_t end)
{
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(r->match);
    const unsigned char *classes = r->classes + start;
    int (*match)(const pcre2_code *, PCRE2_SPTR, PCRE2_SIZE, PCRE2_SIZE, uint32_t,
                 pcre2_match_data *, pcre2_match_context *) =
        r->splitter->jit ? pcre2_jit_match : pcre2_match;
    size_t pos = 0, len = end - start;
    while (pos < len) {
        size_t word = plain_word(classes, pos, len, r->step->plain);
        if (word) {
            if (put_end(r->out, start + word, r->err))
                return -1;
            pos = word;
            continue;
        }
        int rc = match(r->code, classes, len, pos, 0, r->match, r->splitter->context);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0 || found[1] <= pos)
            return ks_fail(r->err, KS_INTERNAL, "the split \"%s\" fails: PCRE2 error %d",
                           r->splitter->pre->name, rc);
        if (found[0] > pos && put_end(r->out, start + found[0], r->err))
            return -1;
        pos = found[1];
        if (put_end(r->out, start + pos, r->err))
            return -1;
    }
    return pos < len ? put_end(r->out, end, r->err) : 0;
}

static bool is_digit(unsigned char c, enum ks_step_kind kind)
{
    return (c >= '0' && c <= '9') || (kind == KS_STEP_NUMBER_GROUPS && c == KS_CLASS_NUMBER);
}

/*
 * Groups of three from a run's end. Numbers: a cut behind the run and none in front of its first
 * group, so that this one keeps what precedes it. Digits: cuts in front of full groups only.
 */
static int run_groups(const struct step_run *r, size_t start, size_t end)
{
    enum ks_step_kind kind = r->step->kind;
    for (size_t i = start; i < end; i++) {
        if (!is_digit(r->classes[i], kind))
            continue;
        size_t first = i;
        while (i < end && is_digit(r->classes[i], kind))
            i++;
        size_t cut = first + (i - first) % 3;
        if (kind == KS_STEP_NUMBER_GROUPS && cut == first)
            cut += 3;
        for (; cut < i; cut += 3) {
            if (cut > start && put_end(r->out, cut, r->err))
                return -1;
        }
        if (kind == KS_STEP_NUMBER_GROUPS && i < end && put_end(r->out, i, r->err))
            return -1;
    }
    return put_end(r->out, end, r->err);
}

static int run_step(const struct step_run *r, const struct ks_ends *in)
{
    size_t start = 0;
    for (size_t i = 0; i < in->n; i++) {
        int rc = r->step->kind == KS_STEP_PATTERN ? run_pattern(r, start, in->at[i])
                                                  : run_groups(r, start, in->at[i]);
        if (rc)
            return rc;
        start = in->at[i];
    }
    return 0;
}

/* Turns ends counted in code points into byte offsets. */
static void ends_to_bytes(const struct ks_split *w, struct ks_ends *e)
{
    size_t byte = 0, cp = 0;
    for (size_t i = 0; i < e->n; i++) {
        for (; cp < e->at[i]; cp++)
            byte += ks_utf8_length((unsigned char)w->text[byte]);
        e->at[i] = (uint32_t)byte;
    }
}

int ks_split_run(const struct ks_splitter *s, struct ks_split *w, const char *text, size_t len,
                 struct ks_error *err)
{
    bool ascii = ks_utf8_ascii_prefix(text, len) == len;
    size_t n = len;
    w->text = text;
    w->len = len;
    if (!ascii) {
        if (reserve(w, len, err))
            return -1;
        n = decode(w, text, len);
        classify(w, s->pre->steps[0].set);
    }
    if (!w->match && !(w->match = pcre2_match_data_create(1, NULL)))
        return ks_fail_memory(err, 256, "a match");
    struct ks_ends *from = &w->ends[0], *to = &w->ends[1];
    from->n = 0;
    if (n && put_end(from, n, err))
        return -1;
    for (size_t i = 0; s->pre->steps[i].kind != KS_STEP_END; i++) {
        const struct ks_step *step = &s->pre->steps[i];
        if (!ascii && step->set != w->set)
            classify(w, step->set);
        struct step_run r = {
            step, s,  s->code[i], w->match, ascii ? (const unsigned char *)text : w->classes,
            to,   err};
        to->n = 0;
        if (run_step(&r, from))
            return -1;
        struct ks_ends *swap = from;
        from = to;
        to = swap;
    }
    if (!ascii)
        ends_to_bytes(w, from);
    w->words = from;
    return 0;
}
