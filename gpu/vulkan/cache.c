/*
 * The driver's compiled pipelines, kept from run to run in $XDG_CACHE_HOME/kldscope under a name
 * made of the driver's cache UUID and of our shaders. A file is our hash of its contents and the
 * contents; one that is cut or damaged is not shown to the driver. Nothing here is ever an error:
 * without the file pipelines take some hundred milliseconds longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/bytes.h"
#include "engine/base/caches.h"
#include "engine/base/whole.h"
#include "gpu/vulkan/device.h"

enum { MOST_BYTES = 64 << 20 };

/* malloc'ed; NULL where there is no place for caches. */
static char *cache_folder(const struct ks_gpu *gpu)
{
    struct ks_error ignored;
    const char *of_test = gpu->testing.cache_folder;
    if (of_test)
        return *of_test ? strdup(of_test) : NULL;
    return ks_caches_folder(&ignored);
}

/* The same: FOLDER/pipelines-UUID-SHADERS. */
static char *cache_path(const struct ks_gpu *gpu)
{
    struct ks_error ignored;
    struct ks_buf path = {0};
    char uuid[2 * VK_UUID_SIZE + 1], shaders[33], *folder = cache_folder(gpu);
    for (size_t i = 0; i < VK_UUID_SIZE; i++)
        snprintf(uuid + 2 * i, 3, "%02x", gpu->cache_uuid[i]);
    ks_hash_hex(ks_vk_shaders_hash(), shaders);
    if (folder && ks_buf_printf(&path, &ignored, "%s/pipelines-%s-%s", folder, uuid, shaders))
        ks_buf_finish(&path);
    free(folder);
    return path.bytes;
}

/* malloc'ed, or NULL. */
static uint8_t *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    uint8_t *bytes = NULL;
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && st.st_size > 0 && st.st_size <= MOST_BYTES) {
        *n = (size_t)st.st_size;
        bytes = malloc(*n);
        if (bytes && fread(bytes, 1, *n, f) != *n) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(f);
    return bytes;
}

static bool is_whole(const uint8_t *bytes, size_t n)
{
    struct ks_hash said;
    if (n <= sizeof said)
        return false;
    memcpy(&said, bytes, sizeof said);
    return ks_hash_equal(said, ks_hash_bytes(bytes + sizeof said, n - sizeof said));
}

VkPipelineCache ks_vk_cache_load(struct ks_gpu *gpu)
{
    size_t n = 0;
    char *path = cache_path(gpu);
    uint8_t *bytes = path ? read_file(path, &n) : NULL;
    bool whole = bytes && is_whole(bytes, n);
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = whole ? n - sizeof(struct ks_hash) : 0,
        .pInitialData = whole ? bytes + sizeof(struct ks_hash) : NULL,
    };
    VkPipelineCache cache = VK_NULL_HANDLE;
    if (vkCreatePipelineCache(gpu->device, &info, NULL, &cache) != VK_SUCCESS)
        cache = VK_NULL_HANDLE;
    gpu->pipelines.cache_bytes = info.initialDataSize;
    free(bytes);
    free(path);
    return cache;
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
    struct ks_error ignored;
    struct ks_whole_file file;
    if (ks_whole_open(&file, path, &ignored) == 0)
        ks_whole_close(&file, ks_whole_write(&file, bytes, n, &ignored), &ignored);
}

/* Hash and contents; malloc'ed, or NULL where they are no more than were loaded. */
static uint8_t *take_data(struct ks_gpu *gpu, size_t *size)
{
    const struct ks_vk_pipelines *p = &gpu->pipelines;
    size_t n = 0;
    if (vkGetPipelineCacheData(gpu->device, p->cache, &n, NULL) != VK_SUCCESS ||
        n <= p->cache_bytes || n > MOST_BYTES)
        return NULL;
    uint8_t *bytes = malloc(sizeof(struct ks_hash) + n);
    if (!bytes || vkGetPipelineCacheData(gpu->device, p->cache, &n,
                                         bytes + sizeof(struct ks_hash)) != VK_SUCCESS) {
        free(bytes);
        return NULL;
    }
    struct ks_hash hash = ks_hash_bytes(bytes + sizeof hash, n);
    memcpy(bytes, &hash, sizeof hash);
    *size = sizeof hash + n;
    return bytes;
}

void ks_vk_cache_save(struct ks_gpu *gpu)
{
    if (!gpu->pipelines.cache || gpu->lost)
        return;
    size_t n;
    char *folder = cache_folder(gpu), *path = cache_path(gpu);
    uint8_t *bytes = path ? take_data(gpu, &n) : NULL;
    if (bytes && folder && ks_caches_make(folder) == 0)
        write_file(path, bytes, n);
    free(bytes);
    free(path);
    free(folder);
}
