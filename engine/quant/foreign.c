#include <stddef.h>

#include "engine/quant/type.h"

#define REPACKED "dropped from the format in 2024"
#define IK(name) name " of ik_llama.cpp"

static const struct {
    uint32_t type;
    const char *is;
} foreign[] = {
    {4, "Q4_2, dropped from the format in 2023"},
    {5, "Q4_3, dropped from the format in 2023"},
    {9, "Q8_1, which is for intermediate results only"},
    {15, "Q8_K, which is for intermediate results only"},
    {31, "Q4_0_4_4, " REPACKED},
    {32, "Q4_0_4_8, " REPACKED},
    {33, "Q4_0_8_8, " REPACKED},
    {36, "IQ4_NL_4_4, " REPACKED ", or " IK("I2_S")},
    {37, "IQ4_NL_4_8, " REPACKED},
    {38, "IQ4_NL_8_8, " REPACKED},
    {42, "Q2_0, which llama.cpp and its forks lay out differently"},
    {97, IK("Q8_0_X4")},
    {98, IK("Q8_1_X4")},
    {99, IK("Q8_2_X4")},
    {133, IK("Q6_0")},
    {134, IK("IQ1_BN")},
    {135, IK("IQ2_BN")},
    {136, IK("Q8_K64")},
    {137, IK("IQ2_K")},
    {138, IK("IQ3_K")},
    {139, IK("IQ4_K")},
    {140, IK("IQ5_K")},
    {141, IK("IQ6_K")},
    {142, IK("IQ2_TN")},
    {143, IK("IQ1_TN")},
    {144, IK("IQ4_KS")},
    {145, IK("IQ2_KS")},
    {146, IK("IQ4_KSS")},
    {147, IK("Q8_K16")},
    {148, IK("Q8_K32")},
    {149, IK("Q8_KR8")},
    {150, IK("Q8_K128")},
    {151, IK("Q8_KV")},
    {152, IK("IQ5_KS")},
    {153, IK("IQ2_KT")},
    {154, IK("IQ3_KT")},
    {155, IK("IQ4_KT")},
    {156, IK("IQ3_KS")},
    {157, IK("IQ2_KL")},
    {158, IK("IQ1_KT")},
    {202, IK("Q4_0_R8")},
    {206, IK("Q5_0_R4")},
    {208, IK("Q8_0_R8")},
    {210, IK("Q2_K_R4")},
    {211, IK("Q3_K_R4")},
    {212, IK("Q4_K_R4")},
    {213, IK("Q5_K_R4")},
    {214, IK("Q6_K_R4")},
    {216, IK("IQ2_XXS_R4")},
    {217, IK("IQ2_XS_R4")},
    {218, IK("IQ3_XXS_R4")},
    {219, IK("IQ1_S_R4")},
    {220, IK("IQ4_NL_R4")},
    {221, IK("IQ3_S_R4")},
    {222, IK("IQ2_S_R4")},
    {223, IK("IQ4_XS_R8")},
    {229, IK("IQ1_M_R4")},
    {230, IK("BF16_R16")},
    {233, IK("Q6_0_R4")},
    {335, IK("IQ2_BN_R4")},
    {337, IK("IQ2_K_R4")},
    {338, IK("IQ3_K_R4")},
    {339, IK("IQ4_K_R4")},
    {340, IK("IQ5_K_R4")},
    {344, IK("IQ4_KS_R4")},
    {352, IK("IQ5_KS_R4")},
    {353, IK("MXFP4_R8")},
    {397, IK("Q8_K_R16")},
    {398, IK("Q8_KV_R8")},
    {399, IK("Q8_K_R8")},
};

const char *ks_type_foreign(uint32_t type)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (foreign[i].type == type)
            return foreign[i].is;
    return NULL;
}
