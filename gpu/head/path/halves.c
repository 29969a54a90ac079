/*
 * Whether a driver converts halves exactly, which shaders then leave to it: it takes one
 * instruction where integers take ten, and those ten are all that halves in a weight wait for.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/head/head.h"
#include "gpu/head/proof/twin.h"

enum {
    HALVES = 65536,
    HALVES_OF_GROUP = 512, /* as in halves.comp */
};

static bool is_exact(const float got[HALVES])
{
    for (uint32_t bits = 0; bits < HALVES; bits++) {
        float want = ks_gpu_twin_half((uint16_t)bits);
        bool nan = want != want;
        if (nan ? got[bits] == got[bits] : memcmp(&got[bits], &want, sizeof want) != 0)
            return false;
    }
    return true;
}

int ks_gpu_try_halves(struct ks_gpu *gpu, struct ks_error *err)
{
    float *got = malloc(HALVES * sizeof *got);
    if (!got)
        return ks_fail_memory(err, HALVES * sizeof *got, "all halves");
    struct ks_vk_slot *slot;
    struct ks_vk_dispatch d = {
        .key = {.shader = KS_VK_HALVES},
        .buffers = {&gpu->x},
        .groups = {HALVES / HALVES_OF_GROUP, 1, 1},
    };
    int failed = ks_vk_buffer_reserve(gpu, KS_VK_ON_DEVICE, HALVES * sizeof *got, "all halves",
                                      &gpu->x, err) ||
                 ks_vk_begin(gpu, &slot, err) || ks_vk_dispatch(gpu, &slot, &d, err) ||
                 ks_vk_submit(gpu, slot, err) ||
                 ks_vk_buffer_read(gpu, &gpu->x, 0, got, HALVES * sizeof *got, gpu->submitted, err);
    gpu->tried_halves = !failed;
    gpu->exact_halves = !failed && is_exact(got);
    free(got);
    return failed ? -1 : 0;
}
