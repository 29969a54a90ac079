#include "engine/quant/mix/presets.h"

#include <strings.h>

#include "engine/quant/mix/mix.h"

enum {
    EMBD = KS_ROLE_EMBEDDING,
    V = KS_ROLE_V,
    K = KS_ROLE_K,
    Q = KS_ROLE_Q,
    OUT = KS_ROLE_ATTN_OUTPUT,
    DOWN = KS_ROLE_DOWN,
    GATE = KS_ROLE_GATE,
    UP = KS_ROLE_UP,

    GQA4 = KS_IF_GQA4,
    FIRST2 = KS_IF_FIRST2,
    FIRST4 = KS_IF_FIRST4,
    EIGHTH = KS_IF_EIGHTH,
    SIXTEEN = KS_IF_SIXTEEN,
    MORE = KS_IF_MORE,
    MIDDLE = KS_IF_MIDDLE,
    GIVEN = KS_IF_GIVEN,
    MISSING = KS_IF_MISSING,
    MIX8 = KS_IF_MIX8,
    NOT8 = KS_IF_NOT8,
    MIX4 = KS_IF_MIX4,

    LOW = KS_PRESET_LOW | KS_PRESET_HEAD_Q5,
};

static const struct ks_rule none[] = {{0}};
static const struct ks_rule more_q6[] = {{V, MORE, KS_Q6_K}, {DOWN, MORE, KS_Q6_K}, {0}};
static const struct ks_rule q5_0[] = {{DOWN, GIVEN | EIGHTH, KS_Q5_1}, {0}};
static const struct ks_rule q4_0[] = {{DOWN, GIVEN | EIGHTH, KS_Q4_1}, {0}};
static const struct ks_rule q4_k_m[] = {
    {V, MORE, KS_Q6_K}, {DOWN, MORE, KS_Q6_K}, {OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule q4_k_s[] = {
    {V, FIRST4, KS_Q5_K}, {DOWN, EIGHTH, KS_Q5_K}, {OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule iq4[] = {
    {V, GQA4, KS_Q5_K}, {DOWN, MISSING | EIGHTH, KS_Q5_K}, {OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule q3_k_l[] = {
    {V, 0, KS_Q5_K}, {DOWN, 0, KS_Q5_K}, {OUT, NOT8, KS_Q5_K}, {0}};
static const struct ks_rule q3_k_m[] = {{V, FIRST2, KS_Q5_K},
                                        {V, 0, KS_Q4_K},
                                        {DOWN, SIXTEEN, KS_Q5_K},
                                        {DOWN, 0, KS_Q4_K},
                                        {OUT, MIX8, KS_Q5_K},
                                        {OUT, 0, KS_Q4_K},
                                        {0}};
static const struct ks_rule q3_k_s[] = {{OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule iq3_m[] = {
    {V, 0, KS_Q4_K},      {DOWN, EIGHTH, KS_Q4_K}, {DOWN, MIX8 | MORE, KS_Q4_K},
    {OUT, MIX8, KS_Q5_K}, {OUT, 0, KS_Q4_K},       {0}};
static const struct ks_rule iq3_s[] = {{V, GQA4, KS_Q4_K}, {OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule iq3_xs[] = {{V, GQA4, KS_Q4_K},
                                        {Q, 0, KS_IQ3_XXS},
                                        {K, 0, KS_IQ3_XXS},
                                        {GATE, MIDDLE, KS_IQ3_XXS},
                                        {UP, MIDDLE, KS_IQ3_XXS},
                                        {OUT, MIX8, KS_Q5_K},
                                        {0}};
static const struct ks_rule iq3_xxs[] = {{V, GQA4, KS_Q4_K},
                                         {V, MISSING, KS_IQ3_S},
                                         {Q, 0, KS_IQ2_S},
                                         {K, 0, KS_IQ2_S},
                                         {DOWN, MISSING | EIGHTH, KS_Q4_K},
                                         {DOWN, MISSING, KS_Q3_K},
                                         {EMBD, 0, KS_IQ3_S},
                                         {OUT, MIX8, KS_Q5_K},
                                         {OUT, 0, KS_IQ3_S},
                                         {0}};
static const struct ks_rule q2_k[] = {{V, GQA4, KS_Q4_K},   {V, 0, KS_Q3_K},   {DOWN, 0, KS_Q3_K},
                                      {OUT, MIX8, KS_Q5_K}, {OUT, 0, KS_Q3_K}, {0}};
static const struct ks_rule q2_k_s[] = {{V, GQA4, KS_Q4_K}, {DOWN, EIGHTH, KS_Q4_K}, {0}};
static const struct ks_rule iq2_s[] = {
    {V, GQA4, KS_Q4_K},   {V, MIX4, KS_Q4_K},       {V, 0, KS_IQ3_S},
    {K, MIX8, KS_Q4_K},   {DOWN, EIGHTH, KS_IQ3_S}, {EMBD, 0, KS_IQ3_S},
    {OUT, MIX8, KS_Q5_K}, {OUT, 0, KS_IQ3_S},       {0}};
static const struct ks_rule iq2_xs[] = {
    {V, GQA4, KS_Q4_K},      {V, MIX4, KS_Q4_K}, {V, 0, KS_Q2_K},      {K, MIX8, KS_Q4_K},
    {DOWN, EIGHTH, KS_Q2_K}, {EMBD, 0, KS_Q2_K}, {OUT, MIX8, KS_Q5_K}, {0}};
static const struct ks_rule iq1[] = {
    {V, GQA4, KS_Q4_K},   {V, MIX4, KS_Q4_K},      {V, 0, KS_Q2_K},
    {K, MIX8, KS_Q4_K},   {DOWN, EIGHTH, KS_Q2_K}, {EMBD, 0, KS_Q2_K},
    {OUT, MIX8, KS_Q5_K}, {OUT, 0, KS_IQ2_XXS},    {0}};
static const struct ks_rule ternary[] = {{EMBD, 0, KS_Q4_K}, {0}};

static const struct ks_preset presets[] = {
    {"F32", 0, KS_F32, 0, none},
    {"BF16", 32, KS_BF16, 0, none},
    {"F16", 1, KS_F16, 0, none},
    {"Q8_0", 7, KS_Q8_0, 0, none},
    {"Q6_K", 18, KS_Q6_K, 0, none},
    {"Q5_K_M", 17, KS_Q5_K, 0, more_q6},
    {"Q5_K_S", 16, KS_Q5_K, 0, none},
    {"Q5_1", 9, KS_Q5_1, 0, none},
    {"Q5_0", 8, KS_Q5_0, 0, q5_0},
    {"Q4_K_M", 15, KS_Q4_K, 0, q4_k_m},
    {"Q4_K_S", 14, KS_Q4_K, 0, q4_k_s},
    {"Q4_1", 3, KS_Q4_1, 0, none},
    {"Q4_0", 2, KS_Q4_0, 0, q4_0},
    {"IQ4_NL", 25, KS_IQ4_NL, 0, iq4},
    {"IQ4_XS", 30, KS_IQ4_XS, 0, iq4},
    {"MXFP4_MOE", 38, KS_MXFP4, 0, none},
    {"Q3_K_L", 13, KS_Q3_K, 0, q3_k_l},
    {"Q3_K_M", 12, KS_Q3_K, 0, q3_k_m},
    {"Q3_K_S", 11, KS_Q3_K, 0, q3_k_s},
    {"IQ3_M", 27, KS_IQ3_S, 0, iq3_m},
    {"IQ3_S", 26, KS_IQ3_S, 0, iq3_s},
    {"IQ3_XS", 22, KS_IQ3_S, 0, iq3_xs},
    {"IQ3_XXS", 23, KS_IQ3_XXS, KS_PRESET_HEAD_Q5, iq3_xxs},
    {"Q2_K", 10, KS_Q2_K, 0, q2_k},
    {"Q2_K_S", 21, KS_Q2_K, KS_PRESET_WEIGHED_Q2, q2_k_s},
    {"IQ2_M", 29, KS_IQ2_S, LOW, iq2_s},
    {"IQ2_S", 28, KS_IQ2_XS, LOW, iq2_s},
    {"IQ2_XS", 20, KS_IQ2_XS, LOW, iq2_xs},
    {"IQ2_XXS", 19, KS_IQ2_XXS, LOW, iq2_xs},
    {"IQ1_M", 31, KS_IQ1_M, LOW, iq1},
    {"IQ1_S", 24, KS_IQ1_S, LOW, iq1},
    {"TQ2_0", 37, KS_TQ2_0, 0, ternary},
    {"TQ1_0", 36, KS_TQ1_0, 0, ternary},
};

/* Short forms that the ecosystem's quantizer takes too. */
static const char *const short_forms[][2] = {
    {"Q3_K", "Q3_K_M"},
    {"Q4_K", "Q4_K_M"},
    {"Q5_K", "Q5_K_M"},
};

const struct ks_preset *ks_preset_get(size_t i)
{
    return i < sizeof presets / sizeof *presets ? &presets[i] : NULL;
}

const struct ks_preset *ks_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++)
        if (strcasecmp(short_forms[i][0], name) == 0)
            name = short_forms[i][1];
    for (size_t i = 0; ks_preset_get(i); i++)
        if (strcasecmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}
