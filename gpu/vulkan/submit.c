/*
 * Recording and submitting: slots that take turns, ordered by one timeline.
 */
#include <assert.h>
#include <string.h>

#include "gpu/vulkan/device.h"

/* Longer than anything a slot holds takes on any device; past it the driver hangs. */
#define PATIENCE_NS 120000000000u

static int create_commands(struct ks_gpu *gpu, struct ks_vk_slot *slot, struct ks_error *err)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = gpu->family,
    };
    VkResult result = vkCreateCommandPool(gpu->device, &pool, NULL, &slot->pool);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateCommandPool", "a slot", err);
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = slot->pool,
        .commandBufferCount = 1,
    };
    result = vkAllocateCommandBuffers(gpu->device, &commands, &slot->commands);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkAllocateCommandBuffers", "a slot", err);
    return 0;
}

static int slot_init(struct ks_gpu *gpu, struct ks_vk_slot *slot, struct ks_error *err)
{
    if (create_commands(gpu, slot, err) != 0)
        return -1;
    VkDescriptorPoolSize size = {
        .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .descriptorCount = KS_VK_SETS * KS_VK_BINDINGS,
    };
    VkDescriptorPoolCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = KS_VK_SETS,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult result = vkCreateDescriptorPool(gpu->device, &sets, NULL, &slot->sets);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateDescriptorPool", "a slot", err);
    return ks_vk_buffer_create(gpu, KS_VK_STAGING, KS_VK_STAGE, "the staging buffer", &slot->stage,
                               err);
}

int ks_vk_slots_init(struct ks_gpu *gpu, struct ks_error *err)
{
    VkSemaphoreTypeCreateInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo semaphore = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        .pNext = &timeline,
    };
    VkResult result = vkCreateSemaphore(gpu->device, &semaphore, NULL, &gpu->timeline);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateSemaphore", "the timeline", err);
    for (size_t i = 0; i < KS_VK_SLOTS; i++)
        if (slot_init(gpu, &gpu->slots[i], err) != 0)
            return -1;
    return 0;
}

void ks_vk_slots_finish(struct ks_gpu *gpu)
{
    for (size_t i = 0; i < KS_VK_SLOTS; i++) {
        struct ks_vk_slot *slot = &gpu->slots[i];
        vkDestroyCommandPool(gpu->device, slot->pool, NULL);
        vkDestroyDescriptorPool(gpu->device, slot->sets, NULL);
        ks_vk_buffer_destroy(gpu, &slot->stage);
    }
    vkDestroySemaphore(gpu->device, gpu->timeline, NULL);
}

int ks_vk_wait(struct ks_gpu *gpu, uint64_t value, struct ks_error *err)
{
    if (gpu->lost)
        return ks_vk_fail(gpu, VK_ERROR_DEVICE_LOST, "vkWaitSemaphores", "a device lost before",
                          err);
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &gpu->timeline,
        .pValues = &value,
    };
    VkResult result = vkWaitSemaphores(gpu->device, &info, PATIENCE_NS);
    if (result == VK_SUCCESS && ks_vk_fault(gpu, KS_GPU_FAULT_LOST))
        result = VK_ERROR_DEVICE_LOST;
    if (result == VK_SUCCESS)
        return 0;
    if (result == VK_TIMEOUT)
        gpu->lost = true;
    return ks_vk_fail(gpu, result, "vkWaitSemaphores", "work in flight", err);
}

static void full_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                         VkPipelineStageFlags to, VkAccessFlags reads)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = reads,
    };
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

#define WORK (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)

void ks_vk_barrier(struct ks_vk_slot *slot)
{
    full_barrier(slot->commands, WORK, WORK,
                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

int ks_vk_begin(struct ks_gpu *gpu, struct ks_vk_slot **out, struct ks_error *err)
{
    struct ks_vk_slot *slot = &gpu->slots[gpu->next_slot];
    if (ks_vk_wait(gpu, slot->done, err) != 0)
        return -1;
    VkResult result = vkResetCommandPool(gpu->device, slot->pool, 0);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkResetCommandPool", "a slot", err);
    result = vkResetDescriptorPool(gpu->device, slot->sets, 0);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkResetDescriptorPool", "a slot", err);
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    result = vkBeginCommandBuffer(slot->commands, &begin);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkBeginCommandBuffer", "a slot", err);
    slot->n_sets = 0;
    slot->staged = 0;
    slot->flops = 0;
    slot->pipeline = VK_NULL_HANDLE;
    memset(slot->buffers, 0, sizeof slot->buffers);
    ks_vk_barrier(slot);
    gpu->next_slot = (gpu->next_slot + 1) % KS_VK_SLOTS;
    *out = slot;
    return 0;
}

static VkResult queue(struct ks_gpu *gpu, struct ks_vk_slot *slot, uint64_t value)
{
    if (ks_vk_fault(gpu, KS_GPU_FAULT_SUBMIT))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timeline,
        .commandBufferCount = 1,
        .pCommandBuffers = &slot->commands,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &gpu->timeline,
    };
    return vkQueueSubmit(gpu->queue, 1, &info, VK_NULL_HANDLE);
}

int ks_vk_submit(struct ks_gpu *gpu, struct ks_vk_slot *slot, struct ks_error *err)
{
    full_barrier(slot->commands, WORK, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    VkResult result = vkEndCommandBuffer(slot->commands);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkEndCommandBuffer", "a slot", err);
    result = queue(gpu, slot, gpu->submitted + 1);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkQueueSubmit", "recorded work", err);
    slot->done = ++gpu->submitted;
    return 0;
}

static int bind_buffers(struct ks_gpu *gpu, struct ks_vk_slot *slot,
                        const VkBuffer handles[KS_VK_BINDINGS], struct ks_error *err)
{
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = slot->sets,
        .descriptorSetCount = 1,
        .pSetLayouts = &gpu->pipelines.set_layout,
    };
    VkDescriptorSet set;
    VkResult result = vkAllocateDescriptorSets(gpu->device, &info, &set);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkAllocateDescriptorSets", "a dispatch", err);
    slot->n_sets++;
    VkDescriptorBufferInfo buffers[KS_VK_BINDINGS];
    VkWriteDescriptorSet writes[KS_VK_BINDINGS];
    for (uint32_t i = 0; i < KS_VK_BINDINGS; i++) {
        buffers[i] = (VkDescriptorBufferInfo){handles[i], 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &buffers[i],
        };
    }
    vkUpdateDescriptorSets(gpu->device, KS_VK_BINDINGS, writes, 0, NULL);
    vkCmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, gpu->pipelines.layout,
                            0, 1, &set, 0, NULL);
    memcpy(slot->buffers, handles, sizeof slot->buffers);
    return 0;
}

/* Whatever differs from the last dispatch: a set of descriptors takes the host as long as a small
 * product takes the device. */
static int bind(struct ks_gpu *gpu, struct ks_vk_slot *slot, VkPipeline pipeline,
                const struct ks_vk_dispatch *d, struct ks_error *err)
{
    VkBuffer handles[KS_VK_BINDINGS];
    for (uint32_t i = 0; i < KS_VK_BINDINGS; i++)
        handles[i] = d->buffers[i] ? d->buffers[i]->buffer : d->buffers[0]->buffer;
    if (memcmp(slot->buffers, handles, sizeof handles) != 0 &&
        bind_buffers(gpu, slot, handles, err) != 0)
        return -1;
    if (slot->pipeline != pipeline)
        vkCmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    slot->pipeline = pipeline;
    return 0;
}

int ks_vk_dispatch(struct ks_gpu *gpu, struct ks_vk_slot **slot, const struct ks_vk_dispatch *d,
                   struct ks_error *err)
{
    assert(d->push_bytes <= KS_VK_PUSH_BYTES);
    if (ks_vk_rehearsing(gpu))
        return ks_vk_note_pipeline(gpu, &d->key, err);
    VkPipeline pipeline;
    if (ks_vk_pipeline(gpu, &d->key, &pipeline, err) != 0)
        return -1;
    bool full = (*slot)->n_sets == KS_VK_SETS ||
                ((*slot)->flops > 0 && (*slot)->flops + d->flops > gpu->flops_per_submit);
    if (full && (ks_vk_submit(gpu, *slot, err) != 0 || ks_vk_begin(gpu, slot, err) != 0))
        return -1;
    if (bind(gpu, *slot, pipeline, d, err) != 0)
        return -1;
    (*slot)->flops += d->flops;
    if (d->push_bytes)
        vkCmdPushConstants((*slot)->commands, gpu->pipelines.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           d->push_bytes, d->push);
    vkCmdDispatch((*slot)->commands, d->groups[0], d->groups[1], d->groups[2]);
    return 0;
}
