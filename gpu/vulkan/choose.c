/*
 * Which of the devices: by rank, by index, by UUID or by name.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu/gpu.h"

/* A longer number is part of a name: RTX 3060. A shorter one would be in most names by chance. */
#define INDEX_DIGITS 2

static int choose_best(const struct ks_gpu_info *devices, size_t n, size_t *index,
                       struct ks_error *err)
{
    static const enum ks_gpu_kind ranks[] = {
        KS_GPU_KIND_DISCRETE,
        KS_GPU_KIND_INTEGRATED,
        KS_GPU_KIND_VIRTUAL,
        KS_GPU_KIND_OTHER,
    };
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t i = 0; i < n; i++)
            if (devices[i].kind == ranks[r] && !devices[i].why_not[0]) {
                *index = i;
                return 0;
            }
    for (size_t i = 0; i < n; i++)
        if (devices[i].kind != KS_GPU_KIND_CPU)
            return ks_fail(err, KS_UNSUPPORTED, "%s can't be used: %s", devices[i].name,
                           devices[i].why_not);
    if (n > 0)
        return ks_fail(err, KS_UNSUPPORTED,
                       "no GPU: the only Vulkan devices are CPUs, which are taken by name alone");
    const char *named = ks_gpu_named_drivers();
    return named ? ks_fail(err, KS_UNSUPPORTED,
                           "no GPU: Vulkan finds no device by the drivers that %s names", named)
                 : ks_fail(err, KS_UNSUPPORTED, "no GPU: Vulkan finds no device");
}

const char *ks_gpu_named_drivers(void)
{
    static const char *const names[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return names[i];
    }
    return NULL;
}

/* 32 hex digits with dashes anywhere, as lowercase digits; false for anything else. */
static bool read_uuid(const char *text, char digits[33])
{
    size_t n = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text) || n == 32)
            return false;
        digits[n++] = (char)tolower((unsigned char)*text);
    }
    digits[n] = '\0';
    return n == 32;
}

static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (; *name; name++)
        if (strncasecmp(name, part, n) == 0)
            return true;
    return false;
}

/* The first that can be used and is called so, or else the first that is. */
static size_t find_by_name(const struct ks_gpu_info *devices, size_t n, const char *part)
{
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        if (!contains(devices[i].name, part))
            continue;
        if (!devices[i].why_not[0])
            return i;
        found = found < n ? found : i;
    }
    return found;
}

static size_t find_uuid(const struct ks_gpu_info *devices, size_t n, const char *digits)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(devices[i].uuid, digits) == 0)
            return i;
    return n;
}

static size_t find(const struct ks_gpu_info *devices, size_t n, const char *which)
{
    char digits[33];
    if (read_uuid(which, digits))
        return find_uuid(devices, n, digits);
    bool number = which[strspn(which, "0123456789")] == '\0';
    if (!number || strlen(which) > INDEX_DIGITS)
        return find_by_name(devices, n, which);
    size_t index = strtoul(which, NULL, 10);
    return index < n ? index : n;
}

int ks_gpu_choose(const struct ks_gpu_info *devices, size_t n, const char *which, size_t *index,
                  struct ks_error *err)
{
    if (!which || !*which || strcmp(which, "auto") == 0)
        return choose_best(devices, n, index, err);
    size_t found = find(devices, n, which);
    if (found == n)
        return ks_fail(err, KS_UNSUPPORTED,
                       "no GPU is called \"%s\" (an index, a UUID or a part of a name); there %s "
                       "%zu: %s%s",
                       which, n == 1 ? "is" : "are", n, n ? devices[0].name : "none",
                       n > 1 ? ", ..." : "");
    if (devices[found].why_not[0])
        return ks_fail(err, KS_UNSUPPORTED, "%s can't be used: %s", devices[found].name,
                       devices[found].why_not);
    *index = found;
    return 0;
}
