/*
 * A path is used only after its own instructions ran: on some virtual machines CPUID announces what
 * then dies with SIGILL. The trial is run in a forked child, so that neither our signal handlers
 * nor our other threads notice.
 */
#include "engine/kernels/isa.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    enum ks_isa isa;
    const char *name;
} names[] = {
    {KS_ISA_AVX512, "avx512"}, /* best first */
    {KS_ISA_AVX2, "avx2"},
    {KS_ISA_NEON, "neon"},
    {KS_ISA_SCALAR, "scalar"},
};

#define N_NAMES (sizeof names / sizeof names[0])

const char *ks_isa_name(enum ks_isa isa)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (names[i].isa == isa)
            return names[i].name;
    return "unknown";
}

const struct ks_ops *ks_isa_ops(enum ks_isa isa)
{
    switch (isa) {
    case KS_ISA_SCALAR:
        return &ks_scalar_ops;
#ifdef KS_HAVE_X86
    case KS_ISA_AVX2:
        return &ks_avx2_ops;
    case KS_ISA_AVX512:
        return &ks_avx512_ops;
#endif
    default:
        return NULL;
    }
}

#ifdef KS_HAVE_X86
/* F16C, which not every compiler can ask for, is left to the trial. */
static int announced(enum ks_isa isa)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    return isa == KS_ISA_AVX2 ||
           (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}
#else
static int announced(enum ks_isa isa)
{
    (void)isa;
    return 1;
}
#endif

/* Runs a small product, a softmax and a decoding on the path; 1 if the result is right. */
static int trial(const struct ks_ops *ops)
{
    _Alignas(64) float panel[64], x[3] = {1.0f, 2.0f, 3.0f}, y[1] = {0.0f};
    ops->transpose(x, 3, 1, 1, panel);
    ops->product(&(struct ks_product){
        .x = x, .ldx = 3, .m = 1, .b = panel, .n = 1, .k = 1, .y = y, .ldy = 1});
    ops->softmax(x, 3, 0.0f, NULL);
    static const uint8_t block[34] = {0x00, 0x3c, 7}; /* Q8_0: scale 1, values 7, 0, 0 ... */
    float decoded[32];
    ops->decode(KS_Q8_0, block, decoded, 32);
    return y[0] == 1.0f && x[0] == x[2] && decoded[0] == 7.0f && decoded[31] == 0.0f;
}

static int survives(const struct ks_ops *ops)
{
    pid_t child = fork();
    if (child < 0)
        return 0;
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGILL, SIG_DFL);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        _exit(trial(ops) ? 0 : 1);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int ks_isa_runs(enum ks_isa isa)
{
    const struct ks_ops *ops = ks_isa_ops(isa);
    if (isa == KS_ISA_SCALAR)
        return 1;
    return ops && announced(isa) && survives(ops);
}

int ks_isa_choose(enum ks_isa *isa, struct ks_error *err)
{
    const char *wanted = getenv("KLDSCOPE_ISA");
    if (wanted && !*wanted)
        wanted = NULL;
    for (size_t i = 0; i < N_NAMES; i++) {
        if (wanted && strcmp(names[i].name, wanted) != 0)
            continue;
        if (ks_isa_runs(names[i].isa)) {
            *isa = names[i].isa;
            return 0;
        }
        if (wanted)
            return ks_fail(err, KS_UNSUPPORTED,
                           ks_isa_ops(names[i].isa)
                               ? "KLDSCOPE_ISA=%s: this CPU does not run it; unset KLDSCOPE_ISA"
                               : "KLDSCOPE_ISA=%s: not built into this program; unset KLDSCOPE_ISA",
                           wanted);
    }
    return ks_fail(err, KS_BAD_INPUT,
                   "KLDSCOPE_ISA=%s: no such path; use scalar, avx2, avx512 or neon", wanted);
}
