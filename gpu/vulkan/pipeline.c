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

static const struct ks_vk_made_pipeline *find(const struct ks_vk_pipelines *p,
                                              const struct ks_vk_pipeline_key *key)
{
    for (size_t i = 0; i < p->n; i++)
        if (memcmp(&p->made[i].key, key, sizeof *key) == 0)
            return &p->made[i];
    return NULL;
}

/* Room for n more. */
static int reserve(struct ks_vk_pipelines *p, size_t n, struct ks_error *err)
{
    struct ks_vk_made_pipeline *made = realloc(p->made, (p->n + n) * sizeof *made);
    if (!made)
        return ks_fail_memory(err, (p->n + n) * sizeof *made, "GPU pipelines");
    p->made = made;
    return 0;
}

int ks_vk_pipeline(struct ks_gpu *gpu, const struct ks_vk_pipeline_key *key, VkPipeline *out,
                   struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    const struct ks_vk_made_pipeline *found = find(p, key);
    if (!found) {
        struct ks_vk_made_pipeline made = {.key = *key};
        if (reserve(p, 1, err) != 0 || create(gpu, key, &made.pipeline, err) != 0)
            return -1;
        p->made[p->n++] = made;
        found = &p->made[p->n - 1];
    }
    *out = found->pipeline;
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

/* A pipeline on its way. */
struct making {
    struct ks_gpu *gpu;
    struct ks_vk_made_pipeline made;
    pthread_t thread;
    bool threaded;
    int failed;
    struct ks_error err;
};

static void *make(void *arg)
{
    struct making *m = arg;
    m->failed = create(m->gpu, &m->made.key, &m->made.pipeline, &m->err);
    return NULL;
}

/* The noted ones, all at once: each but the last on a thread of its own, if there are any to be
 * had. */
static int make_noted(struct ks_gpu *gpu, struct making *makings, struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    size_t n = p->n_noted;
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct making *m = &makings[i];
        *m = (struct making){.gpu = gpu, .made = {.key = p->noted[i]}};
        m->threaded = i + 1 < n && pthread_create(&m->thread, NULL, make, m) == 0;
        if (!m->threaded)
            make(m);
    }
    for (size_t i = 0; i < n; i++) {
        struct making *m = &makings[i];
        if (m->threaded)
            pthread_join(m->thread, NULL);
        if (m->failed && !failed)
            *err = m->err;
        failed = failed ? failed : m->failed;
        if (!m->failed)
            p->made[p->n++] = m->made;
    }
    return failed;
}

int ks_vk_end_rehearsal(struct ks_gpu *gpu, struct ks_error *err)
{
    struct ks_vk_pipelines *p = &gpu->pipelines;
    int failed = 0;
    if (p->n_noted > 0) {
        struct making *makings = malloc(p->n_noted * sizeof *makings);
        failed = makings ? reserve(p, p->n_noted, err)
                         : ks_fail_memory(err, p->n_noted * sizeof *makings, "GPU pipelines");
        if (!failed)
            failed = make_noted(gpu, makings, err);
        free(makings);
    }
    free(p->noted);
    p->noted = NULL;
    p->n_noted = 0;
    p->rehearsing = false;
    return failed;
}
