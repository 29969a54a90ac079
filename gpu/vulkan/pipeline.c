/*
 * Compute pipelines, made at first use. All share one layout: six storage buffers and 64 bytes of
 * push constants.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/vulkan/device.h"

struct ks_vk_made_pipeline {
    struct ks_vk_pipeline_key key;
    VkPipeline pipeline;

    /* While it is made elsewhere: */
    struct ks_gpu *gpu;
    bool making;
    pthread_t thread;
    int failed;
    struct ks_error err;
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

static void wait_for(struct ks_vk_made_pipeline *made)
{
    if (made->making)
        pthread_join(made->thread, NULL);
    made->making = false;
}

void ks_vk_pipelines_finish(struct ks_gpu *gpu)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    for (size_t i = 0; i < p->n; i++)
        wait_for(p->made[i]);
    ks_vk_cache_save(gpu);
    for (size_t i = 0; i < p->n; i++) {
        vkDestroyPipeline(gpu->device, p->made[i]->pipeline, NULL);
        free(p->made[i]);
    }
    free(p->made);
    vkDestroyPipelineLayout(gpu->device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, p->set_layout, NULL);
    vkDestroyPipelineCache(gpu->device, p->cache, NULL);
}

/* On any thread: a device that is found lost here is noted by who uses its queue. */
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
        return ks_vk_fail(NULL, result, "vkCreateShaderModule", "a shader", err);
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
        return ks_vk_fail(NULL, result, "vkCreateComputePipelines", "a shader", err);
    return 0;
}

static struct ks_vk_made_pipeline *find(const struct ks_vk_pipelines *p,
                                        const struct ks_vk_pipeline_key *key)
{
    for (size_t i = 0; i < p->n; i++)
        if (memcmp(&p->made[i]->key, key, sizeof *key) == 0)
            return p->made[i];
    return NULL;
}

/* One more, not made yet. */
static struct ks_vk_made_pipeline *append(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key,
                                          struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    struct ks_vk_made_pipeline **grown = realloc(p->made, (p->n + 1) * sizeof(void *));
    if (grown)
        p->made = grown;
    struct ks_vk_made_pipeline *made = grown ? calloc(1, sizeof *made) : NULL;
    if (!made) {
        ks_fail_memory(err, sizeof *made, "a GPU pipeline");
        return NULL;
    }
    made->gpu = gpu;
    made->key = *key;
    return p->made[p->n++] = made;
}

static void take_out(struct ks_vk_pipelines *p, struct ks_vk_made_pipeline *made)
{
    size_t i = 0;
    while (p->made[i] != made)
        i++;
    p->made[i] = p->made[--p->n];
    free(made);
}

static void *make(void *arg)
{
    struct ks_vk_made_pipeline *made = arg;
    made->failed = create(made->gpu, &made->key, &made->pipeline, &made->err);
    return NULL;
}

int ks_vk_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key, VkPipeline *out,
                   struct ks_error *err)
{
    struct ks_vk_made_pipeline *made = find(&gpu->pipelines, key);
    if (made) {
        wait_for(made);
    } else {
        made = append(gpu, key, err);
        if (!made)
            return -1;
        make(made);
    }
    if (made->failed) {
        *err = made->err;
        take_out(&gpu->pipelines, made);
        return -1;
    }
    *out = made->pipeline;
    return 0;
}

/* ------------------------------------------------------------------ rehearsals */

void ks_vk_rehearse(struct ks_gpu *gpu)
{
    gpu->pipelines.rehearsing = true;
}

bool ks_vk_rehearsing(const struct ks_gpu *gpu)
{
    return gpu->pipelines.rehearsing;
}

int ks_vk_note_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key,
                        struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    for (size_t i = 0; i < p->n_noted; i++)
        if (memcmp(&p->noted[i], key, sizeof *key) == 0)
            return 0;
    if (find(p, key))
        return 0;
    struct ks_vk_pipeline_key *noted = realloc(p->noted, (p->n_noted + 1) * sizeof *noted);
    if (!noted)
        return ks_fail_memory(err, (p->n_noted + 1) * sizeof *noted, "GPU pipelines");
    p->noted = noted;
    noted[p->n_noted++] = *key;
    return 0;
}

/* What can't be begun now is made when it is needed. */
static void begin(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key)
{
    struct ks_error ignored;
    struct ks_vk_made_pipeline *made = append(gpu, key, &ignored);
    if (!made)
        return;
    made->making = pthread_create(&made->thread, NULL, make, made) == 0;
    if (!made->making)
        take_out(&gpu->pipelines, made);
}

void ks_vk_end_rehearsal(struct ks_gpu *gpu)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    for (size_t i = 0; i < p->n_noted; i++)
        begin(gpu, &p->noted[i]);
    free(p->noted);
    p->noted = NULL;
    p->n_noted = 0;
    p->rehearsing = false;
}
