#include "engine/head/head.h"

size_t ks_head_paths(enum ks_head_path wish, enum ks_gpu_path out[KS_GPU_PATHS])
{
    static const enum ks_gpu_path named[] = {
        [KS_HEAD_PATH_FEW] = KS_GPU_FEW,
        [KS_HEAD_PATH_MANY] = KS_GPU_MANY,
        [KS_HEAD_PATH_MATRIX] = KS_GPU_MATRIX,
    };
    if (wish != KS_HEAD_PATH_AUTO) {
        out[0] = named[wish];
        return 1;
    }
    out[0] = KS_GPU_MATRIX;
    out[1] = KS_GPU_MANY;
    return 2;
}

int ks_head_check_path(const struct ks_gpu *gpu, const struct ks_matrix *m, enum ks_gpu_path path,
                       const char *what, struct ks_error *err)
{
    enum ks_gpu_layout layout;
    uint64_t row = 0;
    ks_type_row_bytes(m->type, m->cols, &row);
    if (ks_head_check(m, row * m->rows, what, err) || !ks_head_layout(m->type, &layout))
        return -1;
    if (!ks_gpu_path_available(gpu, layout, m->cols, path))
        return ks_fail(err, KS_UNSUPPORTED, "%s: there are no %s for %s in rows of %llu", what,
                       ks_gpu_path_name(path), ks_type_info(m->type)->name,
                       (unsigned long long)m->cols);
    return 0;
}
