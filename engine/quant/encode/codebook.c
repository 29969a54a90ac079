/*
 * A list of near members holds all of the least distances that occur, one to three of them by type.
 * Distances are squares over the digits; those of a code to all members are sums of those of its
 * halves, and halves are few.
 */
#include "engine/quant/encode/codebook.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/quant/grid/grid.h"

enum { FARTHEST = 4 * 7 * 7 }; /* four digits from 0 to 7; eight from 0 to 2 are less apart */

struct source {
    enum ks_codebook_id id;
    const uint16_t *codes;
    unsigned n, digits, width, top;
    unsigned distances; /* how many different ones a list goes through */
};

static struct source source_of(enum ks_codebook_id id)
{
    switch (id) {
    case KS_BOOK_IQ1:
        return (struct source){KS_BOOK_IQ1, ks_grid_iq1, 2048, 8, 2, 2, 3};
    case KS_BOOK_IQ2_XXS:
        return (struct source){KS_BOOK_IQ2_XXS, ks_grid_iq2_xxs, 256, 8, 2, 2, 2};
    case KS_BOOK_IQ2_XS:
        return (struct source){KS_BOOK_IQ2_XS, ks_grid_iq2_xs, 512, 8, 2, 2, 2};
    case KS_BOOK_IQ2_S:
        return (struct source){KS_BOOK_IQ2_S, ks_grid_iq2_s, 1024, 8, 2, 2, 1};
    case KS_BOOK_IQ3_XXS:
        return (struct source){KS_BOOK_IQ3_XXS, ks_grid_iq3_xxs, 256, 4, 3, 7, 2};
    default:
        return (struct source){KS_BOOK_IQ3_S, ks_grid_iq3_s, 512, 4, 3, 7, 3};
    }
}

struct builder {
    struct source s;
    struct ks_codebook *book;
    unsigned half_bits;
    uint8_t *low;      /* (1 << half_bits, n): distances of the lower half of a code's digits */
    uint8_t *distance; /* (n) of one code */
    size_t used, cap;  /* of book->near */
};

static unsigned digit(const struct source *s, unsigned code, unsigned k)
{
    return code >> (s->width * k) & ((1u << s->width) - 1);
}

/* Whether all digits are among the type's: three do not fill two bits. */
static bool is_code(const struct source *s, unsigned code, unsigned digits)
{
    bool valid = true;
    for (unsigned k = 0; k < digits; k++)
        valid &= digit(s, code, k) <= s->top;
    return valid;
}

static void half_distances(const struct source *s, unsigned half, unsigned shift, uint8_t *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        int sum = 0;
        for (unsigned k = 0; k < s->digits / 2; k++) {
            int d = (int)digit(s, half, k) - (int)digit(s, (unsigned)s->codes[i] >> shift, k);
            sum += d * d;
        }
        out[i] = (uint8_t)sum;
    }
}

static int append(struct builder *b, unsigned value, struct ks_error *err)
{
    uint16_t *near =
        ks_grow(b->book->near, &b->cap, b->used, sizeof *near, "a codebook's neighbours", err);
    if (!near)
        return -1;
    b->book->near = near;
    near[b->used++] = (uint16_t)value;
    return 0;
}

/* The list of a code whose distances are in b->distance. */
static int list_nearest(struct builder *b, unsigned code, struct ks_error *err)
{
    unsigned count[FARTHEST + 1] = {0};
    for (unsigned i = 0; i < b->s.n; i++)
        count[b->distance[i]]++;
    size_t head = b->used;
    if (append(b, 0, err))
        return -1;
    unsigned seen = 0;
    for (unsigned d = 0; d <= FARTHEST && seen < b->s.distances; d++) {
        if (count[d] == 0)
            continue;
        seen++;
        for (unsigned i = 0; i < b->s.n; i++)
            if (b->distance[i] == d && append(b, i, err))
                return -1;
    }
    b->book->near[head] = (uint16_t)(b->used - head - 1);
    b->book->place[code] = -1 - (int32_t)head;
    return 0;
}

/* All codes of one upper half that are no members; high: its distances. */
static int list_codes(struct builder *b, unsigned upper, const uint8_t *high, struct ks_error *err)
{
    for (unsigned lower = 0; lower < 1u << b->half_bits; lower++) {
        unsigned code = upper << b->half_bits | lower;
        if (!is_code(&b->s, lower, b->s.digits / 2) || b->book->place[code] >= 0)
            continue;
        const uint8_t *low = b->low + (size_t)lower * b->s.n;
        for (unsigned i = 0; i < b->s.n; i++)
            b->distance[i] = (uint8_t)(low[i] + high[i]);
        if (list_nearest(b, code, err))
            return -1;
    }
    return 0;
}

static int list_all(struct builder *b, uint8_t *high, struct ks_error *err)
{
    for (unsigned half = 0; half < 1u << b->half_bits; half++)
        if (is_code(&b->s, half, b->s.digits / 2))
            half_distances(&b->s, half, 0, b->low + (size_t)half * b->s.n);
    for (unsigned half = 0; half < 1u << b->half_bits; half++) {
        if (!is_code(&b->s, half, b->s.digits / 2))
            continue;
        half_distances(&b->s, half, b->half_bits, high);
        if (list_codes(b, half, high, err))
            return -1;
    }
    return 0;
}

static void number_members(struct ks_codebook *book, const struct source *s)
{
    for (unsigned v = 0; v <= s->top; v++)
        book->value_of[v] = s->id == KS_BOOK_IQ1 ? (float)v - 1.0f : 2.0f * (float)v + 1.0f;
    memset(book->place, 0xff, sizeof *book->place << (s->digits * s->width));
    for (unsigned i = 0; i < s->n; i++) {
        book->place[s->codes[i]] = (int32_t)i;
        for (unsigned k = 0; k < s->digits; k++)
            book->values[i * s->digits + k] = book->value_of[digit(s, s->codes[i], k)];
    }
}

static int build(struct builder *b, struct ks_error *err)
{
    struct ks_codebook *book = b->book;
    const struct source *s = &b->s;
    size_t codes = (size_t)1 << (s->digits * s->width), halves = (size_t)1 << b->half_bits;
    *book = (struct ks_codebook){
        .digits = s->digits, .width = s->width, .top = s->top, .n = s->n, .codes = s->codes};
    book->values = ks_alloc_aligned((size_t)s->n * s->digits, sizeof *book->values);
    book->place = malloc(codes * sizeof *book->place);
    b->low = malloc((halves + 2) * s->n);
    if (!book->values || !book->place || !b->low)
        return ks_fail_memory(err, codes * sizeof *book->place, "a codebook");
    b->distance = b->low + halves * s->n;
    number_members(book, s);
    return list_all(b, b->distance + s->n, err);
}

struct ks_codebook *ks_codebook_create(enum ks_codebook_id id, struct ks_error *err)
{
    struct builder b = {.s = source_of(id), .book = calloc(1, sizeof *b.book)};
    b.half_bits = b.s.digits * b.s.width / 2;
    if (!b.book) {
        ks_fail_memory(err, sizeof *b.book, "a codebook");
        return NULL;
    }
    int failed = build(&b, err);
    free(b.low);
    if (!failed)
        return b.book;
    ks_codebook_destroy(b.book);
    return NULL;
}

void ks_codebook_destroy(struct ks_codebook *book)
{
    if (!book)
        return;
    free(book->values);
    free(book->place);
    free(book->near);
    free(book);
}

/* A digit has few values, so what each adds to the error is found once for all members. */
int32_t ks_codebook_nearest(const struct ks_codebook *book, int32_t place, const float *x,
                            const float *weight, float scale, float shift)
{
    const uint16_t *list = book->near - place - 1;
    float term[8][8], least = FLT_MAX;
    uint16_t best = list[1];
    for (unsigned k = 0; k < book->digits; k++)
        for (unsigned v = 0; v <= book->top; v++) {
            float d = scale * (book->value_of[v] + shift) - x[k];
            term[k][v] = weight[k] * d * d;
        }
    for (unsigned i = 1; i <= list[0]; i++) {
        unsigned code = book->codes[list[i]];
        float error = 0;
        if (book->digits == 8)
            for (unsigned k = 0; k < 8; k++)
                error += term[k][code >> (2 * k) & 3];
        else
            for (unsigned k = 0; k < 4; k++)
                error += term[k][code >> (3 * k) & 7];
        if (error < least) {
            least = error;
            best = list[i];
        }
    }
    return best;
}
