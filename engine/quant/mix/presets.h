/*
 * The presets as a table: a base type and, for some kinds of tensors, exceptions, of which the
 * first whose conditions all hold counts. What cuts across presets (the head, eight experts, the
 * 70B shape, columns that don't divide) is in rules.c.
 *
 * Private to engine/quant; constant.
 */
#ifndef KS_ENGINE_QUANT_MIX_PRESETS_H
#define KS_ENGINE_QUANT_MIX_PRESETS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/quant/type.h"

enum ks_role {
    KS_ROLE_END, /* ends a list of rules */
    KS_ROLE_EMBEDDING,
    KS_ROLE_HEAD,
    KS_ROLE_V, /* fused QKV too */
    KS_ROLE_K,
    KS_ROLE_Q,
    KS_ROLE_ATTN_OUTPUT,
    KS_ROLE_DOWN,
    KS_ROLE_GATE,
    KS_ROLE_UP,
    KS_ROLE_OTHER,
};

/* Conditions of a rule; all that are set must hold. Layers are counted per role: i of n. */
enum {
    KS_IF_GQA4 = 1 << 0,    /* at least four query heads share a KV head */
    KS_IF_FIRST2 = 1 << 1,  /* i < 2 */
    KS_IF_FIRST4 = 1 << 2,  /* i < 4 */
    KS_IF_EIGHTH = 1 << 3,  /* i < n / 8 */
    KS_IF_SIXTEEN = 1 << 4, /* i < n / 16 */
    KS_IF_MORE = 1 << 5,    /* in the first or last eighth, or each third between */
    KS_IF_MIDDLE = 1 << 6,  /* neither in the first nor the last eighth */
    KS_IF_GIVEN = 1 << 7,   /* an importance matrix is given */
    KS_IF_MISSING = 1 << 8, /* none is */
    KS_IF_MIX8 = 1 << 9,    /* eight experts */
    KS_IF_NOT8 = 1 << 10,   /* any other number, a dense model too */
    KS_IF_MIX4 = 1 << 11,   /* four experts or more */
};

struct ks_rule {
    int role; /* enum ks_role */
    unsigned when;
    enum ks_type type;
};

enum {
    /* The 1- and 2-bit family, which knows neither the 70B rule nor Q8_0 for eight experts. */
    KS_PRESET_LOW = 1 << 0,
    KS_PRESET_HEAD_Q5 = 1 << 1, /* the head gets Q5_K, not Q6_K */
    /* Q2_K almost throughout is too coarse to do without an importance matrix. */
    KS_PRESET_WEIGHED_Q2 = 1 << 2,
};

struct ks_preset {
    const char *name;
    uint32_t file_type; /* general.file_type of such a file */
    enum ks_type base;
    unsigned traits;
    const struct ks_rule *rules; /* up to KS_ROLE_END */
};

/* The preset of a name or of a common short form ("Q4_K") in any case; NULL if there is none. */
const struct ks_preset *ks_preset_find(const char *name);

/* The i-th in the order of the help, NULL past the end. */
const struct ks_preset *ks_preset_get(size_t i);

#endif
