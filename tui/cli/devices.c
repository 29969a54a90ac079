/* The GPUs of this machine, for doctor: what each can do, which would be taken, and why. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/cli/devices.h"
#include "tui/cli/driver.h"

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

/* ------------------------------------------------------------------ the survey */

#define MOST_TYPES 64

/* What a head of a type would do on the device that was chosen. */
struct way {
    const char *type, *path; /* path NULL: the CPU does it */
};

struct survey {
    struct ks_gpu_info *list; /* (n) */
    size_t n;
    int chosen;          /* the index that would be tried; -1: none */
    struct ks_error why; /* there is none */
    struct way ways[MOST_TYPES];
    size_t n_ways;
    const char *driver_hint; /* or NULL */
};

static void add_way(void *ctx, const char *type, const char *path)
{
    struct survey *s = ctx;
    if (s->n_ways < MOST_TYPES)
        s->ways[s->n_ways++] = (struct way){type, path};
}

static int look(struct survey *s, const char *device, struct ks_error *err)
{
    size_t index;
    if (ks_gpu_list(&s->list, &s->n, err))
        return -1;
    if (cli_driver_unseen("", s->list, s->n))
        s->driver_hint = cli_driver_hint;
    if (ks_gpu_choose(s->list, s->n, device, &index, err) ||
        ks_head_probe(s->list[index].uuid, add_way, s, err))
        return -1;
    s->chosen = (int)index;
    return 0;
}

static void survey(struct survey *s, const char *device)
{
    *s = (struct survey){.chosen = -1};
    if (look(s, device, &s->why))
        s->chosen = -1;
}

/* ------------------------------------------------------------------ for people */

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

/* "matrix cores for Q8_0, Q4_0", a line for each path. */
static void print_ways(const struct survey *s, const char *path, const char *shown)
{
    const char *separator = " for ";
    for (size_t i = 0; i < s->n_ways; i++) {
        const struct way *w = &s->ways[i];
        if (path != w->path && (!path || !w->path || strcmp(path, w->path) != 0))
            continue;
        if (separator[1] == 'f')
            printf("           %s", shown);
        printf("%s%s", separator, w->type);
        separator = ", ";
    }
    if (separator[0] == ',')
        putchar('\n');
}

static void print_head(const struct survey *s)
{
    printf("head       ");
    if (s->chosen < 0) {
        printf("on the cpu: ");
        cli_put(stdout, s->why.text, 0);
        putchar('\n');
        return;
    }
    printf("gpu %d is tried on the model's head, and taken where it's faster than the cpu\n",
           s->chosen);
    printf("           all heads of a run take one way, the fastest that each of them has:\n");
    for (int path = KS_GPU_PATHS - 1; path >= 0; path--) {
        const char *name = ks_gpu_path_name((enum ks_gpu_path)path);
        print_ways(s, name, name);
    }
    print_ways(s, NULL, "the cpu");
}

void cli_print_devices(const char *device)
{
    struct survey s;
    survey(&s, device);
    print_head(&s);
    if (s.driver_hint)
        printf("driver     %s\n", s.driver_hint);
    for (size_t i = 0; i < s.n; i++)
        print_device(&s.list[i], i);
    free(s.list);
}

/* ------------------------------------------------------------------ for programs */

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

json_t *cli_devices_json(const char *device)
{
    struct survey s;
    survey(&s, device);
    json_t *devices = json_array(), *ways = json_object();
    for (size_t i = 0; i < s.n; i++)
        json_array_append_new(devices, device_json(&s.list[i]));
    for (size_t i = 0; i < s.n_ways; i++)
        json_object_set_new(ways, s.ways[i].type,
                            s.ways[i].path ? json_string(s.ways[i].path) : json_null());
    free(s.list);
    json_t *index = s.chosen >= 0 ? json_integer(s.chosen) : json_null();
    return json_pack("{s:o, s:o, s:s, s:o, s:s?}", "devices", devices, "chosen", index, "why_none",
                     s.chosen >= 0 ? "" : s.why.text, "paths", ways, "driver_hint", s.driver_hint);
}
