/* The GPUs of this machine, for doctor: what each can do, which would be taken, and why. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "tui/cli/devices.h"

static const char *kind_name(enum ks_gpu_kind kind)
{
    static const char *const names[] = {
        [KS_GPU_KIND_DISCRETE] = "discrete", [KS_GPU_KIND_INTEGRATED] = "integrated",
        [KS_GPU_KIND_VIRTUAL] = "virtual",   [KS_GPU_KIND_OTHER] = "other",
        [KS_GPU_KIND_CPU] = "cpu",
    };
    return names[kind];
}

struct feature {
    const char *name;
    bool there;
};

#define N_FEATURES 11

static void features_of(const struct ks_gpu_info *g, struct feature out[N_FEATURES])
{
    const struct feature all[N_FEATURES] = {
        {"subgroup shuffles", g->subgroup_shuffle},
        {"timeline semaphores", g->timeline},
        {"round to even", g->round_to_even},
        {"16-bit storage", g->storage_16bit},
        {"8-bit storage", g->storage_8bit},
        {"f16", g->f16},
        {"int8", g->int8},
        {"int64", g->int64},
        {"cooperative matrices (KHR)", g->cooperative_matrix_khr},
        {"cooperative matrices (NV)", g->cooperative_matrix_nv},
        {"memory budget", g->memory_budget},
    };
    memcpy(out, all, sizeof all);
}

/* What choosing says: the index that auto would take, or -1 with the reason. */
static int choose(const struct ks_gpu_info *list, size_t n, struct ks_error *why)
{
    size_t index;
    return ks_gpu_choose(list, n, NULL, &index, why) ? -1 : (int)index;
}

static void print_device(const struct ks_gpu_info *g, size_t index)
{
    struct feature features[N_FEATURES];
    printf("gpu %zu      ", index);
    cli_put(stdout, g->name, 0);
    printf(", %s, Vulkan %u.%u, ", kind_name(g->kind), g->api_major, g->api_minor);
    cli_put(stdout, g->driver, 0);
    printf("\n           %.1f GB", (double)g->memory_bytes / 1e9);
    if (g->memory_free_bytes)
        printf(", %.1f GB free", (double)g->memory_free_bytes / 1e9);
    printf("; a binding %.2f GB, an allocation %.2f GB, shared %u KiB, subgroup %u\n",
           (double)g->max_binding_bytes / 1e9, (double)g->max_allocation_bytes / 1e9,
           g->max_shared_bytes / 1024, g->subgroup_size);
    features_of(g, features);
    const char *separator = "           has ";
    for (size_t i = 0; i < N_FEATURES; i++)
        if (features[i].there) {
            printf("%s%s", separator, features[i].name);
            separator = ", ";
        }
    printf("\n           uuid %s\n", g->uuid);
    if (*g->why_not) {
        printf("           cannot be used: ");
        cli_put(stdout, g->why_not, 0);
        putchar('\n');
    }
}

void cli_print_devices(void)
{
    struct ks_gpu_info *list = NULL;
    size_t n = 0;
    struct ks_error err;
    if (ks_gpu_list(&list, &n, &err)) {
        printf("head       on the cpu: ");
        cli_put(stdout, err.text, 0);
        putchar('\n');
        return;
    }
    int chosen = choose(list, n, &err);
    printf("head       ");
    if (chosen >= 0)
        printf("gpu %d is tried on the model's head, and taken where it's faster than the cpu\n",
               chosen);
    else {
        printf("on the cpu: ");
        cli_put(stdout, err.text, 0);
        putchar('\n');
    }
    for (size_t i = 0; i < n; i++)
        print_device(&list[i], i);
    free(list);
}

static json_t *device_json(const struct ks_gpu_info *g)
{
    struct feature features[N_FEATURES];
    json_t *has = json_array();
    features_of(g, features);
    for (size_t i = 0; i < N_FEATURES; i++)
        if (features[i].there)
            json_array_append_new(has, json_string(features[i].name));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:i, s:i, s:o, s:s}", "name", g->name,
        "kind", kind_name(g->kind), "driver", g->driver, "uuid", g->uuid, "api_major",
        (int)g->api_major, "api_minor", (int)g->api_minor, "memory_bytes",
        (json_int_t)g->memory_bytes, "memory_free_bytes", (json_int_t)g->memory_free_bytes,
        "max_binding_bytes", (json_int_t)g->max_binding_bytes, "max_allocation_bytes",
        (json_int_t)g->max_allocation_bytes, "max_shared_bytes", (int)g->max_shared_bytes,
        "subgroup_size", (int)g->subgroup_size, "has", has, "why_not", g->why_not);
}

json_t *cli_devices_json(void)
{
    struct ks_gpu_info *list = NULL;
    size_t n = 0;
    struct ks_error err;
    bool failed = ks_gpu_list(&list, &n, &err) != 0;
    json_t *devices = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(devices, device_json(&list[i]));
    int chosen = failed ? -1 : choose(list, n, &err);
    free(list);
    json_t *index = chosen >= 0 ? json_integer(chosen) : json_null();
    return json_pack("{s:o, s:o, s:s}", "devices", devices, "chosen", index, "why_none",
                     chosen >= 0 ? "" : err.text);
}
