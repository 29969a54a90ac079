/*
 * Which of the devices: by rank, by index, by UUID or by name.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu/gpu.h"

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
    return ks_fail(err, KS_UNSUPPORTED,
                   n ? "no GPU: the only Vulkan devices are CPUs, which are taken by name alone"
                     : "no GPU: Vulkan finds no device");
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

static size_t find_named(const struct ks_gpu_info *devices, size_t n, const char *which)
{
    char digits[33];
    bool uuid = read_uuid(which, digits);
    char *end;
    errno = 0;
    unsigned long number = strtoul(which, &end, 10);
    if (!uuid && isdigit((unsigned char)which[0]) && *end == '\0' && errno == 0 && number < n)
        return number;
    for (size_t i = 0; i < n; i++)
        if (uuid ? strcmp(devices[i].uuid, digits) == 0 : contains(devices[i].name, which))
            return i;
    return n;
}

int ks_gpu_choose(const struct ks_gpu_info *devices, size_t n, const char *which, size_t *index,
                  struct ks_error *err)
{
    if (!which || !*which || strcmp(which, "auto") == 0)
        return choose_best(devices, n, index, err);
    size_t found = find_named(devices, n, which);
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
