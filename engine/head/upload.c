#include <stdlib.h>

#include "engine/head/head.h"

/* Of the file's bytes taken apart at a time. */
#define SLAB_BYTES (8u << 20)

struct slab {
    uint64_t rows;
    uint8_t *parts[KS_GPU_MAX_PARTS];
};

static void slab_finish(struct slab *s)
{
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        free(s->parts[i]);
}

static int slab_init(struct slab *s, const struct ks_matrix *m, struct ks_error *err)
{
    uint64_t bytes[KS_GPU_MAX_PARTS], row_bytes = 0;
    *s = (struct slab){.rows = 1};
    ks_head_part_bytes(m, 1, bytes);
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++)
        row_bytes += bytes[i];
    if (row_bytes < SLAB_BYTES)
        s->rows = SLAB_BYTES / row_bytes;
    if (s->rows > m->rows)
        s->rows = m->rows;
    for (int i = 0; i < KS_GPU_MAX_PARTS; i++) {
        s->parts[i] = bytes[i] ? malloc(s->rows * bytes[i]) : NULL;
        if (bytes[i] && !s->parts[i]) {
            slab_finish(s);
            return ks_fail_memory(err, s->rows * bytes[i], "taking the output head apart");
        }
    }
    return 0;
}

static int fill(struct ks_gpu_weight *w, const struct ks_matrix *m, struct ks_error *err)
{
    struct slab s;
    if (slab_init(&s, m, err) != 0)
        return -1;
    int failed = 0;
    for (uint64_t first = 0; first < m->rows && !failed; first += s.rows) {
        uint64_t n = m->rows - first < s.rows ? m->rows - first : s.rows;
        ks_head_split(m, first, n, s.parts);
        failed = ks_gpu_weight_append(w, n, (const void *const *)s.parts, err);
    }
    slab_finish(&s);
    return failed;
}

struct ks_gpu_weight *ks_head_upload(struct ks_gpu *gpu, const struct ks_matrix *m,
                                     uint64_t data_bytes, const char *what, struct ks_error *err)
{
    enum ks_gpu_layout layout;
    if (ks_head_check(m, data_bytes, what, err) != 0 || !ks_head_layout(m->type, &layout))
        return NULL;
    struct ks_gpu_weight *w = ks_gpu_weight_create(gpu, layout, m->rows, m->cols, err);
    if (w && fill(w, m, err) != 0) {
        ks_gpu_weight_destroy(w);
        return NULL;
    }
    return w;
}
