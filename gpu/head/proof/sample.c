#include "gpu/head/proof/sample.h"

#include <string.h>

#include "engine/base/bytes.h"

/* Halves of 1/64 .. 2, and floats alike: any other byte of a block may hold anything. */
static void put_scale(uint8_t *at, uint64_t random)
{
    uint16_t half = (uint16_t)(0x2400 + (random & 0x1fff) % 0x1c00);
    memcpy(at, &half, sizeof half);
}

/* Bytes of a block where a half must not be just anything; -1 ends the list. */
struct scale_place {
    int part, offsets[3];
};

static struct scale_place scales_of(enum ks_gpu_layout layout)
{
    switch (layout) {
    case KS_GPU_U4:
    case KS_GPU_U5:
        return (struct scale_place){1, {0, 2, -1}};
    case KS_GPU_K2:
        return (struct scale_place){0, {80, 82, -1}};
    case KS_GPU_K4:
    case KS_GPU_K5:
        return (struct scale_place){0, {0, 2, -1}};
    case KS_GPU_LEVELS4_K:
        return (struct scale_place){0, {0, -1, -1}};
    default:
        return (struct scale_place){1, {0, -1, -1}};
    }
}

static void fill_plain(enum ks_gpu_layout layout, uint8_t *part, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = ks_random_next(seed);
        float value = ((float)(r >> 40) - 0x1p23f) * 0x1p-23f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (layout == KS_GPU_F32)
            memcpy(part + 4 * i, &bits, 4);
        else if (layout == KS_GPU_BF16)
            memcpy(part + 2 * i, (uint8_t *)&bits + 2, 2);
        else
            put_scale(part + 2 * i, r);
    }
}

static void fill_blocks(enum ks_gpu_layout layout, size_t blocks, uint64_t *seed,
                        uint8_t *const parts[KS_GPU_MAX_PARTS])
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(layout);
    for (int p = 0; p < KS_GPU_MAX_PARTS; p++)
        for (size_t i = 0; i < blocks * info->part_bytes[p]; i++)
            parts[p][i] = (uint8_t)ks_random_next(seed);
    struct scale_place place = scales_of(layout);
    for (size_t b = 0; b < blocks; b++) {
        uint8_t *block = parts[place.part] + b * info->part_bytes[place.part];
        for (int i = 0; i < 3 && place.offsets[i] >= 0 && layout != KS_GPU_FP4; i++)
            put_scale(block + place.offsets[i], ks_random_next(seed));
        if (layout == KS_GPU_FP4)
            *block = (uint8_t)(120 + *block % 8);
    }
}

void ks_gpu_sample_fill(enum ks_gpu_layout layout, size_t blocks, uint64_t *seed,
                        uint8_t *const parts[KS_GPU_MAX_PARTS])
{
    if (ks_gpu_layout_info(layout)->block_elems == 16)
        fill_plain(layout, parts[0], 16 * blocks, seed);
    else
        fill_blocks(layout, blocks, seed, parts);
}
