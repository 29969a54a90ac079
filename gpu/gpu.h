/*
 * The output head on a GPU: the narrow door to Vulkan.
 *
 *   ks_gpu         an open device with its queue, pipelines and working memory
 *   ks_gpu_weight  a matrix (rows, cols) that stays on the device in a packed layout
 *   ks_gpu_tile    logits (positions, rows) that stay on the device until they are read
 *   ks_gpu_ruler   what compares a tile with a reference's, so that sums alone are read
 *
 * y(m, rows) = x(m, cols) * W^T. This folder knows nothing of model files or of what is measured:
 * weights come as the parts of a layout below.
 *
 * Ownership: the caller's. Every weight and tile of a device is destroyed before the device is
 * closed. All destroy functions accept NULL.
 *
 * Threads: one at a time may use a device and what belongs to it; any number of devices side by
 * side. ks_gpu_list and ks_gpu_choose: any thread.
 *
 * Errors (engine/base/error.h) name the Vulkan call and what it returned. None of them is an error
 * of a run: the caller goes on with its CPU path. KS_UNSUPPORTED: no device, or one that can't do
 * this. KS_NO_MEMORY: host or device. KS_SYSTEM: the driver failed. After ks_gpu_lost the device
 * is good for closing alone; one that was lost may be opened again.
 *
 * Numbers: within a path each output is one chain of additions in an order that depends on cols
 * alone, so its bits are the same for any m, any place among the m and any sharding. Two paths
 * agree by tolerance: |error| <= 1e-5 * sum |x w|, typically under 1e-6 of it. By KS_GPU_MATRIX, in
 * layouts with minima, of sum |x| (|d q| + |m|), since it multiplies these apart; elements of x
 * below 2^-16 of the largest of their row may be off by 2^-39 of that, elements of BF16 below 2^-28
 * of the largest of their 32 by 2^-39 of that; subnormal ones count as 0, and a row of x that is
 * not finite makes NaN of all its outputs.
 */
#ifndef KS_GPU_GPU_H
#define KS_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

struct ks_gpu;
struct ks_gpu_weight;
struct ks_gpu_tile;
struct ks_gpu_ruler;

/* ------------------------------------------------------------------ devices */

enum ks_gpu_kind {
    KS_GPU_KIND_DISCRETE,
    KS_GPU_KIND_INTEGRATED,
    KS_GPU_KIND_VIRTUAL,
    KS_GPU_KIND_OTHER,
    KS_GPU_KIND_CPU, /* a software rasterizer */
};

struct ks_gpu_info {
    char name[256];
    char driver[512];  /* name and version as the driver tells them */
    char uuid[33];     /* 32 lowercase hex digits */
    char why_not[128]; /* what it lacks; "" where it can be used */
    enum ks_gpu_kind kind;
    uint32_t api_major, api_minor;
    uint64_t memory_bytes;      /* device-local heaps */
    uint64_t memory_free_bytes; /* of it, to this process now; 0 where the driver doesn't tell */
    uint64_t max_binding_bytes; /* of one storage buffer in a shader */
    uint64_t max_allocation_bytes;
    uint32_t max_shared_bytes; /* of a work-group */
    uint32_t subgroup_size;    /* the least that a pipeline may get */
    bool subgroup_shuffle, timeline, round_to_even;
    bool storage_16bit, storage_8bit, f16, int8, int64;
    bool cooperative_matrix_khr, cooperative_matrix_nv, memory_budget;
    bool matrix_cores; /* has what KS_GPU_MATRIX needs */
};

/* *devices (n), the caller's to free(), in the loader's order. No loader, no driver and no device
 * give n = 0, which is success. */
int ks_gpu_list(struct ks_gpu_info **devices, size_t *n, struct ks_error *err);

/*
 * Chooses among devices(n). which: NULL, "" or "auto": the first usable discrete device, then
 * integrated, then virtual, then of no kind that Vulkan knows, and never a CPU. Otherwise an index
 * (a number of one or two digits), a UUID (dashes allowed) or a part of a name in any case, which
 * may name a CPU device; of several that are called so the first usable one.
 */
int ks_gpu_choose(const struct ks_gpu_info *devices, size_t n, const char *which, size_t *index,
                  struct ks_error *err);

/* "VK_DRIVER_FILES" or its older name, whichever is set and keeps Vulkan from looking for drivers;
 * NULL where neither is. */
const char *ks_gpu_named_drivers(void);

/* Lists, chooses, opens. Computes nothing yet: paths prove themselves at their first product. */
struct ks_gpu *ks_gpu_open(const char *which, struct ks_error *err);
void ks_gpu_close(struct ks_gpu *gpu);
const struct ks_gpu_info *ks_gpu_info(const struct ks_gpu *gpu); /* lives as long as gpu */
bool ks_gpu_lost(const struct ks_gpu *gpu);

/*
 * What the device gives at most, measured now (about three seconds, warmed, medians of 20) by
 * shaders over so many bytes of its memory, or as many as a binding takes.
 */
struct ks_gpu_limits {
    double copy_bytes_s; /* read and written, together */
    double read_bytes_s;
    double flops_s;    /* multiplications and additions of f32, two for a pair */
    double dispatch_s; /* of one that does nothing, behind a barrier */
    double submit_s;   /* of one such, from the host and back */
};
int ks_gpu_measure(struct ks_gpu *gpu, uint64_t bytes, struct ks_gpu_limits *out,
                   struct ks_error *err);

/* ------------------------------------------------------------------ weights */

/*
 * How a matrix lies on the device: one to three byte arrays ("parts"), each with a fixed number of
 * bytes for every block of a row, blocks in row-major order without gaps. Words are little-endian;
 * "half" is an IEEE f16. q is the integer that is stored for an element; in blocks of 32, unless
 * told otherwise, byte j holds element j in its low nibble and j + 16 in its high one.
 *
 * Blocks of 256 have two levels of scales; their parts are named by size here and laid out in
 * shaders/weights/layouts.glsl.
 */
enum ks_gpu_layout {
    KS_GPU_F32,     /* 16 elements: 64 bytes */
    KS_GPU_F16,     /* 16 elements: 32 bytes */
    KS_GPU_BF16,    /* 16 elements: 32 bytes */
    KS_GPU_I8,      /* 32: int8 q[32] | half d: d * q */
    KS_GPU_I4,      /* 32: 16 bytes | half d: d * (q - 8) */
    KS_GPU_U4,      /* 32: 16 bytes | half d, half m: d * q + m */
    KS_GPU_I5,      /* 32: 16 bytes | half d | u32, bit j above element j: d * (q - 16) */
    KS_GPU_U5,      /* 32: 16 bytes | half d, half m | u32 as above: d * q + m */
    KS_GPU_LEVELS4, /* 32: 16 bytes | half d: d * level[q] of the 16 non-linear levels */
    KS_GPU_FP4,     /* 32: 16 bytes | E8M0 e: 2^(e - 128) * twice the E2M1 value; a product below
                       the normal range of f32 may read as 0 */
    KS_GPU_K2,      /* 256: 84 bytes (scale and min nibbles 16, 2-bit q 64, half d, half dmin) */
    KS_GPU_K3,      /* 256: 108 bytes (high bits 32, 2-bit q 64, 6-bit scales 12) | half d */
    KS_GPU_K4,      /* 256: 144 bytes (half d, half dmin, 6-bit scales and mins 12, 4-bit q 128) */
    KS_GPU_K5,      /* 256: 176 bytes (as K4, with high bits 32 before the q) */
    KS_GPU_K6,      /* 256: 208 bytes (4-bit q 128, 2-bit high parts 64, int8 scales 16) | half d */
    KS_GPU_LEVELS4_K, /* 256: 136 bytes (half d, 2-bit and 4-bit parts of scales 2 + 4, q 128) */
    KS_GPU_LAYOUTS,
};

#define KS_GPU_MAX_PARTS 3

struct ks_gpu_layout_info {
    const char *name;
    uint32_t block_elems;
    uint32_t part_bytes[KS_GPU_MAX_PARTS]; /* of a block; 0 past the last part */
};
const struct ks_gpu_layout_info *ks_gpu_layout_info(enum ks_gpu_layout layout);

/*
 * A matrix without contents yet: memory for rows x cols in shards of whole rows that each fit the
 * device's limits. cols is a whole number of blocks.
 */
struct ks_gpu_weight *ks_gpu_weight_create(struct ks_gpu *gpu, enum ks_gpu_layout layout,
                                           uint64_t rows, uint64_t cols, struct ks_error *err);
/* Appends n rows. parts[i]: n * (cols / block_elems) * part_bytes[i] bytes, borrowed for the call.
 * All rows must be there before the first product. */
int ks_gpu_weight_append(struct ks_gpu_weight *w, uint64_t n,
                         const void *const parts[KS_GPU_MAX_PARTS], struct ks_error *err);
void ks_gpu_weight_destroy(struct ks_gpu_weight *w);
/* On the device; with what products keep of it from the first on, where an eighth of the device's
 * memory allows: KS_GPU_MATRIX a byte and up to a half for each element, KS_GPU_MANY, of so many
 * positions that it decodes the weight before, four. */
uint64_t ks_gpu_weight_bytes(const struct ks_gpu_weight *w);
size_t ks_gpu_weight_shards(const struct ks_gpu_weight *w);

/* ------------------------------------------------------------------ products */

enum ks_gpu_path {
    KS_GPU_FEW,    /* reads the packed weight once for every 1 to 8 positions */
    KS_GPU_MANY,   /* f32 in tiles of 64 x 128, the weight unpacked on the way or before */
    KS_GPU_MATRIX, /* cooperative matrices of f16, x in two halves; not on every device, not for
                      F32, and cols is a multiple of 32 */
    KS_GPU_PATHS,
};
/* "few rows", "many rows", "matrix cores" */
const char *ks_gpu_path_name(enum ks_gpu_path path);
/* Whether the device has that path for a layout of so many columns. Few and many rows always. */
bool ks_gpu_path_available(const struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                           enum ks_gpu_path path);

#define KS_GPU_MAX_POSITIONS 512

/* Room for (positions, rows) logits, 1 <= positions <= KS_GPU_MAX_POSITIONS. */
struct ks_gpu_tile *ks_gpu_tile_create(struct ks_gpu *gpu, size_t positions, uint64_t rows,
                                       struct ks_error *err);
void ks_gpu_tile_destroy(struct ks_gpu_tile *tile);

/*
 * y(m, rows of w) = x(m, cols) * W^T, 1 <= m <= the tile's positions. x is borrowed for the call;
 * what is still computing when it returns is waited for by whoever reads the tile. A failure leaves
 * the tile's contents undefined. KS_UNSUPPORTED where the path is not available.
 *
 * The first product of a path with a layout and width makes its pipelines and lets the device prove
 * itself on a small one: KS_UNSUPPORTED where an answer is wrong, and the path must not be used.
 */
int ks_gpu_matmul(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                  struct ks_gpu_tile *y, struct ks_error *err);

/* Begins to make, on threads, the pipelines of a path that is available for a layout and width, so
 * that those of several layouts are made side by side; without, each waits for its first product.
 * It proves nothing: that is left to the first product. What can't be made is found there, too; an
 * error here is lack of memory or of the device. */
int ks_gpu_prepare(struct ks_gpu *gpu, enum ks_gpu_layout layout, uint64_t cols,
                   enum ks_gpu_path path, struct ks_error *err);

/*
 * The same product over and over, x having crossed once: for measuring what the device does without
 * what submitting costs.
 */
int ks_gpu_matmul_again(struct ks_gpu_weight *w, enum ks_gpu_path path, const float *x, size_t m,
                        struct ks_gpu_tile *y, unsigned times, struct ks_error *err);

/* out(n, rows) = positions first .. first + n - 1 of the tile. */
int ks_gpu_tile_read(struct ks_gpu_tile *tile, size_t first, size_t n, float *out,
                     struct ks_error *err);

/* ------------------------------------------------------------------ statistics */

/*
 * Sums over rows of logits of two tiles that stay on the device. f32 with two-float sums; the
 * caller finishes them in f64. Bits depend on the rows and on top alone: not on the number of
 * positions, the place among them or how tiles are cut. Logits are ordered by value, both zeros
 * being one, ties to the lowest index.
 *
 * Comparisons are queued behind the products that make their rows, and collected in their order:
 * only collecting waits. So the device goes on while the host finishes what it has collected, and
 * a tile may be filled anew as soon as its comparison is queued.
 */
#define KS_GPU_MAX_TOP 32

enum ks_gpu_row_flag {
    KS_GPU_ROW_NONFINITE = 1, /* NaN or +inf in it */
    KS_GPU_ROW_UNEVEN = 2,    /* an index where the reference or the arm has -inf, not both */
    KS_GPU_ROW_RANGE = 4,     /* too large or too far apart for f32: the sums mean nothing */
};

/* Of one row. Where it is flagged as not finite, the flag alone means something. */
struct ks_gpu_peaks {
    uint32_t flags;
    float max;       /* -inf where all of the row is */
    float target;    /* the target's logit */
    uint32_t before; /* indices that come before the target */
    uint32_t n_top;  /* min(top, rows) */
    uint32_t top[KS_GPU_MAX_TOP];
};

/* With x = r - base. */
struct ks_gpu_reference_row {
    struct ks_gpu_peaks peaks;
    float base;   /* close to max */
    double exp;   /* sum e^x */
    double exp_x; /* sum e^x x */
};

/*
 * With d = (a - r) - shift, where shift is close to the typical a - r; S the reference's sum e^x.
 * ln sum p e^d = ln(1 + more / S); equal rows have shift and sums of exactly 0. Formulas of
 * Kullback-Leibler divergences without cancellation: engine/head/finish.h.
 */
struct ks_gpu_arm_row {
    struct ks_gpu_peaks peaks; /* of the arm */
    float shift;
    double d;    /* sum e^x d */
    double more; /* sum e^x (e^d - 1) */
    double psi;  /* sum e^x (e^d (d - 1) + 1) */
};

#define KS_GPU_AHEAD 4 /* comparisons that may wait to be collected */

/* For tiles of so many rows (the vocabulary) and up to so many positions; 1 <= top <=
 * KS_GPU_MAX_TOP. The first on a device begins to make its pipelines, on threads. */
struct ks_gpu_ruler *ks_gpu_ruler_create(struct ks_gpu *gpu, size_t positions, uint64_t rows,
                                         uint32_t top, struct ks_error *err);
void ks_gpu_ruler_destroy(struct ks_gpu_ruler *ruler);

/* From now on arms are compared with the first m positions of that tile. targets(m): indices below
 * rows; copied. The first on a device lets it prove itself against the CPU twin, bit for bit:
 * KS_UNSUPPORTED where it fails. */
int ks_gpu_ruler_reference(struct ks_gpu_ruler *ruler, struct ks_gpu_tile *reference,
                           const uint32_t *targets, size_t m, struct ks_error *err);
/* Queues the comparison of as many positions of an arm's tile, which may be the reference's own.
 * The first with a reference measures the reference, too. */
int ks_gpu_ruler_arm(struct ks_gpu_ruler *ruler, struct ks_gpu_tile *arm, struct ks_error *err);
/* The same over and over, for measuring; collected once. */
int ks_gpu_ruler_arm_again(struct ks_gpu_ruler *ruler, struct ks_gpu_tile *arm, unsigned times,
                           struct ks_error *err);
/* Waits for the oldest comparison that was not collected: arm(m), and reference(m) where it was the
 * first with its reference; else that stays untouched. */
int ks_gpu_ruler_collect(struct ks_gpu_ruler *ruler, struct ks_gpu_reference_row *reference,
                         struct ks_gpu_arm_row *arm, struct ks_error *err);

/* Part of every device's first ks_gpu_ruler_reference. */
int ks_gpu_ruler_self_test(struct ks_gpu *gpu, struct ks_error *err);

#endif
