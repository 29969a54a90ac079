#include "engine/model/arch/arch.h"

#include <stdio.h>
#include <string.h>

/* What every pre-norm transformer with a gated FFN has. */
#define DENSE_ROLES                                                                                \
    (KS_ROLE_BIT(KS_ROLE_TOKEN_EMBD) | KS_ROLE_BIT(KS_ROLE_OUTPUT_NORM) |                          \
     KS_ROLE_BIT(KS_ROLE_ATTN_NORM) | KS_ROLE_BIT(KS_ROLE_ATTN_Q) | KS_ROLE_BIT(KS_ROLE_ATTN_K) |  \
     KS_ROLE_BIT(KS_ROLE_ATTN_V) | KS_ROLE_BIT(KS_ROLE_ATTN_OUTPUT) |                              \
     KS_ROLE_BIT(KS_ROLE_FFN_NORM) | KS_ROLE_BIT(KS_ROLE_FFN_GATE) | KS_ROLE_BIT(KS_ROLE_FFN_UP) | \
     KS_ROLE_BIT(KS_ROLE_FFN_DOWN))

#define ATTN_BIAS_ROLES                                                                            \
    (KS_ROLE_BIT(KS_ROLE_ATTN_Q_BIAS) | KS_ROLE_BIT(KS_ROLE_ATTN_K_BIAS) |                         \
     KS_ROLE_BIT(KS_ROLE_ATTN_V_BIAS) | KS_ROLE_BIT(KS_ROLE_ATTN_OUTPUT_BIAS))

#define FFN_BIAS_ROLES                                                                             \
    (KS_ROLE_BIT(KS_ROLE_FFN_GATE_BIAS) | KS_ROLE_BIT(KS_ROLE_FFN_UP_BIAS) |                       \
     KS_ROLE_BIT(KS_ROLE_FFN_DOWN_BIAS))

static const struct ks_arch architectures[] = {
    {
        .name = "llama",
        .rope_pairing = KS_ROPE_ADJACENT,
        .required = DENSE_ROLES,
        .optional = KS_ROLE_BIT(KS_ROLE_OUTPUT) | KS_ROLE_BIT(KS_ROLE_ROPE_FREQS) |
                    ATTN_BIAS_ROLES | FFN_BIAS_ROLES,
    },
};

#define N_ARCHITECTURES (sizeof architectures / sizeof *architectures)

const struct ks_arch *ks_arch_find(const char *name)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    }
    return NULL;
}

void ks_arch_list(char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < N_ARCHITECTURES && at < size; i++) {
        int n = snprintf(text + at, size - at, "%s%s", i ? ", " : "", architectures[i].name);
        at += n < 0 ? 0 : (size_t)n;
    }
}
