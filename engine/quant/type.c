#include "engine/quant/type.h"

#include <stddef.h>
#include <strings.h>

#include "engine/base/bytes.h"

static const struct ks_type_info types[] = {
    {KS_F32, "F32", 1, 4, true, true, KS_UNWEIGHED},
    {KS_F16, "F16", 1, 2, true, true, KS_UNWEIGHED},
    {KS_BF16, "BF16", 1, 2, true, true, KS_UNWEIGHED},
    {KS_Q8_0, "Q8_0", 32, 34, true, true, KS_UNWEIGHED},
    {KS_Q4_0, "Q4_0", 32, 18, true, true, KS_WEIGHED},
    {KS_Q4_1, "Q4_1", 32, 20, true, true, KS_WEIGHED},
    {KS_Q5_0, "Q5_0", 32, 22, true, true, KS_WEIGHED},
    {KS_Q5_1, "Q5_1", 32, 24, true, true, KS_WEIGHED},
    {KS_Q2_K, "Q2_K", 256, 84, true, true, KS_WEIGHED},
    {KS_Q3_K, "Q3_K", 256, 110, true, true, KS_WEIGHED},
    {KS_Q4_K, "Q4_K", 256, 144, true, true, KS_WEIGHED},
    {KS_Q5_K, "Q5_K", 256, 176, true, true, KS_WEIGHED},
    {KS_Q6_K, "Q6_K", 256, 210, true, true, KS_WEIGHED},
    {KS_IQ4_NL, "IQ4_NL", 32, 18, true, true, KS_WEIGHED},
    {KS_IQ4_XS, "IQ4_XS", 256, 136, true, true, KS_WEIGHED},
    {KS_MXFP4, "MXFP4", 32, 17, true, true, KS_UNWEIGHED},
    {KS_NVFP4, "NVFP4", 64, 36, true, true, KS_UNWEIGHED},
    {KS_IQ1_S, "IQ1_S", 256, 50, true, true, KS_MUST_BE_WEIGHED},
    {KS_IQ1_M, "IQ1_M", 256, 56, true, true, KS_WEIGHED},
    {KS_IQ2_XXS, "IQ2_XXS", 256, 66, true, true, KS_MUST_BE_WEIGHED},
    {KS_IQ2_XS, "IQ2_XS", 256, 74, true, true, KS_MUST_BE_WEIGHED},
    {KS_IQ2_S, "IQ2_S", 256, 82, true, true, KS_WEIGHED},
    {KS_IQ3_XXS, "IQ3_XXS", 256, 98, true, true, KS_WEIGHED},
    {KS_IQ3_S, "IQ3_S", 256, 110, true, true, KS_WEIGHED},
    {KS_TQ1_0, "TQ1_0", 256, 54, true, true, KS_UNWEIGHED},
    {KS_TQ2_0, "TQ2_0", 256, 66, true, true, KS_UNWEIGHED},
    {KS_Q1_0, "Q1_0", 128, 18, false, false, KS_UNWEIGHED},
    {KS_I8, "I8", 1, 1, false, false, KS_UNWEIGHED},
    {KS_I16, "I16", 1, 2, false, false, KS_UNWEIGHED},
    {KS_I32, "I32", 1, 4, false, false, KS_UNWEIGHED},
    {KS_I64, "I64", 1, 8, false, false, KS_UNWEIGHED},
    {KS_F64, "F64", 1, 8, false, false, KS_UNWEIGHED},
};

const struct ks_type_info *ks_type_at(uint32_t i)
{
    return i < sizeof types / sizeof *types ? &types[i] : NULL;
}

const struct ks_type_info *ks_type_info(uint32_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((uint32_t)types[i].type == type)
            return &types[i];
    return NULL;
}

const struct ks_type_info *ks_type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

bool ks_type_row_bytes(enum ks_type type, uint64_t cols, uint64_t *bytes)
{
    const struct ks_type_info *info = ks_type_info((uint32_t)type);
    if (!info || cols % info->block_elems != 0)
        return false;
    return ks_mul_u64(cols / info->block_elems, info->block_bytes, bytes);
}
