/*
 * What the kernel tests share: pseudo-random inputs, bit comparison, and a loop over every path
 * that runs on this machine.
 */
#ifndef KS_TESTS_KERNELS_H
#define KS_TESTS_KERNELS_H

#include "tests/testing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/kernels/cpu.h"

static const enum ks_isa all_isas[] = {KS_ISA_SCALAR, KS_ISA_AVX2, KS_ISA_AVX512, KS_ISA_NEON};
#define N_ISAS (sizeof all_isas / sizeof all_isas[0])

/* ks_isa_runs, asked once. */
static inline bool test_runs(enum ks_isa isa)
{
    static int known[N_ISAS]; /* 0: not asked, 1: no, 2: yes */
    if (!known[isa])
        known[isa] = 1 + (ks_isa_runs(isa) != 0);
    return known[isa] == 2;
}

static const int test_threads[] = {1, 2, 7};
#define N_TEST_THREADS (sizeof test_threads / sizeof test_threads[0])

static inline struct ks_cpu *test_cpu(int threads, enum ks_isa isa)
{
    struct ks_error err;
    struct ks_cpu *cpu = ks_cpu_create(threads, isa, &err);
    if (!cpu)
        fail_msg("%s", err.text);
    return cpu;
}

static inline void *test_alloc(size_t n, size_t size)
{
    void *p = ks_alloc_aligned(n, size);
    assert_non_null(p);
    return p;
}

/* Uniform in [-1, 1), of 24 bits. */
static inline float test_uniform(uint64_t *seed)
{
    return (float)(ks_random_next(seed) >> 40) * 0x1p-23f - 1.0f;
}

static inline float *test_floats(size_t n, uint64_t seed)
{
    float *x = test_alloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = test_uniform(&seed);
    return x;
}

/* x[i] = value for every n-th element from the first on. */
static inline void test_sprinkle(float *x, size_t n, size_t every, float value)
{
    for (size_t i = 0; i < n; i += every)
        x[i] = value;
}

/* Equal to the bit, any NaN as good as any other. */
static inline void assert_same_bits(const float *got, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0 && !(isnan(got[i]) && isnan(want[i])))
            fail_msg("%s: element %zu is %a, not %a", what, i, (double)got[i], (double)want[i]);
}

#endif
