/*
 * The Vulkan instance: one for every list and every open device, with the validation layers where a
 * test listens.
 */
#include "gpu/vulkan/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity, (void)types;
    const struct ks_gpu_testing *testing = user;
    testing->message(testing->ctx, data->pMessage);
    return VK_FALSE;
}

static const VkValidationFeatureEnableEXT validate_all[] = {
    VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
};
static const char *const validation_layer[] = {"VK_LAYER_KHRONOS_validation"};
static const char *const debug_extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                               VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};

static VkDebugUtilsMessengerCreateInfoEXT listener(const struct ks_gpu_testing *testing)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = (void *)testing,
    };
}

static int create_messenger(VkInstance instance, const struct ks_gpu_testing *testing,
                            VkDebugUtilsMessengerEXT *messenger, struct ks_error *err)
{
    PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)(void (*)(
        void))vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerCreateInfoEXT info = listener(testing);
    VkResult result =
        create ? create(instance, &info, NULL, messenger) : VK_ERROR_EXTENSION_NOT_PRESENT;
    if (result != VK_SUCCESS)
        return ks_vk_fail(NULL, result, "vkCreateDebugUtilsMessengerEXT", "the listener", err);
    return 0;
}

/* Loaders answer a driver's file that they can't read with any code, lack of memory for one. */
static int fail_to_create(VkResult result, struct ks_error *err)
{
    const char *named = ks_gpu_named_drivers();
    char advice[64];
    snprintf(advice, sizeof advice, "look at the files that %s names", named ? named : "");
    ks_vk_fail(NULL, result, "vkCreateInstance", "Vulkan 1.2", err);
    return named ? ks_fail_advice(err, advice) : -1;
}

/* Where nobody listens, testing is NULL. */
static VkResult create_instance(const struct ks_gpu_testing *testing, VkInstance *instance)
{
    VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "kldscope",
        .apiVersion = VK_API_VERSION_1_2,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app,
    };
    VkDebugUtilsMessengerCreateInfoEXT messages;
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messages,
        .enabledValidationFeatureCount = sizeof validate_all / sizeof *validate_all,
        .pEnabledValidationFeatures = validate_all,
    };
    if (testing) {
        messages = listener(testing); /* for creating and destroying the instance itself */
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = validation_layer;
        info.enabledExtensionCount = 2;
        info.ppEnabledExtensionNames = debug_extensions;
    }
    return vkCreateInstance(&info, NULL, instance);
}

int ks_vk_instance_create(const struct ks_gpu_testing *testing, VkInstance *instance,
                          VkDebugUtilsMessengerEXT *messenger, struct ks_error *err)
{
    bool listen = testing && testing->message;
    *instance = VK_NULL_HANDLE;
    *messenger = VK_NULL_HANDLE;
    VkResult result = create_instance(listen ? testing : NULL, instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return 0;
    if (result != VK_SUCCESS)
        return fail_to_create(result, err);
    if (listen && create_messenger(*instance, testing, messenger, err) != 0) {
        vkDestroyInstance(*instance, NULL);
        *instance = VK_NULL_HANDLE;
        return -1;
    }
    return 0;
}

void ks_vk_instance_destroy(VkInstance instance, VkDebugUtilsMessengerEXT messenger)
{
    if (!instance)
        return;
    if (messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)(void (*)(void))vkGetInstanceProcAddr(
                instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(instance, messenger, NULL);
    }
    vkDestroyInstance(instance, NULL);
}

static int enumerate(VkInstance instance, VkPhysicalDevice **physical, uint32_t *n,
                     struct ks_error *err)
{
    VkResult result = vkEnumeratePhysicalDevices(instance, n, NULL);
    if (result != VK_SUCCESS)
        return ks_vk_fail(NULL, result, "vkEnumeratePhysicalDevices", "their number", err);
    *physical = calloc(*n ? *n : 1, sizeof **physical);
    if (!*physical)
        return ks_fail_memory(err, *n * sizeof **physical, "the list of GPUs");
    result = vkEnumeratePhysicalDevices(instance, n, *physical);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        free(*physical);
        return ks_vk_fail(NULL, result, "vkEnumeratePhysicalDevices", "the list", err);
    }
    return 0;
}

int ks_vk_devices(VkInstance instance, VkPhysicalDevice **physical, struct ks_gpu_info **devices,
                  size_t *n, struct ks_error *err)
{
    uint32_t found = 0;
    VkPhysicalDevice *handles = NULL;
    if (instance && enumerate(instance, &handles, &found, err) != 0)
        return -1;
    struct ks_gpu_info *infos = calloc(found ? found : 1, sizeof *infos);
    if (!infos) {
        free(handles);
        return ks_fail_memory(err, found * sizeof *infos, "the list of GPUs");
    }
    for (uint32_t i = 0; i < found; i++)
        ks_vk_describe(instance, handles[i], &infos[i]);
    *physical = handles;
    *devices = infos;
    *n = found;
    return 0;
}

int ks_gpu_list(struct ks_gpu_info **devices, size_t *n, struct ks_error *err)
{
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    if (ks_vk_instance_create(NULL, &instance, &messenger, err) != 0)
        return -1;
    VkPhysicalDevice *physical = NULL;
    int failed = ks_vk_devices(instance, &physical, devices, n, err);
    free(physical);
    ks_vk_instance_destroy(instance, messenger);
    return failed;
}
