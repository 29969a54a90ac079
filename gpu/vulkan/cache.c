/*
 * The driver's compiled pipelines, kept from run to run in $XDG_CACHE_HOME/kldscope under a name
 * made of the driver's cache UUID and of our shaders. A file is our hash of its contents and the
 * contents; one that is cut or damaged is not shown to the driver. Nothing here is ever an error:
 * without the file pipelines take some hundred milliseconds longer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "gpu/vulkan/device.h"

#define MOST_BYTES (64 << 20)

/* "" where there is no place for caches. */
static void cache_folder(const struct ks_gpu *gpu, char *out, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (gpu->testing.cache_folder)
        n = snprintf(out, size, "%s", gpu->testing.cache_folder);
    else if (xdg && xdg[0] == '/')
        n = snprintf(out, size, "%s/kldscope", xdg);
    else if (home && home[0] == '/')
        n = snprintf(out, size, "%s/.cache/kldscope", home);
    if (n <= 0 || (size_t)n >= size)
        out[0] = '\0';
}

static bool cache_path(const struct ks_gpu *gpu, char *path, size_t size)
{
    char folder[512], uuid[2 * VK_UUID_SIZE + 1], shaders[33];
    cache_folder(gpu, folder, sizeof folder);
    if (!folder[0])
        return false;
    for (size_t i = 0; i < VK_UUID_SIZE; i++)
        snprintf(uuid + 2 * i, 3, "%02x", gpu->cache_uuid[i]);
    ks_hash_hex(ks_vk_shaders_hash(), shaders);
    int n = snprintf(path, size, "%s/pipelines-%s-%s", folder, uuid, shaders);
    return n > 0 && (size_t)n < size;
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
    char path[1024];
    size_t n = 0;
    uint8_t *bytes = cache_path(gpu, path, sizeof path) ? read_file(path, &n) : NULL;
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
    return cache;
}

/* Makes the folders of a path that are missing. */
static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(path, 0700);
            *c = '/';
        }
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
    char fresh[1100];
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(fresh, "wb");
    if (!f)
        return;
    bool good = fwrite(bytes, 1, n, f) == n;
    good = fclose(f) == 0 && good;
    if (!good || rename(fresh, path) != 0)
        unlink(fresh);
}

void ks_vk_cache_save(struct ks_gpu *gpu)
{
    char path[1024];
    size_t n = 0;
    if (!gpu->pipelines.cache || gpu->lost || !cache_path(gpu, path, sizeof path) ||
        vkGetPipelineCacheData(gpu->device, gpu->pipelines.cache, &n, NULL) != VK_SUCCESS ||
        n <= gpu->pipelines.cache_bytes || n > MOST_BYTES)
        return;
    uint8_t *bytes = malloc(n + sizeof(struct ks_hash));
    if (!bytes)
        return;
    if (vkGetPipelineCacheData(gpu->device, gpu->pipelines.cache, &n,
                               bytes + sizeof(struct ks_hash)) == VK_SUCCESS) {
        struct ks_hash hash = ks_hash_bytes(bytes + sizeof hash, n);
        memcpy(bytes, &hash, sizeof hash);
        make_folders(path);
        write_file(path, bytes, n + sizeof hash);
    }
    free(bytes);
}
