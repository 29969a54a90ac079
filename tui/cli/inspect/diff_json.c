/* What differs between two models as JSON. */
#include <math.h>
#include <string.h>

#include "tui/cli/inspect/inspect.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* {"type", "value"}, of an array {"type", "items"}; null where a side has none. */
static json_t *entry(const struct ks_model *m, size_t i)
{
    const char *key, *type;
    uint64_t n;
    if (i == KS_NOWHERE)
        return json_null();
    ks_model_metadata(m, i, &key, &type, NULL, 0);
    if (ks_model_metadata_is_array(m, i, &n))
        return json_pack("{s:s, s:I}", "type", type, "items", (json_int_t)n);
    return json_pack("{s:s, s:o}", "type", type, "value",
                     inspect_json_datum(ks_model_metadata_datum(m, i, 0)));
}

static json_t *metadata(const struct inspected *both, const struct ks_difference *d)
{
    uint64_t n;
    json_t *made = json_pack("{s:o, s:o, s:o}", "key", inspect_json_text(d->name, strlen(d->name)),
                             "a", entry(both->a, d->a), "b", entry(both->b, d->b));
    if (!made || !d->items || !ks_model_metadata_is_array(both->a, d->a, &n))
        return made;
    json_object_set_new(made, "items_that_differ", json_integer((json_int_t)d->items));
    json_object_set_new(
        made, "first",
        json_pack("{s:I, s:o, s:o}", "item", (json_int_t)d->first_item, "a",
                  inspect_json_datum(ks_model_metadata_datum(both->a, d->a, d->first_item)), "b",
                  inspect_json_datum(ks_model_metadata_datum(both->b, d->b, d->first_item))));
    return made;
}

static json_t *side(const struct ks_model *m, size_t i)
{
    if (i == KS_NOWHERE)
        return json_null();
    struct ks_tensor_info t = ks_model_tensor_info(m, i);
    return json_pack("{s:s, s:o, s:I}", "type", t.type, "shape", inspect_json_shape(&t), "bytes",
                     (json_int_t)t.bytes);
}

static json_t *tensor(const struct inspected *both, const struct ks_difference *d)
{
    json_t *made = json_pack("{s:o, s:o, s:o}", "name", inspect_json_text(d->name, strlen(d->name)),
                             "a", side(both->a, d->a), "b", side(both->b, d->b));
    if (!made || !d->values)
        return made;
    json_object_set_new(made, "unequal", json_integer((json_int_t)d->unequal));
    json_object_set_new(made, "rms_relative", number(d->rms_relative));
    json_object_set_new(made, "max_abs", number(d->max_abs));
    return made;
}

static json_t *item(const struct inspected *both, const struct ks_difference *d)
{
    switch (d->kind) {
    case KS_DIFFERENCE_METADATA:
        return metadata(both, d);
    case KS_DIFFERENCE_TOKENIZER:
        return inspect_json_text(d->text, strlen(d->text));
    case KS_DIFFERENCE_TENSOR:
        return tensor(both, d);
    }
    return NULL;
}

int inspect_print_diff_json(const struct inspected *both, const struct inspect_differences *list)
{
    json_t *of_kind[] = {json_array(), json_array(), json_array()};
    const char *a = ks_model_info(both->a)->shown, *b = ks_model_info(both->b)->shown;
    bool failed = false;
    for (size_t i = 0; i < list->n; i++)
        failed |=
            json_array_append_new(of_kind[list->items[i].kind], item(both, &list->items[i])) != 0;
    json_t *made =
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "a", inspect_json_text(a, strlen(a)), "b",
                  inspect_json_text(b, strlen(b)), "same", (int)(list->n == 0), "metadata",
                  of_kind[KS_DIFFERENCE_METADATA], "tokenizers", of_kind[KS_DIFFERENCE_TOKENIZER],
                  "tensors", of_kind[KS_DIFFERENCE_TENSOR]);
    if (failed) {
        json_decref(made);
        made = NULL;
    }
    return inspect_put_json(made);
}
