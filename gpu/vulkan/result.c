/*
 * VkResults in words, and the seam where tests make them happen.
 */
#include "gpu/vulkan/device.h"

#define NAME(result)                                                                               \
    case result:                                                                                   \
        return #result

const char *ks_vk_result_name(VkResult result)
{
    switch (result) {
        NAME(VK_SUCCESS);
        NAME(VK_NOT_READY);
        NAME(VK_TIMEOUT);
        NAME(VK_INCOMPLETE);
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        NAME(VK_ERROR_INITIALIZATION_FAILED);
        NAME(VK_ERROR_DEVICE_LOST);
        NAME(VK_ERROR_MEMORY_MAP_FAILED);
        NAME(VK_ERROR_LAYER_NOT_PRESENT);
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
        NAME(VK_ERROR_FEATURE_NOT_PRESENT);
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
        NAME(VK_ERROR_TOO_MANY_OBJECTS);
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
        NAME(VK_ERROR_FRAGMENTATION);
        NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
        NAME(VK_ERROR_INVALID_SHADER_NV);
    default:
        return "an unknown VkResult";
    }
}

static enum ks_code code_of(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return KS_NO_MEMORY;
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return KS_UNSUPPORTED;
    default:
        return KS_SYSTEM;
    }
}

int ks_vk_fail(struct ks_gpu *gpu, VkResult result, const char *call, const char *what,
               struct ks_error *err)
{
    if (gpu && result == VK_ERROR_DEVICE_LOST)
        gpu->lost = true;
    return ks_fail(err, code_of(result), "%s: %s returned %s (%d) for %s",
                   gpu ? gpu->info.name : "Vulkan", call, ks_vk_result_name(result), (int)result,
                   what);
}

bool ks_vk_fault(struct ks_gpu *gpu, enum ks_gpu_fault fault)
{
    if (gpu->testing.fault != fault)
        return false;
    if (gpu->testing.after > 0) {
        gpu->testing.after--;
        return false;
    }
    gpu->testing.fault = KS_GPU_FAULT_NONE;
    return true;
}

void ks_gpu_inject(struct ks_gpu *gpu, enum ks_gpu_fault fault, unsigned after)
{
    gpu->testing.fault = fault;
    gpu->testing.after = after;
}
