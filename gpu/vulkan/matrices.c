/*
 * Whether a device multiplies 16 x 16 matrices the way the shaders of KS_GPU_MATRIX ask it to.
 */
#include "gpu/vulkan/khr.h"

#include <stdlib.h>

#include "gpu/vulkan/device.h"

enum {
    SIDE = 16,
    SUBGROUP = 32, /* as the shaders count on */
};

static bool has_features(VkPhysicalDevice physical)
{
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
        .sType = (VkStructureType)VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
    };
    VkPhysicalDeviceVulkan12Features vulkan12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &matrices,
    };
    VkPhysicalDeviceFeatures2 f = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &vulkan12,
    };
    vkGetPhysicalDeviceFeatures2(physical, &f);
    return matrices.cooperativeMatrix && vulkan12.vulkanMemoryModel && vulkan12.shaderFloat16;
}

/* The shaders' subgroups are what a work-group's threads fall into, 32 each. */
static bool has_subgroups(VkPhysicalDevice physical)
{
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
    };
    VkPhysicalDeviceProperties2 p = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &sizes,
    };
    vkGetPhysicalDeviceProperties2(physical, &p);
    return sizes.minSubgroupSize == SUBGROUP && sizes.maxSubgroupSize == SUBGROUP;
}

static bool is_ours(const VkCooperativeMatrixPropertiesKHR *p)
{
    return p->MSize == SIDE && p->NSize == SIDE && p->KSize == SIDE &&
           p->AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p->BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
           p->CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
           p->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && p->scope == VK_SCOPE_SUBGROUP_KHR;
}

static bool has_shape(VkInstance instance, VkPhysicalDevice physical)
{
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(void (*)(void))
            vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = 0;
    if (!get || get(physical, &n, NULL) != VK_SUCCESS)
        return false;
    VkCooperativeMatrixPropertiesKHR *shapes = calloc(n ? n : 1, sizeof *shapes);
    for (uint32_t i = 0; shapes && i < n; i++)
        shapes[i].sType = (VkStructureType)VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    bool found = false;
    if (shapes && get(physical, &n, shapes) == VK_SUCCESS)
        for (uint32_t i = 0; i < n; i++)
            found = found || is_ours(&shapes[i]);
    free(shapes);
    return found;
}

bool ks_vk_has_matrices(VkInstance instance, VkPhysicalDevice physical)
{
    return has_features(physical) && has_subgroups(physical) && has_shape(instance, physical);
}
