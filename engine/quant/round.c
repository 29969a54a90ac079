#include "engine/quant/round.h"

#include <assert.h>
#include <math.h>

#include "engine/quant/decode.h"
#include "engine/quant/encode/parts.h"

enum { BLOCK = 32, BLOCK_BYTES = 34 }; /* of every type here that has blocks; the largest */

static const struct {
    enum ks_type type;
    row_encoder *encode; /* of a block; NULL: each value by itself */
} all[] = {
    {KS_F32, NULL},
    {KS_F16, NULL},
    {KS_BF16, NULL},
    {KS_Q8_0, ks_encode_q8_0},
    {KS_Q5_1, ks_encode_q5_1},
    {KS_Q5_0, ks_encode_q5_0},
    {KS_Q4_1, ks_encode_q4_1},
    {KS_Q4_0, ks_encode_q4_0},
};

enum { ALL = sizeof all / sizeof *all };

bool ks_round_type(size_t i, enum ks_type *type)
{
    *type = i < ALL ? all[i].type : KS_F32;
    return i < ALL;
}

static void round_f16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = as_stored(x[i]);
}

static void round_bf16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ks_bf16_to_f32(ks_f32_to_bf16(x[i]));
}

static void round_blocks(enum ks_type type, row_encoder *encode, float *x, size_t n)
{
    assert(n % BLOCK == 0);
    for (float *end = x + n; x < end; x += BLOCK) {
        uint8_t bytes[BLOCK_BYTES];
        if (all_finite(x, BLOCK)) {
            encode(x, BLOCK, NULL, bytes);
            ks_decode_row(type, bytes, x, BLOCK);
            continue;
        }
        for (int i = 0; i < BLOCK; i++)
            x[i] = NAN;
    }
}

void ks_round_row(enum ks_type type, float *x, size_t n)
{
    size_t i = 0;
    while (i < ALL && all[i].type != type)
        i++;
    assert(i < ALL);
    if (all[i].encode)
        round_blocks(type, all[i].encode, x, n);
    else if (type == KS_F16)
        round_f16(x, n);
    else if (type == KS_BF16)
        round_bf16(x, n);
}
