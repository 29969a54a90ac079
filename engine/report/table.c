/*
 * The summary for people: what was measured on what, a row an arm, and under it in words whatever a
 * number alone would hide.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/report/columns.h"
#include "engine/report/format.h"

#define NARROWEST 40

/* ------------------------------------------------------------------ above the table */

struct paper {
    struct ks_buf text;
    int width;
};

/* "label      what", wrapped under itself. */
static int labelled(struct paper *p, const char *label, const char *what, struct ks_error *err)
{
    struct ks_buf line = {0};
    int rc = ks_buf_printf(&line, err, "%-10s %s", label, what);
    if (rc == 0)
        rc = ks_report_wrapped(&p->text, line.bytes, p->width, 11, err);
    ks_buf_finish(&line);
    return rc;
}

static int print_reference(struct paper *p, const struct ks_facts *f, struct ks_error *err)
{
    char bytes[KS_CELL];
    struct ks_buf line = {0};
    ks_report_bytes(bytes, f->reference_bytes);
    int rc = ks_buf_printf(&line, err, "%s (%s, %s, %.2f bits a weight)", f->reference_file,
                           f->architecture, bytes, f->reference_bits);
    if (rc == 0)
        rc = labelled(p, "reference", line.bytes, err);
    ks_buf_finish(&line);
    return rc;
}

static int print_corpora(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    const struct ks_facts *f = s->facts;
    char documents[KS_CELL], tokens[KS_CELL], n[KS_CELL];
    struct ks_buf line = {0};
    int rc = 0;
    for (size_t i = 0; i < f->n_corpora && rc == 0; i++)
        rc = ks_buf_printf(&line, err, "%s%s", i > 0 ? ", " : "", f->corpora[i].name);
    ks_report_count(documents, f->documents);
    ks_report_count(tokens, f->tokens);
    ks_report_count(n, s->positions);
    if (rc == 0)
        rc = ks_buf_printf(&line, err, ": %s document%s, %s tokens, %s positions scored", documents,
                           f->documents == 1 ? "" : "s", tokens, n);
    if (rc == 0 && ks_report_chunks(f)) {
        ks_report_count(tokens, f->tokens % f->window);
        rc = ks_buf_printf(&line, err, "; %s tokens left over at the end", tokens);
    }
    if (rc == 0)
        rc = labelled(p, f->n_corpora == 1 ? "corpus" : "corpora", line.bytes, err);
    ks_buf_finish(&line);
    return rc;
}

static int print_window(struct paper *p, const struct ks_facts *f, struct ks_error *err)
{
    char where[128], line[256];
    snprintf(line, sizeof line, "%u tokens, %u of context at least%s; %s; documents %s", f->window,
             f->context_min, ks_report_chunks(f) ? ", as llama-perplexity scores it" : "",
             ks_report_backend(f, where, sizeof where),
             strcmp(f->order, "file") == 0 ? "in file order" : f->order);
    return labelled(p, "window", line, err);
}

static int print_state(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    if (s->state == KS_RUN_DONE)
        return 0;
    struct ks_buf line = {0};
    int rc = ks_buf_printf(&line, err, "%s after %zu of %zu windows%s%s", ks_report_state(s->state),
                           s->windows, s->facts->windows, s->state == KS_RUN_FAILED ? ": " : "",
                           s->state == KS_RUN_FAILED ? s->failure : "");
    if (rc == 0)
        rc = labelled(p, "state", line.bytes, err);
    ks_buf_finish(&line);
    return rc;
}

static int print_shard(struct paper *p, const struct ks_facts *f, struct ks_error *err)
{
    char line[160];
    if (f->shard.of <= 1)
        return 0;
    snprintf(line, sizeof line, "%u of %u: all numbers are of its %zu of %zu windows alone",
             f->shard.number, f->shard.of, f->windows, f->all_windows);
    return labelled(p, "shard", line, err);
}

static int print_head(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    const char *title = "kldscope " KS_VERSION ": KL divergence of each arm from the reference, in "
                        "nats a token";
    if (ks_report_wrapped(&p->text, title, p->width, 2, err) ||
        ks_buf_put(&p->text, "\n", 1, err) || print_reference(p, s->facts, err))
        return -1;
    if (s->facts->scenario && labelled(p, "scenario", s->facts->scenario, err))
        return -1;
    if (print_corpora(p, s, err) || print_window(p, s->facts, err) ||
        print_shard(p, s->facts, err) || print_state(p, s, err))
        return -1;
    return ks_buf_put(&p->text, "\n", 1, err);
}

/* ------------------------------------------------------------------ the arms */

enum {
    ARM,
    BITS,
    SIZE,
    PPL,
    PPL_HALF,
    DPPL,
    MEAN,
    MEAN_HALF,
    MEDIAN,
    P99,
    P999,
    MAX,
    TOP1,
    OVERLAP,
    COLUMNS,
};

/* What goes first where the screen is narrow. */
static const int drops[] = {P999,      PPL_HALF, MEDIAN, MAX,  OVERLAP, SIZE,
                            MEAN_HALF, DPPL,     TOP1,   BITS, PPL,     P99};

static bool has_notes(const struct ks_arm_snapshot *a)
{
    return a->state == KS_ARM_FAILED || a->state == KS_ARM_DROPPED || a->numbers.nonfinite > 0 ||
           a->numbers.infinite > 0;
}

/* A name in ASCII, cut so that it leaves three quarters of the width to the numbers. */
static void name_cell(char out[KS_CELL], char mark, const char *name, int width)
{
    int at = snprintf(out, KS_CELL, "%c ", mark), length = 0;
    int most = width / 4 < 24 ? width / 4 : 24;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if ((*c & 0xC0) == 0x80)
            continue;
        if (length++ == most)
            break;
        out[at++] = *c >= 0x20 && *c < 0x7F ? (char)*c : '?';
    }
    snprintf(out + at, (size_t)(KS_CELL - at), "%s", length > most ? ".." : "");
}

static void percent(char out[KS_CELL], double fraction)
{
    if (isnan(fraction))
        snprintf(out, KS_CELL, "-");
    else
        snprintf(out, KS_CELL, "%.2f", 100 * fraction);
}

static void fill_heads(const struct ks_columns *g, int top_k)
{
    static const char *const heads[COLUMNS] = {
        [ARM] = "  ARM",     [BITS] = "BITS", [SIZE] = "SIZE",     [PPL] = "PPL",
        [PPL_HALF] = "+-",   [DPPL] = "dPPL", [MEAN] = "KLD mean", [MEAN_HALF] = "+-",
        [MEDIAN] = "median", [P99] = "p99",   [P999] = "p99.9",    [MAX] = "max",
        [TOP1] = "TOP1%",
    };
    for (int c = 0; c < COLUMNS; c++)
        snprintf(ks_columns_cell(g, 0, c), KS_CELL, "%s", heads[c] ? heads[c] : "");
    snprintf(ks_columns_cell(g, 0, OVERLAP), KS_CELL, "OV%d%%", top_k);
}

static void fill_ppl(const struct ks_columns *g, int row, double ppl, double sem)
{
    ks_report_digits(ks_columns_cell(g, row, PPL), ppl, 5, false);
    ks_report_digits(ks_columns_cell(g, row, PPL_HALF), 1.96 * sem, 2, false);
}

static void fill_reference(const struct ks_columns *g, const struct ks_snapshot *s, int width)
{
    for (int c = 0; c < COLUMNS; c++)
        snprintf(ks_columns_cell(g, 1, c), KS_CELL, "-");
    name_cell(ks_columns_cell(g, 1, ARM), s->reference.nonfinite > 0 ? '!' : ' ', "reference",
              width);
    snprintf(ks_columns_cell(g, 1, BITS), KS_CELL, "%.2f", s->facts->reference_bits);
    ks_report_bytes(ks_columns_cell(g, 1, SIZE), s->facts->reference_bytes);
    fill_ppl(g, 1, s->reference.ppl_ref, s->reference.ppl_ref_sem);
}

static void fill_arm(const struct ks_columns *g, int row, const struct ks_arm_facts *f,
                     const struct ks_arm_snapshot *a, int width)
{
    const struct ks_numbers *s = &a->numbers;
    name_cell(ks_columns_cell(g, row, ARM), has_notes(a) ? '!' : ' ', f->name, width);
    snprintf(ks_columns_cell(g, row, BITS), KS_CELL, "%.2f", f->bits_per_weight);
    ks_report_bytes(ks_columns_cell(g, row, SIZE), f->bytes);
    fill_ppl(g, row, s->ppl_arm, s->ppl_arm_sem);
    ks_report_digits(ks_columns_cell(g, row, DPPL), s->ppl_arm - s->ppl_ref, 3, true);
    ks_report_interval(ks_columns_cell(g, row, MEAN), ks_columns_cell(g, row, MEAN_HALF),
                       s->kld_mean, 1.96 * s->kld_sem);
    ks_report_digits(ks_columns_cell(g, row, MEDIAN), s->kld_median, 3, false);
    ks_report_digits(ks_columns_cell(g, row, P99), s->kld_p99, 3, false);
    ks_report_digits(ks_columns_cell(g, row, P999), s->kld_p999, 3, false);
    ks_report_digits(ks_columns_cell(g, row, MAX), s->kld_max, 3, false);
    percent(ks_columns_cell(g, row, TOP1), s->top1_agreement);
    percent(ks_columns_cell(g, row, OVERLAP), s->topk_overlap);
}

static int print_arms(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    struct ks_columns g;
    if (ks_columns_init(&g, (int)s->facts->n_arms + 2, COLUMNS, err))
        return -1;
    fill_heads(&g, s->facts->top_k);
    fill_reference(&g, s, p->width);
    for (size_t i = 0; i < s->facts->n_arms; i++)
        fill_arm(&g, (int)i + 2, &s->facts->arms[i], &s->arms[i], p->width);
    int rc = ks_columns_print(&g, p->width, drops, sizeof drops / sizeof drops[0], &p->text, err);
    ks_columns_finish(&g);
    return rc;
}

/* ------------------------------------------------------------------ the corpora */

static int print_by_corpus(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    const struct ks_facts *f = s->facts;
    int n = (int)f->n_corpora, rc = 0;
    if (n < 2)
        return 0;
    struct ks_columns g;
    if (ks_columns_init(&g, (int)f->n_arms + 1, n + 1, err))
        return -1;
    int *last_first = calloc((size_t)n, sizeof *last_first);
    if (!last_first) {
        rc = ks_fail_memory(err, (size_t)n * sizeof *last_first, "a table's columns");
        goto out;
    }
    snprintf(ks_columns_cell(&g, 0, 0), KS_CELL, "  mean KLD by corpus");
    for (int c = 0; c < n; c++) {
        last_first[c] = n - c;
        char name[KS_CELL];
        name_cell(name, ' ', f->corpora[c].name, p->width);
        snprintf(ks_columns_cell(&g, 0, c + 1), KS_CELL, "%s", name + 2);
    }
    for (int a = 0; a < (int)f->n_arms; a++) {
        name_cell(ks_columns_cell(&g, a + 1, 0), ' ', f->arms[a].name, p->width);
        const struct ks_corpus_numbers *numbers = s->arms[a].numbers.corpora;
        for (int c = 0; c < n; c++)
            ks_report_digits(ks_columns_cell(&g, a + 1, c + 1), numbers ? numbers[c].kld_mean : NAN,
                             3, false);
    }
    rc = ks_buf_put(&p->text, "\n", 1, err);
    if (rc == 0)
        rc = ks_columns_print(&g, p->width, last_first, n, &p->text, err);
out:
    free(last_first);
    ks_columns_finish(&g);
    return rc;
}

/* ------------------------------------------------------------------ under the table */

static int note(struct paper *p, struct ks_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int note(struct paper *p, struct ks_error *err, const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return ks_report_wrapped(&p->text, line, p->width, 2, err);
}

static const char *positions(size_t n)
{
    return n == 1 ? "position" : "positions";
}

static int note_nonfinite(struct paper *p, const struct ks_facts *f, const char *name,
                          const struct ks_numbers *s, struct ks_error *err)
{
    const struct ks_document_facts *d = ks_report_document(f, s->first_nonfinite_document);
    char count[KS_CELL], n[KS_CELL], line[16] = "";
    ks_report_count(count, s->nonfinite);
    ks_report_count(n, s->n);
    if (d && d->line > 0)
        snprintf(line, sizeof line, ":%u", d->line);
    return note(p, err,
                "! %s: %s %s with NaN, +inf or nothing but -inf kept out of every number (n = "
                "%s); the first is token %u of %s%s",
                name, count, positions(s->nonfinite), n, s->first_nonfinite_offset,
                d ? d->file : "an unknown document", line);
}

static int note_arm(struct paper *p, const struct ks_facts *f, const struct ks_arm_facts *arm,
                    const struct ks_arm_snapshot *a, struct ks_error *err)
{
    char count[KS_CELL];
    if (a->state == KS_ARM_FAILED && note(p, err, "! %s failed: %s", arm->name, a->why))
        return -1;
    ks_report_count(count, a->numbers.n);
    if (a->state == KS_ARM_DROPPED && note(p, err, "! %s dropped after %s %s: %s", arm->name, count,
                                           positions(a->numbers.n), a->why))
        return -1;
    if (a->numbers.nonfinite > 0 && note_nonfinite(p, f, arm->name, &a->numbers, err))
        return -1;
    ks_report_count(count, a->numbers.infinite);
    if (a->numbers.infinite > 0 &&
        note(p, err,
             "! %s: infinite KLD at %s %s, where the arm gives a logit of -inf to a token that the "
             "reference holds possible",
             arm->name, count, positions(a->numbers.infinite)))
        return -1;
    return 0;
}

static int print_notes(struct paper *p, const struct ks_snapshot *s, struct ks_error *err)
{
    const struct ks_facts *f = s->facts;
    if (ks_buf_put(&p->text, "\n", 1, err) ||
        note(p, err, "+- is half a 95 %% interval, 1.96 standard errors clustered by %s.",
             f->documents > 1 ? "document" : "window"))
        return -1;
    if (s->windows_on_cpu > 0 &&
        note(p, err,
             "! the device failed on the way: the heads of %zu of %zu windows are the cpu's",
             s->windows_on_cpu, s->windows))
        return -1;
    if (s->reference.nonfinite > 0 && note_nonfinite(p, f, "the reference", &s->reference, err))
        return -1;
    for (size_t i = 0; i < f->n_arms; i++) {
        if (note_arm(p, f, &f->arms[i], &s->arms[i], err))
            return -1;
    }
    return 0;
}

char *ks_report_table(const struct ks_snapshot *s, int width, struct ks_error *err)
{
    if (ks_report_ready(s, err))
        return NULL;
    struct paper p = {.width = width <= 0 ? 100 : width < NARROWEST ? NARROWEST : width};
    if (print_head(&p, s, err) || print_arms(&p, s, err) || print_by_corpus(&p, s, err) ||
        print_notes(&p, s, err)) {
        ks_buf_finish(&p.text);
        return NULL;
    }
    return p.text.bytes;
}
