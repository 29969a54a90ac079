/*
 * Compute pipelines, made at first use. All share one layout: six storage buffers and 64 bytes of
 * push constants.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/vulkan/device.h"

struct ks_vk_made_pipeline {
    struct ks_vk_pipeline_key key;
    VkPipeline pipeline;
};

static int create_layouts(struct ks_gpu *gpu, struct ks_error *err)
{
    VkDescriptorSetLayoutBinding bindings[KS_VK_BINDINGS];
    for (uint32_t i = 0; i < KS_VK_BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = KS_VK_BINDINGS,
        .pBindings = bindings,
    };
    struct ks_vk_pipelines *p = &gpu->pipelines;
    VkResult result = vkCreateDescriptorSetLayout(gpu->device, &set, NULL, &p->set_layout);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateDescriptorSetLayout", "all shaders", err);
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, KS_VK_PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &p->set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    result = vkCreatePipelineLayout(gpu->device, &layout, NULL, &p->layout);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreatePipelineLayout", "all shaders", err);
    return 0;
}

int ks_vk_pipelines_init(struct ks_gpu *gpu, struct ks_error *err)
{
    gpu->pipelines.cache = ks_vk_cache_load(gpu);
    return create_layouts(gpu, err);
}

void ks_vk_pipelines_finish(struct ks_gpu *gpu)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    ks_vk_cache_save(gpu);
    for (size_t i = 0; i < p->n; i++)
        vkDestroyPipeline(gpu->device, p->made[i].pipeline, NULL);
    free(p->made);
    vkDestroyPipelineLayout(gpu->device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, p->set_layout, NULL);
    vkDestroyPipelineCache(gpu->device, p->cache, NULL);
}

static int create(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key, VkPipeline *out,
                  struct ks_error *err)
{
    struct ks_vk_code code = ks_vk_shader_code(key->shader, key->layout);
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = code.bytes,
        .pCode = code.words,
    };
    VkShaderModule module;
    VkResult result = vkCreateShaderModule(gpu->device, &module_info, NULL, &module);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateShaderModule", "a shader", err);
    VkSpecializationMapEntry entries[KS_VK_CONSTANTS];
    for (uint32_t i = 0; i < KS_VK_CONSTANTS; i++)
        entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
    VkSpecializationInfo constants = {KS_VK_CONSTANTS, entries, sizeof key->constants,
                                      key->constants};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = gpu->pipelines.layout,
    };
    result = vkCreateComputePipelines(gpu->device, gpu->pipelines.cache, 1, &info, NULL, out);
    vkDestroyShaderModule(gpu->device, module, NULL);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateComputePipelines", "a shader", err);
    return 0;
}

int ks_vk_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key, VkPipeline *out,
                   struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    for (size_t i = 0; i < p->n; i++)
        if (memcmp(&p->made[i].key, key, sizeof *key) == 0) {
            *out = p->made[i].pipeline;
            return 0;
        }
    struct ks_vk_made_pipeline *made = realloc(p->made, (p->n + 1) * sizeof *made);
    if (!made)
        return ks_fail_memory(err, (p->n + 1) * sizeof *made, "GPU pipelines");
    p->made = made;
    made[p->n].key = *key;
    if (create(gpu, key, &made[p->n].pipeline, err) != 0)
        return -1;
    *out = made[p->n++].pipeline;
    return 0;
}
