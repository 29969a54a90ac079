/*
 * A device for tests: lavapipe (or what KS_TEST_GPU names) with the validation layers listening.
 * Every message of theirs fails the test that caused it; those at closing, leaks among them, too.
 * KS_TEST_GPU_DEAF is for machines with a device and without the layers.
 */
#ifndef KS_TESTS_GPU_LISTENING_H
#define KS_TESTS_GPU_LISTENING_H

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "gpu/fault.h"

struct listening {
    struct ks_gpu *gpu;
    unsigned messages;
    char first[2048];
};

static void heard(void *ctx, const char *text)
{
    struct listening *l = ctx;
    if (l->messages++ == 0)
        snprintf(l->first, sizeof l->first, "%s", text);
}

static inline const char *test_device(void)
{
    const char *named = getenv("KS_TEST_GPU");
    return named ? named : "llvmpipe";
}

static int pin_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size, (void)ctx;
    if (info->dlpi_name && info->dlpi_name[0])
        dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

/* Drivers and layers stay loaded: what they keep in globals would look leaked once they are gone,
 * and what they do leak could not be told from ours. */
static inline void pin_libraries(void)
{
    dl_iterate_phdr(pin_library, NULL);
}

/* Opening may fail, which leaves l->gpu NULL and *err filled. t: NULL, or what to pretend. */
static inline void try_listening(struct listening *l, const struct ks_gpu_testing *t,
                                 struct ks_error *err)
{
    struct ks_gpu_testing testing = {0};
    if (t)
        testing = *t;
    if (!testing.cache_folder)
        testing.cache_folder = "";
    *l = (struct listening){0};
    testing.message = getenv("KS_TEST_GPU_DEAF") ? NULL : heard;
    testing.ctx = l;
    l->gpu = ks_gpu_open_testing(test_device(), &testing, err);
    pin_libraries();
}

static inline void check_silence(const struct listening *l)
{
    if (l->messages)
        fail_msg("%u messages of the validation layers, the first: %s", l->messages, l->first);
}

static inline void open_listening(struct listening *l, const struct ks_gpu_testing *t)
{
    struct ks_error err = {0};
    try_listening(l, t, &err);
    if (!l->gpu)
        fail_msg("%s", err.text);
}

static inline void close_listening(struct listening *l)
{
    ks_gpu_close(l->gpu);
    l->gpu = NULL;
    check_silence(l);
}

/* For a group of tests: one device for all of them, in *state. */
static inline int open_once(void **state)
{
    static struct listening l;
    open_listening(&l, NULL);
    *state = &l;
    return 0;
}

static inline int close_once(void **state)
{
    if (*state) /* it was opened */
        close_listening(*state);
    return 0;
}

#endif
