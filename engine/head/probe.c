#include "engine/head/head.h"

/* What is asked about: a width that every layout takes whole, and that many models have. */
#define COLS 1024

static const char *path_of(const struct ks_gpu *gpu, const struct ks_type_info *type)
{
    struct ks_error ignored; /* what it lacks is told by what it has */
    enum ks_gpu_path paths[KS_GPU_PATHS];
    struct ks_matrix m = {.type = type->type, .rows = 1, .cols = COLS};
    size_t n = ks_head_paths(KS_HEAD_PATH_AUTO, paths);
    for (size_t i = 0; i < n; i++)
        if (ks_head_check_path(gpu, &m, paths[i], type->name, &ignored) == 0)
            return ks_gpu_path_name(paths[i]);
    return NULL;
}

int ks_head_probe(const char *device, void (*tell)(void *ctx, const char *type, const char *path),
                  void *ctx, struct ks_error *err)
{
    struct ks_gpu *gpu = ks_gpu_open(device, err);
    if (!gpu)
        return -1;
    for (uint32_t i = 0; ks_type_at(i); i++)
        if (ks_type_at(i)->decodes)
            tell(ctx, ks_type_at(i)->name, path_of(gpu, ks_type_at(i)));
    ks_gpu_close(gpu);
    return 0;
}
