/*
 * Blocks of files have their scales among the quants, at any address; a device wants each kind of
 * field in an array of its own. In a file the fields of a block follow each other without gaps, so
 * an order of parts says it all.
 */
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/head/head.h"

struct packing {
    enum ks_type type;
    enum ks_gpu_layout layout;
    int order[KS_GPU_MAX_PARTS]; /* parts as the file has them in a block; -1: no more */
};

static const struct packing packings[] = {
    {KS_F32, KS_GPU_F32, {0, -1, -1}},       {KS_F16, KS_GPU_F16, {0, -1, -1}},
    {KS_BF16, KS_GPU_BF16, {0, -1, -1}},     {KS_Q8_0, KS_GPU_I8, {1, 0, -1}},
    {KS_Q4_0, KS_GPU_I4, {1, 0, -1}},        {KS_Q4_1, KS_GPU_U4, {1, 0, -1}},
    {KS_Q5_0, KS_GPU_I5, {1, 2, 0}},         {KS_Q5_1, KS_GPU_U5, {1, 2, 0}},
    {KS_IQ4_NL, KS_GPU_LEVELS4, {1, 0, -1}}, {KS_MXFP4, KS_GPU_FP4, {1, 0, -1}},
    {KS_Q2_K, KS_GPU_K2, {0, -1, -1}},       {KS_Q3_K, KS_GPU_K3, {0, 1, -1}},
    {KS_Q4_K, KS_GPU_K4, {0, -1, -1}},       {KS_Q5_K, KS_GPU_K5, {0, -1, -1}},
    {KS_Q6_K, KS_GPU_K6, {0, 1, -1}},        {KS_IQ4_XS, KS_GPU_LEVELS4_K, {0, -1, -1}},
};

static const struct packing *packing_of(enum ks_type type)
{
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (packings[i].type == type)
            return &packings[i];
    return NULL;
}

bool ks_head_layout(enum ks_type type, enum ks_gpu_layout *layout)
{
    const struct packing *p = packing_of(type);
    if (p)
        *layout = p->layout;
    return p != NULL;
}

int ks_head_check(const struct ks_matrix *m, uint64_t data_bytes, const char *what,
                  struct ks_error *err)
{
    const struct packing *p = packing_of(m->type);
    const struct ks_type_info *type = ks_type_info(m->type);
    if (!p)
        return ks_fail(err, KS_UNSUPPORTED, "%s: no GPU shader reads %s", what,
                       type ? type->name : "its type");
    unsigned long long rows = m->rows, cols = m->cols;
    uint64_t row_bytes, bytes;
    if (rows == 0 || cols == 0 || !ks_type_row_bytes(m->type, cols, &row_bytes) ||
        !ks_mul_u64(rows, row_bytes, &bytes))
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %llu rows of %llu columns are no whole number of blocks of %s", what,
                       rows, cols, type->name);
    if (bytes != data_bytes)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: %llu rows of %llu columns of %s are %llu bytes, and the tensor has "
                       "%llu; the file is damaged",
                       what, rows, cols, type->name, (unsigned long long)bytes,
                       (unsigned long long)data_bytes);
    if (cols % ks_gpu_layout_info(p->layout)->block_elems != 0)
        return ks_fail(err, KS_UNSUPPORTED, "%s: no GPU shader reads %s in rows of %llu", what,
                       type->name, cols);
    return 0;
}

void ks_head_part_bytes(const struct ks_matrix *m, uint64_t n, uint64_t bytes[KS_GPU_MAX_PARTS])
{
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(packing_of(m->type)->layout);
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        bytes[i] = n * (m->cols / info->block_elems) * info->part_bytes[i];
}

void ks_head_split(const struct ks_matrix *m, uint64_t first, uint64_t n,
                   uint8_t *const parts[KS_GPU_MAX_PARTS])
{
    const struct packing *p = packing_of(m->type);
    const struct ks_gpu_layout_info *info = ks_gpu_layout_info(p->layout);
    uint64_t block_bytes = 0, blocks = m->cols / info->block_elems;
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        block_bytes += info->part_bytes[i];
    const uint8_t *from = m->data + first * blocks * block_bytes;
    for (int i = 0; i < KS_GPU_MAX_PARTS && p->order[i] >= 0; i++) {
        size_t field = info->part_bytes[p->order[i]];
        uint8_t *to = parts[p->order[i]];
        for (uint64_t b = 0; b < n * blocks; b++)
            memcpy(to + b * field, from + b * block_bytes, field);
        from += field;
    }
}
