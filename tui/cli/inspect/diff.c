/* Two models compared: what differs is collected, then shown. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "tui/cli/inspect/inspect.h"

static int keep(void *ctx, const struct ks_difference *d, struct ks_error *err)
{
    struct inspect_differences *list = ctx;
    char *text = d->text ? strdup(d->text) : NULL;
    struct ks_difference *items =
        ks_grow(list->items, &list->cap, list->n, sizeof *items, "differences", err);
    if (!items || (d->text && !text)) {
        free(text);
        return items ? ks_fail_memory(err, strlen(d->text) + 1, "a difference") : -1;
    }
    list->items = items;
    items[list->n] = *d;
    items[list->n++].text = text;
    return 0;
}

static void release(struct inspect_differences *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)(uintptr_t)list->items[i].text);
    free(list->items);
}

/* ------------------------------------------------------------------ as text */

static size_t count(const struct inspect_differences *list, enum ks_difference_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->items[i].kind == kind;
    return n;
}

/* A type and a shape. */
enum { SIDE = INSPECT_SHAPE + 16 };

/* The longest name of a kind. */
static int name_width(const struct inspect_differences *list, enum ks_difference_kind kind)
{
    int width = 4;
    for (size_t i = 0; i < list->n; i++) {
        int columns = cli_put(NULL, list->items[i].name, 0);
        if (list->items[i].kind == kind && columns > width)
            width = columns;
    }
    return width;
}

/* An entry with its type, or that there is none. */
static void put_entry(const char *side, const struct ks_model *m, size_t i, int indent)
{
    const char *key, *type;
    char text[72];
    printf("%*s%s  ", indent, "", side);
    if (i == KS_NOWHERE) {
        printf("absent\n");
        return;
    }
    ks_model_metadata(m, i, &key, &type, text, sizeof text);
    printf("%s ", type);
    cli_put(stdout, text, 0);
    putchar('\n');
}

/* Where arrays of one length part. */
static void put_items(const struct inspected *both, const struct ks_difference *d)
{
    uint64_t n;
    if (d->items && ks_model_metadata_is_array(both->a, d->a, &n))
        printf("%" PRIu64 " of %" PRIu64 " items differ, the first is item %" PRIu64 "\n    ",
               d->items, n, d->first_item);
}

static void print_metadata(const struct inspected *both, const struct inspect_differences *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct ks_difference *d = &list->items[i];
        if (d->kind != KS_DIFFERENCE_METADATA)
            continue;
        printf("  ");
        cli_put(stdout, d->name, 0);
        printf("\n    ");
        put_items(both, d);
        put_entry("a", both->a, d->a, 0);
        put_entry("b", both->b, d->b, 4);
    }
}

static void describe_side(const struct ks_model *m, size_t at, char text[SIDE])
{
    char shape[INSPECT_SHAPE];
    snprintf(text, SIDE, "absent");
    if (at == KS_NOWHERE)
        return;
    struct ks_tensor_info t = ks_model_tensor_info(m, at);
    snprintf(text, SIDE, "%-7s %s", t.type, inspect_shape(&t, shape));
}

static void print_tensors(const struct inspected *both, const struct inspect_differences *list)
{
    int width = name_width(list, KS_DIFFERENCE_TENSOR);
    printf("  %-*s  %-24s  %-24s %12s %12s %14s\n", width, "name", "a", "b", "relative rms",
           "greatest", "unequal");
    for (size_t i = 0; i < list->n; i++) {
        const struct ks_difference *d = &list->items[i];
        char a[SIDE], b[SIDE];
        if (d->kind != KS_DIFFERENCE_TENSOR)
            continue;
        describe_side(both->a, d->a, a);
        describe_side(both->b, d->b, b);
        printf("  ");
        cli_put(stdout, d->name, width);
        if (d->values)
            printf("  %-24s  %-24s %12.6g %12.6g %14" PRIu64 "\n", a, b, d->rms_relative,
                   d->max_abs, d->unequal);
        else
            printf("  %-24s  %s\n", a, b);
    }
}

static void print_tokenizer(const struct inspect_differences *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != KS_DIFFERENCE_TOKENIZER)
            continue;
        printf("  ");
        cli_put(stdout, list->items[i].text, 0);
        putchar('\n');
    }
}

static void print_side(const char *side, const struct ks_model *m)
{
    const struct ks_model_info *info = ks_model_info(m);
    printf("%s  ", side);
    cli_put(stdout, info->shown, 0);
    printf(": %zu tensors, %.4f bits a weight\n", info->n_tensors, info->bits_per_weight);
}

int inspect_print_diff(const struct inspected *both, const struct inspect_differences *list)
{
    size_t keys = count(list, KS_DIFFERENCE_METADATA), tensors = count(list, KS_DIFFERENCE_TENSOR);
    print_side("a", both->a);
    print_side("b", both->b);
    printf("\nkeys that differ: %zu\n", keys);
    print_metadata(both, list);
    if (count(list, KS_DIFFERENCE_TOKENIZER)) {
        printf("\ntokenizers, with a as the reference and b as an arm\n");
        print_tokenizer(list);
    } else {
        printf("\ntokenizers: the same\n");
    }
    printf("\ntensors that differ: %zu\n", tensors);
    if (tensors)
        print_tensors(both, list);
    return cli_finish_output();
}

/* ------------------------------------------------------------------ the command */

int inspect_diff(const char *a, const char *b, bool json)
{
    struct ks_error err;
    struct ks_model *of_a = ks_model_peek(a, NULL, &err);
    struct ks_model *of_b = of_a ? ks_model_peek(b, NULL, &err) : NULL;
    struct inspect_differences list = {0};
    const struct inspected both = {of_a, of_b};
    size_t n;
    int status;
    if (!of_b || ks_model_diff(of_a, of_b, keep, &list, &n, &err))
        status = cli_fail(&err);
    else
        status = (json ? inspect_print_diff_json : inspect_print_diff)(&both, &list);
    if (status == CLI_DONE && list.n)
        status = CLI_DIFFERS;
    release(&list);
    ks_model_unref(of_b);
    ks_model_unref(of_a);
    return status;
}
