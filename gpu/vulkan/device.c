/*
 * Opening and closing a device.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/vulkan/device.h"
#include "gpu/vulkan/khr.h"

/* Shaders index words with 32 bits; and shards that large cost nothing more. */
static const VkDeviceSize most_bytes = (VkDeviceSize)1 << 30;

/* Of a decoded piece, of which there are two: large enough to fill any device that has such memory,
 * small beside its memory. */
static const VkDeviceSize scratch_least = (VkDeviceSize)64 << 20;
static const VkDeviceSize scratch_most = (VkDeviceSize)256 << 20;
enum { SCRATCH_SHARE = 64 }; /* of the device's memory */

/* Where as many positions share the decoding, it costs less than unpacking for every 64 of them. */
enum { WORTH_DECODING = 193 };

/* What the slowest device of a kind does in well under 100 ms. */
static double flops_of_kind(enum ks_gpu_kind kind)
{
    switch (kind) {
    case KS_GPU_KIND_DISCRETE:
        return 1e11;
    case KS_GPU_KIND_CPU:
        return 5e8;
    default:
        return 5e9;
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static VkDeviceSize scratch_of(const struct ks_gpu *gpu)
{
    VkDeviceSize share = gpu->info.memory_bytes / SCRATCH_SHARE;
    if (gpu->testing.scratch_bytes)
        return gpu->testing.scratch_bytes;
    return share < scratch_least ? scratch_least : least(share, scratch_most);
}

static void set_limits(struct ks_gpu *gpu)
{
    const struct ks_gpu_testing *t = &gpu->testing;
    if (t->max_binding_bytes)
        gpu->info.max_binding_bytes = least(gpu->info.max_binding_bytes, t->max_binding_bytes);
    if (t->max_allocation_bytes)
        gpu->info.max_allocation_bytes =
            least(gpu->info.max_allocation_bytes, t->max_allocation_bytes);
    gpu->max_bytes =
        least(most_bytes, least(gpu->info.max_binding_bytes, gpu->info.max_allocation_bytes));
    gpu->max_bytes &= ~(VkDeviceSize)15;
    gpu->scratch_bytes = least(scratch_of(gpu), gpu->max_bytes);
    gpu->worth_decoding = t->worth_decoding ? t->worth_decoding : WORTH_DECODING;
    gpu->flops_per_submit =
        t->flops_per_submit > 0 ? t->flops_per_submit : flops_of_kind(gpu->info.kind);
}

static int choose(struct ks_gpu *gpu, const char *which, struct ks_error *err)
{
    VkPhysicalDevice *physical = NULL;
    struct ks_gpu_info *devices = NULL;
    size_t n, index;
    if (ks_vk_devices(gpu->instance, &physical, &devices, &n, err) != 0)
        return -1;
    int failed = ks_gpu_choose(devices, n, which, &index, err);
    if (!failed) {
        gpu->physical = physical[index];
        gpu->info = devices[index];
        VkPhysicalDeviceProperties p;
        vkGetPhysicalDeviceProperties(gpu->physical, &p);
        memcpy(gpu->cache_uuid, p.pipelineCacheUUID, VK_UUID_SIZE);
        vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
        set_limits(gpu);
    }
    free(physical);
    free(devices);
    return failed;
}

static uint32_t compute_family(VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, families);
    for (uint32_t i = 0; i < n; i++)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return i;
    return 0; /* describe.c has seen one */
}

static const char *const matrix_extension[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};

/* What is asked of a device, in a chain; not to be copied. */
struct features {
    VkPhysicalDeviceFeatures2 all;
    VkPhysicalDeviceVulkan11Features vulkan11;
    VkPhysicalDeviceVulkan12Features vulkan12;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices;
};

static void ask_for(const struct ks_gpu_info *has, struct features *f)
{
    f->matrices = (VkPhysicalDeviceCooperativeMatrixFeaturesKHR){
        .sType = (VkStructureType)VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
        .cooperativeMatrix = VK_TRUE,
    };
    f->vulkan12 = (VkPhysicalDeviceVulkan12Features){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = has->matrix_cores ? &f->matrices : NULL,
        .timelineSemaphore = VK_TRUE,
        .storageBuffer8BitAccess = has->storage_8bit,
        .shaderFloat16 = has->f16,
        .shaderInt8 = has->int8,
        .vulkanMemoryModel = has->matrix_cores,
    };
    f->vulkan11 = (VkPhysicalDeviceVulkan11Features){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &f->vulkan12,
        .storageBuffer16BitAccess = has->storage_16bit,
    };
    f->all = (VkPhysicalDeviceFeatures2){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &f->vulkan11,
        .features = {.shaderInt64 = has->int64},
    };
}

static int create_device(struct ks_gpu *gpu, struct ks_error *err)
{
    float priority = 1;
    struct features features;
    gpu->family = compute_family(gpu->physical);
    ask_for(&gpu->info, &features);
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = gpu->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features.all,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = gpu->info.matrix_cores,
        .ppEnabledExtensionNames = matrix_extension,
    };
    VkResult result = vkCreateDevice(gpu->physical, &info, NULL, &gpu->device);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateDevice", "one compute queue", err);
    vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
    return 0;
}

static int open_into(struct ks_gpu *gpu, const char *which, struct ks_error *err)
{
    if (ks_vk_instance_create(&gpu->testing, &gpu->instance, &gpu->messenger, err) != 0 ||
        choose(gpu, which, err) != 0 || create_device(gpu, err) != 0 ||
        ks_vk_pipelines_init(gpu, err) != 0)
        return -1;
    return ks_vk_slots_init(gpu, err);
}

struct ks_gpu *ks_gpu_open_testing(const char *which, const struct ks_gpu_testing *testing,
                                   struct ks_error *err)
{
    struct ks_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) {
        ks_fail_memory(err, sizeof *gpu, "a GPU");
        return NULL;
    }
    if (testing)
        gpu->testing = *testing;
    if (open_into(gpu, which, err) != 0) {
        ks_gpu_close(gpu);
        return NULL;
    }
    return gpu;
}

struct ks_gpu *ks_gpu_open(const char *which, struct ks_error *err)
{
    return ks_gpu_open_testing(which, NULL, err);
}

static void close_device(struct ks_gpu *gpu)
{
    vkDeviceWaitIdle(gpu->device); /* also after a loss: then it returns at once */
    ks_vk_buffer_destroy(gpu, &gpu->x);
    ks_vk_buffer_destroy(gpu, &gpu->turned);
    ks_vk_buffer_destroy(gpu, &gpu->scratch[0]);
    ks_vk_buffer_destroy(gpu, &gpu->scratch[1]);
    ks_vk_buffer_destroy(gpu, &gpu->factors);
    ks_vk_buffer_destroy(gpu, &gpu->lanes);
    ks_vk_slots_finish(gpu);
    ks_vk_pipelines_finish(gpu);
    vkDestroyDevice(gpu->device, NULL);
}

void ks_gpu_close(struct ks_gpu *gpu)
{
    if (!gpu)
        return;
    if (gpu->device)
        close_device(gpu);
    ks_vk_instance_destroy(gpu->instance, gpu->messenger);
    free(gpu->proved);
    free(gpu);
}

const struct ks_gpu_info *ks_gpu_info(const struct ks_gpu *gpu)
{
    return &gpu->info;
}

bool ks_gpu_lost(const struct ks_gpu *gpu)
{
    return gpu->lost;
}
