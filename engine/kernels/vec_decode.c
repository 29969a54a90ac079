#include "engine/kernels/vec_ops.h"
#include "engine/quant/decode.h"
void KS_PATH(decode)(enum ks_type type, const void *src, float *dst, size_t n)
{
    ks_decode_row(type, src, dst, n);
}
