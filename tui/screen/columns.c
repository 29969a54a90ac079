#include "tui/screen/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARKS         3 /* columns before the name: selection, state, a space */
#define NAME_MAX      24
#define TREND_USEFUL  20
#define TREND_COMFORT 40
#define TREND_MAX     96
#define GAP_MAX       3

bool ks_row_measured(const struct ks_row *row)
{
    return row->numbers->n > 0;
}

static void head_plus_minus(const struct ks_glyphs *glyphs, const struct ks_facts *run,
                            char out[KS_FORMAT_SIZE])
{
    (void)run;
    snprintf(out, KS_FORMAT_SIZE, "%s", glyphs->plus_minus);
}

static void head_delta_ppl(const struct ks_glyphs *glyphs, const struct ks_facts *run,
                           char out[KS_FORMAT_SIZE])
{
    (void)run;
    snprintf(out, KS_FORMAT_SIZE, "%sPPL", glyphs->delta);
}

static void head_overlap(const struct ks_glyphs *glyphs, const struct ks_facts *run,
                         char out[KS_FORMAT_SIZE])
{
    (void)glyphs;
    snprintf(out, KS_FORMAT_SIZE, "OV%d%%", run->top_k);
}

static uint64_t bytes_of(const struct ks_row *row)
{
    return row->facts ? row->facts->bytes : row->run->reference_bytes;
}

static double value_size(const struct ks_row *row)
{
    uint64_t bytes = bytes_of(row);
    return bytes > 0 ? (double)bytes : NAN;
}

static double value_bits(const struct ks_row *row)
{
    double bits = row->facts ? row->facts->bits_per_weight : row->run->reference_bits;
    return bits > 0 ? bits : NAN;
}

static void text_bits(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_fixed(out, value_bits(row), 5, 2, 0);
}

static void text_size(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    if (bytes_of(row) > 0)
        ks_format_bytes(out, bytes_of(row));
    else
        snprintf(out, KS_FORMAT_SIZE, "%7s", "-");
}

static double value_ppl(const struct ks_row *row)
{
    return row->facts ? row->numbers->ppl_arm : row->numbers->ppl_ref;
}

static void text_ppl(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_fixed(out, value_ppl(row), 7, 3, 0);
}

static void text_ppl_sem(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    const struct ks_numbers *n = row->numbers;
    double sem = row->facts ? n->ppl_arm_sem : n->ppl_ref_sem;
    ks_format_fixed(out, KS_INTERVAL_SEMS * sem, 5, 3, 0);
}

static double value_delta_ppl(const struct ks_row *row)
{
    return row->facts ? row->numbers->ppl_arm - row->numbers->ppl_ref : NAN;
}

static void text_delta_ppl(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_fixed(out, value_delta_ppl(row), 7, 3, 1);
}

static double value_kld(const struct ks_row *row)
{
    return row->facts ? row->numbers->kld_mean : NAN;
}

static void text_kld(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_nats(out, value_kld(row));
}

static void text_kld_sem(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_nats_error(out, row->facts ? KS_INTERVAL_SEMS * row->numbers->kld_sem : NAN);
}

static double value_p99(const struct ks_row *row)
{
    return row->facts ? row->numbers->kld_p99 : NAN;
}

static void text_p99(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_nats(out, value_p99(row));
}

static double value_p999(const struct ks_row *row)
{
    return row->facts ? row->numbers->kld_p999 : NAN;
}

static void text_p999(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_nats(out, value_p999(row));
}

static double value_top1(const struct ks_row *row)
{
    return row->facts ? row->numbers->top1_agreement : NAN;
}

static void text_top1(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_percent(out, value_top1(row));
}

static double value_overlap(const struct ks_row *row)
{
    return row->facts ? row->numbers->topk_overlap : NAN;
}

static void text_overlap(const struct ks_row *row, char out[KS_FORMAT_SIZE])
{
    ks_format_percent(out, value_overlap(row));
}

static const struct ks_column table[] = {
    {
        .label = "ARM",
        .help = "the arm; ref is the reference with its own numbers",
        .kind = KS_COLUMN_NAME,
        .columns = 8,
        .keep = 99,
    },
    {
        .label = "SIZE",
        .help = "bytes of all tensors",
        .columns = 7,
        .keep = 1,
        .value = value_size,
        .text = text_size,
    },
    {
        .label = "BITS",
        .help = "bits a weight, over all tensors",
        .columns = 5,
        .keep = 11,
        .value = value_bits,
        .text = text_bits,
    },
    {
        .label = "PPL",
        .help = "perplexity: exp of the mean -log p(true next token)",
        .columns = 7,
        .keep = 14,
        .value = value_ppl,
        .text = text_ppl,
    },
    {
        .label = "PPL+-",
        .help = "95 % interval of the perplexity: 1.96 standard errors",
        .columns = 5,
        .keep = 9,
        .head = head_plus_minus,
        .text = text_ppl_sem,
    },
    {
        .label = "dPPL",
        .help = "the arm's perplexity less the reference's",
        .columns = 7,
        .keep = 12,
        .head = head_delta_ppl,
        .value = value_delta_ppl,
        .text = text_delta_ppl,
    },
    {
        .label = "KLD mean",
        .help = "mean KL divergence from the reference, nats a position",
        .columns = KS_NATS_COLUMNS,
        .keep = 16,
        .left = true,
        .value = value_kld,
        .text = text_kld,
    },
    {
        .label = "KLD+-",
        .help = "95 % interval of the mean KLD: 1.96 standard errors",
        .columns = KS_NATS_COLUMNS,
        .keep = 2,
        .left = true,
        .head = head_plus_minus,
        .text = text_kld_sem,
    },
    {
        .label = "p99",
        .help = "KLD that 99 % of the positions stay at or under, nats",
        .columns = KS_NATS_COLUMNS,
        .keep = 15,
        .left = true,
        .value = value_p99,
        .text = text_p99,
    },
    {
        .label = "p99.9",
        .help = "the same for 99.9 %",
        .columns = KS_NATS_COLUMNS,
        .keep = 8,
        .left = true,
        .value = value_p999,
        .text = text_p999,
    },
    {
        .label = "TOP1%",
        .help = "positions where both put the same token first",
        .columns = 6,
        .keep = 13,
        .value = value_top1,
        .text = text_top1,
    },
    {
        .label = "OV%",
        .help = "share of the reference's top k that is in the arm's too",
        .columns = 6,
        .keep = 10,
        .head = head_overlap,
        .value = value_overlap,
        .text = text_overlap,
    },
    {
        .label = "p99 per window",
        .narrow = "p99 trend",
        .help = "newest at the right; one log scale for all arms",
        .kind = KS_COLUMN_TREND,
        .columns = 10,
        .keep = 7,
        .left = true,
    },
};

#define N_COLUMNS (sizeof table / sizeof *table)
_Static_assert(N_COLUMNS <= KS_MAX_COLUMNS, "the fit has room for every column");

const struct ks_column *ks_column_at(size_t i)
{
    return i < N_COLUMNS ? &table[i] : NULL;
}

size_t ks_column_index(const char *label)
{
    size_t i = 0;
    while (i < N_COLUMNS && strcmp(table[i].label, label) != 0)
        i++;
    return i;
}

/* Columns that come after the trend in importance stay only where it is of use. */
static int least_trend(const bool *stays, const struct ks_column *trend)
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (stays[i] && table[i].keep < trend->keep)
            return TREND_USEFUL;
    }
    return trend->columns;
}

/* The width of the columns that stay, with gaps of one; *n: how many. */
static int total_width(const bool *stays, size_t *n)
{
    int width = MARKS;
    *n = 0;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (!stays[i])
            continue;
        bool trend = table[i].kind == KS_COLUMN_TREND;
        width += trend ? least_trend(stays, &table[i]) : table[i].columns;
        width += *n > 0;
        ++*n;
    }
    return width;
}

static void drop_least(bool *stays)
{
    size_t least = 0;
    for (size_t i = 1; i < N_COLUMNS; i++) {
        if (stays[i] && (!stays[least] || table[i].keep < table[least].keep))
            least = i;
    }
    stays[least] = false;
}

static int take(int *left, int wanted)
{
    int taken = wanted < *left ? wanted : *left;
    if (taken < 0)
        taken = 0;
    *left -= taken;
    return taken;
}

static void place(struct ks_columns_fit *fit, int gap)
{
    int x = MARKS;
    for (size_t i = 0; i < fit->n; i++) {
        fit->x[i] = x;
        x += fit->columns[i] + gap;
    }
}

/* Gives the name, the trend and the gaps what is left over. */
static void spread(struct ks_columns_fit *fit, int left, int longest_name)
{
    int *trend = NULL, *name = NULL;
    for (size_t i = 0; i < fit->n; i++) {
        if (table[fit->column[i]].kind == KS_COLUMN_TREND)
            trend = &fit->columns[i];
        if (table[fit->column[i]].kind == KS_COLUMN_NAME)
            name = &fit->columns[i];
    }
    int gap = 1, gaps = (int)fit->n - 1;
    if (name)
        *name += take(&left, longest_name - *name);
    if (trend)
        *trend += take(&left, TREND_COMFORT - *trend);
    while (gaps > 0 && gap < GAP_MAX && left >= gaps) {
        left -= gaps;
        gap++;
    }
    if (trend)
        *trend += take(&left, TREND_MAX - *trend);
    place(fit, gap);
}

struct ks_columns_fit ks_columns_fit(int width, int longest_name)
{
    bool stays[N_COLUMNS];
    for (size_t i = 0; i < N_COLUMNS; i++)
        stays[i] = true;
    if (longest_name > NAME_MAX)
        longest_name = NAME_MAX;
    size_t n;
    int total = total_width(stays, &n);
    while (n > 1 && total > width) {
        drop_least(stays);
        total = total_width(stays, &n);
    }

    struct ks_columns_fit fit = {0};
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (!stays[i])
            continue;
        fit.column[fit.n] = i;
        bool trend = table[i].kind == KS_COLUMN_TREND;
        fit.columns[fit.n] = trend ? least_trend(stays, &table[i]) : table[i].columns;
        fit.n++;
    }
    if (total > width)
        fit.columns[0] = width > MARKS ? width - MARKS : 0;
    spread(&fit, width - total, longest_name);
    return fit;
}
