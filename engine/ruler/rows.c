#include "engine/ruler/rows.h"

const struct ks_rows *ks_rows(enum ks_isa isa)
{
    switch (isa) {
    case KS_ISA_SCALAR:
        return &ks_rows_scalar;
#if defined(__x86_64__)
    case KS_ISA_AVX2:
        return &ks_rows_avx2;
    case KS_ISA_AVX512:
        return &ks_rows_avx512;
#endif
    default:
        return NULL;
    }
}
