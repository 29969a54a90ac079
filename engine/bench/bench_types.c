/*
 * How fast each type is decoded, and encoded by its reference algorithm, in bytes of f32.
 */
#include "engine/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/bytes.h"
#include "engine/quant/encode/encode.h"
#include "engine/quant/recode.h"

enum { ROWS = 64, COLS = 4096 };

int ks_bench_encode(enum ks_type type, const float *src, size_t rows, size_t cols, uint8_t *dst,
                    struct ks_error *err)
{
    float *even = ks_alloc_aligned(cols, sizeof *even);
    struct ks_encoders *encoders = ks_encoders_create(err);
    const struct ks_encoder *encoder = encoders ? ks_encoders_get(encoders, type, err) : NULL;
    if (!even)
        ks_fail_memory(err, cols * sizeof *even, "the benchmark's data");
    for (size_t c = 0; even && c < cols; c++)
        even[c] = 1;
    if (encoder && even)
        ks_encode_rows(encoder, src, rows, cols, even, dst);
    ks_encoders_destroy(encoders);
    free(even);
    return encoder && even ? 0 : -1;
}

struct types {
    struct bench *bench;
    struct ks_recode how;
    struct ks_matrix plain, coded; /* coded.data is bytes */
    uint8_t *bytes;
    float *out;
    int32_t ids[ROWS];
    int failed;
    struct ks_error err;
};

static void encode(void *ctx)
{
    struct types *t = ctx;
    t->failed |= ks_recode(&t->how, &t->plain, t->coded.type, t->bytes, &t->err);
}

static void decode(void *ctx)
{
    struct types *t = ctx;
    ks_gather(t->bench->cpu, &t->coded, t->ids, ROWS, t->out);
}

static int measure(struct types *t, const struct ks_type_info *type, struct ks_error *err)
{
    const double weights = (double)ROWS * COLS;
    t->coded.type = type->type;
    double seconds = ks_bench_seconds(encode, t);
    if (t->failed) {
        *err = t->err;
        return -1;
    }
    ks_bench_cell(t->bench, "types", type->name, "encoded",
                  weights * sizeof(float) / seconds * 1e-6, "MB/s", NAN, NULL);
    seconds = ks_bench_seconds(decode, t);
    ks_bench_cell(t->bench, "types", type->name, "decoded",
                  weights * sizeof(float) / seconds * 1e-6, "MB/s", NAN, NULL);
    return 0;
}

static int measure_all(struct types *t, float *even, struct ks_error *err)
{
    const struct ks_importance importance = {even, 1};
    for (int i = 0; i < COLS; i++)
        even[i] = 1;
    for (int i = 0; i < ROWS; i++)
        t->ids[i] = i;
    t->how.pool = ks_cpu_pool(t->bench->cpu);
    t->how.importance = &importance;
    const struct ks_type_info *type;
    for (uint32_t i = 0; (type = ks_type_at(i)); i++)
        if (type->quantizes && type->decodes && measure(t, type, err))
            return -1;
    return 0;
}

int ks_bench_types(struct bench *b, struct ks_error *err)
{
    struct types t = {.bench = b, .how.encoders = ks_encoders_create(err)};
    if (!t.how.encoders)
        return -1;
    float *weights = ks_bench_floats((size_t)ROWS * COLS, err);
    float *even = ks_bench_floats(COLS, err);
    t.out = ks_bench_floats((size_t)ROWS * COLS, err);
    t.bytes = (uint8_t *)ks_bench_floats((size_t)ROWS * COLS, err);
    t.plain = (struct ks_matrix){KS_F32, ROWS, COLS, (const uint8_t *)weights};
    t.coded = (struct ks_matrix){KS_F32, ROWS, COLS, t.bytes};
    int failed = weights && even && t.out && t.bytes ? measure_all(&t, even, err) : -1;
    free(weights);
    free(even);
    free(t.out);
    free(t.bytes);
    ks_encoders_destroy(t.how.encoders);
    return failed;
}
