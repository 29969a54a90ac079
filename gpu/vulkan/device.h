/*
 * An open device from the inside. Private to gpu/.
 *
 * Work goes through slots: each has a command buffer, descriptor sets and a staging buffer, and is
 * used again once the timeline has passed the value of its last submission, so that slots are
 * filled while others compute. Two would do for long work; products of some microseconds need more
 * of them waiting, or the device stands still while the host wakes up.
 *
 * Functions return 0 or -1 with *err filled. Handles of a failed creation are null, and every
 * destroy function accepts them.
 */
#ifndef KS_GPU_VULKAN_DEVICE_H
#define KS_GPU_VULKAN_DEVICE_H

#include <vulkan/vulkan.h>

#include "gpu/fault.h"
#include "gpu/gpu.h"

#define KS_VK_SLOTS      4
#define KS_VK_SETS       256 /* of a slot, between two submissions */
#define KS_VK_BINDINGS   6   /* every set has as many storage buffers */
#define KS_VK_PUSH_BYTES 64
#define KS_VK_STAGE      ((VkDeviceSize)8 << 20)

/* ------------------------------------------------------------------ memory */

enum ks_vk_use {
    KS_VK_ON_DEVICE, /* shaders work on it; mapped only where that costs nothing */
    KS_VK_STAGING,   /* the host writes and reads it */
};

struct ks_vk_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize bytes;
    void *mapped; /* coherent, for the buffer's life; or NULL */
};

/* what: for messages, "a shard of the weight". bytes is rounded up to a multiple of 16; on the
 * device it is at most gpu->max_bytes. */
int ks_vk_buffer_create(struct ks_gpu *gpu, enum ks_vk_use use, VkDeviceSize bytes,
                        const char *what, struct ks_vk_buffer *out, struct ks_error *err);
void ks_vk_buffer_destroy(struct ks_gpu *gpu, struct ks_vk_buffer *buffer);
/* At least that many bytes; waits for the device where it has to grow, and the contents are lost.
 */
int ks_vk_buffer_reserve(struct ks_gpu *gpu, enum ks_vk_use use, VkDeviceSize bytes,
                         const char *what, struct ks_vk_buffer *buffer, struct ks_error *err);
/* Host to device and back, through staging where the buffer is not mapped. The read waits for the
 * timeline to reach `ready`. */
int ks_vk_buffer_write(struct ks_gpu *gpu, struct ks_vk_buffer *buffer, VkDeviceSize offset,
                       const void *bytes, VkDeviceSize n, struct ks_error *err);
int ks_vk_buffer_read(struct ks_gpu *gpu, const struct ks_vk_buffer *buffer, VkDeviceSize offset,
                      void *bytes, VkDeviceSize n, uint64_t ready, struct ks_error *err);

/* ------------------------------------------------------------------ shaders */

enum ks_vk_shader {
    KS_VK_FEW,    /* of a layout */
    KS_VK_PACKED, /* of a layout */
    KS_VK_DECODE, /* of a layout */
    KS_VK_GRAINS, /* of a layout, but for F32 */
    KS_VK_TURN,
    KS_VK_MANY,
    KS_VK_HALVES,
    KS_VK_AIM,
    KS_VK_COMPARE,
    KS_VK_TOTAL,
    KS_VK_LIMIT,
    KS_VK_MAXIMA,
    KS_VK_SPLIT,
    KS_VK_LANES,  /* where the device has matrix cores */
    KS_VK_MATRIX, /* where the device has matrix cores */
    KS_VK_MATRIX_HALVES,
    KS_VK_SHADERS,
};

struct ks_vk_code {
    const uint32_t *words;
    size_t bytes;
};
struct ks_vk_code ks_vk_shader_code(enum ks_vk_shader shader, enum ks_gpu_layout layout);
/* Of all shaders together, to tell caches apart. */
struct ks_hash ks_vk_shaders_hash(void);

#define KS_VK_CONSTANTS 8

/* What a pipeline is made from: specialization constants 0 .. KS_VK_CONSTANTS - 1. layout is 0 for
 * shaders that know none. */
struct ks_vk_pipeline_key {
    enum ks_vk_shader shader;
    enum ks_gpu_layout layout;
    uint32_t constants[KS_VK_CONSTANTS];
};

/* Made at first use and kept by the device. */
int ks_vk_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key, VkPipeline *out,
                   struct ks_error *err);

/*
 * Compilers take their time, and one thread each: work that is about to come for the first time is
 * gone through once as a rehearsal, in which dispatches are noted and not recorded. When it ends,
 * the pipelines that are missing are begun, side by side; whoever needs one waits for it. Every
 * rehearsal is ended, after failures too.
 */
void ks_vk_rehearse(struct ks_gpu *gpu);
bool ks_vk_rehearsing(const struct ks_gpu *gpu);
int ks_vk_note_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key,
                        struct ks_error *err);
void ks_vk_end_rehearsal(struct ks_gpu *gpu);

int ks_vk_pipelines_init(struct ks_gpu *gpu, struct ks_error *err);
void ks_vk_pipelines_finish(struct ks_gpu *gpu);

/* The driver's compiled pipelines on disk; never an error. */
VkPipelineCache ks_vk_cache_load(struct ks_gpu *gpu);
void ks_vk_cache_save(struct ks_gpu *gpu);

/* ------------------------------------------------------------------ submitting */

struct ks_vk_slot {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkDescriptorPool sets;
    struct ks_vk_buffer stage;
    uint64_t done;       /* timeline value of its last submission */
    uint32_t n_sets;     /* taken since it was begun */
    VkDeviceSize staged; /* bytes of the stage that copies of this recording read */
    double flops;        /* recorded */
    /* What the last dispatch since it was begun has bound; null before it. */
    VkPipeline pipeline;
    VkBuffer buffers[KS_VK_BINDINGS];
};

int ks_vk_slots_init(struct ks_gpu *gpu, struct ks_error *err);
void ks_vk_slots_finish(struct ks_gpu *gpu);

/* The next slot, waited for and recording, behind a barrier against all earlier work. */
int ks_vk_begin(struct ks_gpu *gpu, struct ks_vk_slot **out, struct ks_error *err);
/* Ends and submits it; slot->done and gpu->submitted are its value. */
int ks_vk_submit(struct ks_gpu *gpu, struct ks_vk_slot *slot, struct ks_error *err);
int ks_vk_wait(struct ks_gpu *gpu, uint64_t value, struct ks_error *err);
/* Between commands of a slot: all that was written before is seen by all that comes after. */
void ks_vk_barrier(struct ks_vk_slot *slot);

struct ks_vk_dispatch {
    struct ks_vk_pipeline_key key;
    const struct ks_vk_buffer *buffers[KS_VK_BINDINGS]; /* NULL: the first once more */
    const void *push;                                   /* NULL where push_bytes is 0 */
    uint32_t push_bytes;
    uint32_t groups[3];
    double flops; /* rough cost, against watchdogs */
};
/* Records it, after submitting *slot and taking the next where the slot holds enough already. */
int ks_vk_dispatch(struct ks_gpu *gpu, struct ks_vk_slot **slot, const struct ks_vk_dispatch *d,
                   struct ks_error *err);

/* Records copies of host memory into a buffer by way of the slot's stage, submitting and going on
 * in the next slot where one does not hold it all. */
int ks_vk_copy_in(struct ks_gpu *gpu, struct ks_vk_slot **slot, struct ks_vk_buffer *buffer,
                  VkDeviceSize offset, const void *bytes, VkDeviceSize n, struct ks_error *err);

/* ------------------------------------------------------------------ the device */

struct ks_vk_pipelines {
    struct ks_vk_made_pipeline **made; /* (n) */
    size_t n;
    struct ks_vk_pipeline_key *noted; /* (n_noted) of a rehearsal */
    size_t n_noted;
    bool rehearsing;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    size_t cache_bytes; /* as loaded */
};

/* A path with a layout and a width that has passed the self-test. */
struct ks_gpu_proof {
    enum ks_gpu_layout layout;
    enum ks_gpu_path path;
    uint64_t cols;
};

struct ks_gpu {
    struct ks_gpu_testing testing;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory;
    uint8_t cache_uuid[VK_UUID_SIZE];
    struct ks_gpu_info info;

    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkSemaphore timeline;
    uint64_t submitted;
    bool lost;

    struct ks_vk_slot slots[KS_VK_SLOTS];
    size_t next_slot;
    struct ks_vk_pipelines pipelines;

    /* Limits as they are obeyed: of a binding and an allocation, of work between submissions, of
     * a decoded piece of a weight. */
    VkDeviceSize max_bytes;
    double flops_per_submit;
    VkDeviceSize scratch_bytes;
    size_t worth_decoding; /* positions from which on the weight is decoded for many rows */

    /* Working memory of products, grown at need. */
    struct ks_vk_buffer x, turned;
    struct ks_vk_buffer scratch[2]; /* decoded pieces: one is filled while the other is used */
    struct ks_vk_buffer factors;    /* of rows of x in halves */

    /* How subgroups hold matrices (gpu/head/path/matrix.h), once a product has found it; and memory
     * for weights taken apart. */
    struct ks_vk_buffer lanes;
    bool knows_lanes;
    VkDeviceSize kept_bytes;

    /* Whether the driver's conversion of halves was found to be exact; not before it was tried. */
    bool tried_halves, exact_halves;

    struct ks_gpu_proof *proved; /* (n_proved) */
    size_t n_proved;
    bool rehearsed_ruler, proved_ruler;
};

/* ------------------------------------------------------------------ instances and lists */

/* NULL handle and success where there is no driver. message, ctx: as in ks_gpu_testing. */
int ks_vk_instance_create(const struct ks_gpu_testing *testing, VkInstance *instance,
                          VkDebugUtilsMessengerEXT *messenger, struct ks_error *err);
void ks_vk_instance_destroy(VkInstance instance, VkDebugUtilsMessengerEXT messenger);
/* Of an instance, in the loader's order: *physical and *devices (n), the caller's to free(). */
int ks_vk_devices(VkInstance instance, VkPhysicalDevice **physical, struct ks_gpu_info **devices,
                  size_t *n, struct ks_error *err);
void ks_vk_describe(VkInstance instance, VkPhysicalDevice physical, struct ks_gpu_info *info);
/* Of a device that has the extension: whether it has the rest of what KS_GPU_MATRIX needs. */
bool ks_vk_has_matrices(VkInstance instance, VkPhysicalDevice physical);

/* ------------------------------------------------------------------ results */

/* "VK_ERROR_DEVICE_LOST" */
const char *ks_vk_result_name(VkResult result);
/* -1 with "CALL returned RESULT: what". Notes a lost device. gpu may be NULL. */
int ks_vk_fail(struct ks_gpu *gpu, VkResult result, const char *call, const char *what,
               struct ks_error *err);
/* Whether the armed fault is that one and its turn has come; it is spent then. */
bool ks_vk_fault(struct ks_gpu *gpu, enum ks_gpu_fault fault);

#endif
