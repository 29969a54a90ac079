/*
 * What a physical device is and can do.
 */
#include "gpu/vulkan/device.h"
#include "gpu/vulkan/khr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum ks_gpu_kind kind_of(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return KS_GPU_KIND_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return KS_GPU_KIND_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return KS_GPU_KIND_VIRTUAL;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return KS_GPU_KIND_CPU;
    default:
        return KS_GPU_KIND_OTHER;
    }
}

struct extensions {
    VkExtensionProperties *list;
    uint32_t n;
};

/* None where they can't be had: what they would tell is then taken for absent. */
static struct extensions extensions_of(VkPhysicalDevice physical)
{
    struct extensions e = {NULL, 0};
    if (vkEnumerateDeviceExtensionProperties(physical, NULL, &e.n, NULL) != VK_SUCCESS)
        return e;
    e.list = calloc(e.n ? e.n : 1, sizeof *e.list);
    if (!e.list || vkEnumerateDeviceExtensionProperties(physical, NULL, &e.n, e.list) != VK_SUCCESS)
        e.n = 0;
    return e;
}

static bool has(const struct extensions *e, const char *name)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (strcmp(e->list[i].extensionName, name) == 0)
            return true;
    return false;
}

static void hex(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void describe_properties(VkPhysicalDevice physical, const struct extensions *e,
                                struct ks_gpu_info *info)
{
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
    };
    VkPhysicalDeviceVulkan12Properties vulkan12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
    };
    VkPhysicalDeviceVulkan11Properties vulkan11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
        .pNext = &vulkan12,
    };
    if (has(e, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        vulkan12.pNext = &sizes;
    VkPhysicalDeviceProperties2 p = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &vulkan11,
    };
    vkGetPhysicalDeviceProperties2(physical, &p);
    snprintf(info->driver, sizeof info->driver, "%s %s", vulkan12.driverName, vulkan12.driverInfo);
    hex(vulkan11.deviceUUID, VK_UUID_SIZE, info->uuid);
    info->max_binding_bytes = p.properties.limits.maxStorageBufferRange;
    info->max_allocation_bytes = vulkan11.maxMemoryAllocationSize;
    info->max_shared_bytes = p.properties.limits.maxComputeSharedMemorySize;
    info->subgroup_size = sizes.minSubgroupSize ? sizes.minSubgroupSize : vulkan11.subgroupSize;
    info->subgroup_shuffle =
        (vulkan11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) &&
        (vulkan11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
    info->round_to_even = vulkan12.shaderRoundingModeRTEFloat32;
}

static void describe_features(VkPhysicalDevice physical, struct ks_gpu_info *info)
{
    VkPhysicalDeviceVulkan12Features vulkan12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
    };
    VkPhysicalDeviceVulkan11Features vulkan11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &vulkan12,
    };
    VkPhysicalDeviceFeatures2 f = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &vulkan11,
    };
    vkGetPhysicalDeviceFeatures2(physical, &f);
    info->timeline = vulkan12.timelineSemaphore;
    info->storage_16bit = vulkan11.storageBuffer16BitAccess;
    info->storage_8bit = vulkan12.storageBuffer8BitAccess;
    info->f16 = vulkan12.shaderFloat16;
    info->int8 = vulkan12.shaderInt8;
    info->int64 = f.features.shaderInt64;
}

static void describe_memory(VkPhysicalDevice physical, struct ks_gpu_info *info)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
    };
    VkPhysicalDeviceMemoryProperties2 m = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
        .pNext = info->memory_budget ? &budget : NULL,
    };
    vkGetPhysicalDeviceMemoryProperties2(physical, &m);
    for (uint32_t i = 0; i < m.memoryProperties.memoryHeapCount; i++) {
        if (!(m.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
            continue;
        info->memory_bytes += m.memoryProperties.memoryHeaps[i].size;
        if (budget.heapBudget[i] > budget.heapUsage[i])
            info->memory_free_bytes += budget.heapBudget[i] - budget.heapUsage[i];
    }
}

static bool has_compute(VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, families);
    for (uint32_t i = 0; i < n; i++)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return true;
    return false;
}

enum {
    SHARED_NEEDED = 24576,
    SUBGROUP_NEEDED = 4,
};

static void judge(VkPhysicalDevice physical, struct ks_gpu_info *info)
{
    const char *lacks = NULL;
    if (!info->timeline)
        lacks = "timeline semaphores";
    else if (!info->subgroup_shuffle)
        lacks = "subgroup shuffles in compute shaders";
    else if (info->subgroup_size < SUBGROUP_NEEDED)
        lacks = "subgroups of 4";
    else if (!info->round_to_even)
        lacks = "a choice of rounding to nearest even";
    else if (info->max_shared_bytes < SHARED_NEEDED)
        lacks = "24 KiB of shared memory";
    else if (!has_compute(physical))
        lacks = "a compute queue";
    if (lacks)
        snprintf(info->why_not, sizeof info->why_not, "it lacks %s", lacks);
}

void ks_vk_describe(VkInstance instance, VkPhysicalDevice physical, struct ks_gpu_info *info)
{
    VkPhysicalDeviceProperties p;
    vkGetPhysicalDeviceProperties(physical, &p);
    snprintf(info->name, sizeof info->name, "%s", p.deviceName);
    info->kind = kind_of(p.deviceType);
    info->api_major = VK_API_VERSION_MAJOR(p.apiVersion);
    info->api_minor = VK_API_VERSION_MINOR(p.apiVersion);
    if (p.apiVersion < VK_API_VERSION_1_2) {
        snprintf(info->why_not, sizeof info->why_not, "it has Vulkan %u.%u, and 1.2 is needed",
                 info->api_major, info->api_minor);
        return;
    }
    struct extensions e = extensions_of(physical);
    info->memory_budget = has(&e, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    info->cooperative_matrix_nv = has(&e, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    info->cooperative_matrix_khr = has(&e, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    info->matrix_cores = info->cooperative_matrix_khr &&
                         has(&e, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) &&
                         ks_vk_has_matrices(instance, physical);
    describe_properties(physical, &e, info);
    describe_features(physical, info);
    describe_memory(physical, info);
    free(e.list);
    judge(physical, info);
}
