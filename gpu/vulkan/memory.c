/*
 * Buffers, each with memory of its own, and the ways in and out of them.
 */
#include <string.h>

#include "gpu/vulkan/device.h"

static bool maps(const struct ks_gpu *gpu, enum ks_vk_use use, VkMemoryPropertyFlags flags)
{
    const VkMemoryPropertyFlags seen =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if ((flags & seen) != seen)
        return false;
    return use == KS_VK_STAGING ||
           (gpu->info.kind != KS_GPU_KIND_DISCRETE && !gpu->testing.staging);
}

/* Points for a memory type; -1: not usable. A shared-memory device needs no staging where its local
 * memory is visible; a discrete one shall not spend its small visible window. */
static int worth(const struct ks_gpu *gpu, enum ks_vk_use use, VkMemoryPropertyFlags flags)
{
    bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    bool cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    bool mapped = maps(gpu, use, flags);
    if (use == KS_VK_STAGING)
        return !mapped ? -1 : 2 * cached + !local;
    if (flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT))
        return -1;
    bool visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    return 4 * local + (mapped || !visible);
}

static int find_type(const struct ks_gpu *gpu, enum ks_vk_use use, uint32_t allowed, uint32_t *type)
{
    int best = -1;
    for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++) {
        if (!(allowed & 1u << i))
            continue;
        int points = worth(gpu, use, gpu->memory.memoryTypes[i].propertyFlags);
        if (points > best) {
            best = points;
            *type = i;
        }
    }
    return best;
}

static VkResult allocate(struct ks_gpu *gpu, VkDeviceSize bytes, uint32_t type,
                         VkDeviceMemory *memory)
{
    if (ks_vk_fault(gpu, KS_GPU_FAULT_ALLOCATION))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = bytes,
        .memoryTypeIndex = type,
    };
    return vkAllocateMemory(gpu->device, &info, NULL, memory);
}

static int back(struct ks_gpu *gpu, enum ks_vk_use use, const char *what,
                struct ks_vk_buffer *buffer, struct ks_error *err)
{
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu->device, buffer->buffer, &needs);
    uint32_t type = 0;
    if (find_type(gpu, use, needs.memoryTypeBits, &type) < 0)
        return ks_fail(err, KS_UNSUPPORTED, "%s: no kind of memory serves for %s", gpu->info.name,
                       what);
    VkResult result = allocate(gpu, needs.size, type, &buffer->memory);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkAllocateMemory", what, err);
    result = vkBindBufferMemory(gpu->device, buffer->buffer, buffer->memory, 0);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkBindBufferMemory", what, err);
    if (!maps(gpu, use, gpu->memory.memoryTypes[type].propertyFlags))
        return 0;
    result = vkMapMemory(gpu->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->mapped);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkMapMemory", what, err);
    return 0;
}

int ks_vk_buffer_create(struct ks_gpu *gpu, enum ks_vk_use use, VkDeviceSize bytes,
                        const char *what, struct ks_vk_buffer *out, struct ks_error *err)
{
    struct ks_vk_buffer buffer = {.bytes = (bytes + 15) & ~(VkDeviceSize)15};
    if (use == KS_VK_ON_DEVICE && buffer.bytes > gpu->max_bytes)
        return ks_fail(err, KS_UNSUPPORTED, "%s: %llu bytes for %s are more than a binding of %llu",
                       gpu->info.name, (unsigned long long)bytes, what,
                       (unsigned long long)gpu->max_bytes);
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = buffer.bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VkResult result = vkCreateBuffer(gpu->device, &info, NULL, &buffer.buffer);
    if (result != VK_SUCCESS)
        return ks_vk_fail(gpu, result, "vkCreateBuffer", what, err);
    if (back(gpu, use, what, &buffer, err) != 0) {
        ks_vk_buffer_destroy(gpu, &buffer);
        return -1;
    }
    *out = buffer;
    return 0;
}

void ks_vk_buffer_destroy(struct ks_gpu *gpu, struct ks_vk_buffer *buffer)
{
    vkDestroyBuffer(gpu->device, buffer->buffer, NULL);
    vkFreeMemory(gpu->device, buffer->memory, NULL); /* unmaps */
    *buffer = (struct ks_vk_buffer){0};
}

int ks_vk_buffer_reserve(struct ks_gpu *gpu, enum ks_vk_use use, VkDeviceSize bytes,
                         const char *what, struct ks_vk_buffer *buffer, struct ks_error *err)
{
    if (buffer->bytes >= bytes)
        return 0;
    if (ks_vk_wait(gpu, gpu->submitted, err) != 0)
        return -1;
    ks_vk_buffer_destroy(gpu, buffer);
    return ks_vk_buffer_create(gpu, use, bytes, what, buffer, err);
}

/* ------------------------------------------------------------------ in and out */

int ks_vk_copy_in(struct ks_gpu *gpu, struct ks_vk_slot **slot, struct ks_vk_buffer *buffer,
                  VkDeviceSize offset, const void *bytes, VkDeviceSize n, struct ks_error *err)
{
    const uint8_t *from = bytes;
    while (n > 0) {
        if ((*slot)->staged == KS_VK_STAGE) {
            if (ks_vk_submit(gpu, *slot, err) != 0 || ks_vk_begin(gpu, slot, err) != 0)
                return -1;
        }
        VkDeviceSize room = KS_VK_STAGE - (*slot)->staged, part = n < room ? n : room;
        memcpy((uint8_t *)(*slot)->stage.mapped + (*slot)->staged, from, part);
        VkBufferCopy region = {(*slot)->staged, offset, part};
        vkCmdCopyBuffer((*slot)->commands, (*slot)->stage.buffer, buffer->buffer, 1, &region);
        (*slot)->staged += part;
        from += part;
        offset += part;
        n -= part;
    }
    return 0;
}

int ks_vk_buffer_write(struct ks_gpu *gpu, struct ks_vk_buffer *buffer, VkDeviceSize offset,
                       const void *bytes, VkDeviceSize n, struct ks_error *err)
{
    if (buffer->mapped) {
        memcpy((uint8_t *)buffer->mapped + offset, bytes, n);
        return 0;
    }
    struct ks_vk_slot *slot;
    if (ks_vk_begin(gpu, &slot, err) != 0 ||
        ks_vk_copy_in(gpu, &slot, buffer, offset, bytes, n, err) != 0)
        return -1;
    return ks_vk_submit(gpu, slot, err);
}

/* A piece on its way to the host. */
struct piece {
    struct ks_vk_slot *slot;
    uint8_t *to;
    VkDeviceSize n;
};

static int send_piece(struct ks_gpu *gpu, const struct ks_vk_buffer *buffer, VkDeviceSize offset,
                      struct piece *piece, struct ks_error *err)
{
    if (ks_vk_begin(gpu, &piece->slot, err) != 0)
        return -1;
    VkBufferCopy region = {offset, 0, piece->n};
    vkCmdCopyBuffer(piece->slot->commands, buffer->buffer, piece->slot->stage.buffer, 1, &region);
    return ks_vk_submit(gpu, piece->slot, err);
}

static int take_piece(struct ks_gpu *gpu, struct piece *piece, struct ks_error *err)
{
    if (!piece->slot)
        return 0;
    if (ks_vk_wait(gpu, piece->slot->done, err) != 0)
        return -1;
    memcpy(piece->to, piece->slot->stage.mapped, piece->n);
    piece->slot = NULL;
    return 0;
}

static int read_staged(struct ks_gpu *gpu, const struct ks_vk_buffer *buffer, VkDeviceSize offset,
                       uint8_t *to, VkDeviceSize n, struct ks_error *err)
{
    struct piece pieces[KS_VK_SLOTS] = {0};
    size_t next = 0;
    while (n > 0) {
        struct piece *p = &pieces[next++ % KS_VK_SLOTS];
        if (take_piece(gpu, p, err) != 0) /* before its slot is taken again */
            return -1;
        *p = (struct piece){.to = to, .n = n < KS_VK_STAGE ? n : KS_VK_STAGE};
        if (send_piece(gpu, buffer, offset, p, err) != 0)
            return -1;
        to += p->n;
        offset += p->n;
        n -= p->n;
    }
    for (size_t i = 0; i < KS_VK_SLOTS; i++)
        if (take_piece(gpu, &pieces[next++ % KS_VK_SLOTS], err) != 0)
            return -1;
    return 0;
}

int ks_vk_buffer_read(struct ks_gpu *gpu, const struct ks_vk_buffer *buffer, VkDeviceSize offset,
                      void *bytes, VkDeviceSize n, uint64_t ready, struct ks_error *err)
{
    if (!buffer->mapped)
        return read_staged(gpu, buffer, offset, bytes, n, err);
    if (ks_vk_wait(gpu, ready, err) != 0)
        return -1;
    memcpy(bytes, (const uint8_t *)buffer->mapped + offset, n);
    return 0;
}
