/*
 * One file: header, metadata, tensor list, data, in this order.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gguf/parse.h"

enum { DEFAULT_ALIGNMENT = 32 };

static int check_version(const struct ks_reader *r, uint32_t version, struct ks_error *err)
{
    uint64_t at = r->at - sizeof version;
    uint32_t swapped = __builtin_bswap32(version);
    if (version == 2 || version == 3)
        return 0;
    if (version == 1)
        ks_reader_fail(r, at, err,
                       "GGUF version 1, of August 2023, is not supported (2 and 3 "
                       "are); convert the model again");
    else if (swapped >= 1 && swapped <= 3)
        ks_reader_fail(r, at, err,
                       "a big-endian GGUF (version %u); get the little-endian file or "
                       "convert the model again without --big-endian",
                       swapped);
    else
        ks_reader_fail(r, at, err,
                       "GGUF version %u is not known (2 and 3 are); the file is newer "
                       "than this program or damaged",
                       version);
    err->code = KS_UNSUPPORTED;
    return -1;
}

static int read_alignment(const struct ks_part *part, uint32_t *alignment, struct ks_error *err)
{
    *alignment = DEFAULT_ALIGNMENT;
    if (ks_values_get_u32(&part->values, part->path, "general.alignment", alignment, err) < 0)
        return -1;
    if (*alignment == 0 || *alignment % 8 != 0)
        return ks_fail(
            err, KS_BAD_INPUT,
            "%s: metadata key general.alignment is %u, which is no multiple of 8; " KS_GGUF_DAMAGED,
            part->path, *alignment);
    return 0;
}

static int parse(struct ks_part *part, struct ks_error *err)
{
    struct ks_reader r = {.file = part->path, .bytes = part->map.bytes, .len = part->map.len};
    uint64_t n_tensors, n_values;
    uint32_t alignment;
    if (ks_magic_check(&r, err) || ks_reader_u32(&r, &part->version, "the version", err) ||
        check_version(&r, part->version, err) ||
        ks_reader_u64(&r, &n_tensors, "the number of tensors", err) ||
        ks_reader_u64(&r, &n_values, "the number of metadata entries", err))
        return -1;
    if (ks_values_read(&part->values, &r, n_values, err) || read_alignment(part, &alignment, err) ||
        ks_tensors_read(&part->tensors, &r, n_tensors, err))
        return -1;
    uint64_t data_start = (r.at + alignment - 1) / alignment * alignment;
    return ks_tensors_place(&part->tensors, &r, data_start, alignment, err);
}

static int set_path(struct ks_part *part, const char *path, struct ks_error *err)
{
    size_t size = strlen(path) + 1;
    part->path = malloc(size);
    if (!part->path)
        return ks_fail_memory(err, size, "a path");
    memcpy(part->path, path, size);
    return 0;
}

int ks_part_open(struct ks_part *part, const char *path, struct ks_error *err)
{
    if (set_path(part, path, err) || ks_map_open(&part->map, path, err) || parse(part, err)) {
        ks_part_close(part);
        return -1;
    }
    return 0;
}

int ks_part_open_memory(struct ks_part *part, const char *name, const void *bytes, size_t len,
                        struct ks_error *err)
{
    part->map = (struct ks_map){.bytes = bytes, .len = len};
    if (set_path(part, name, err) || parse(part, err)) {
        ks_part_close(part);
        return -1;
    }
    return 0;
}

void ks_part_close(struct ks_part *part)
{
    ks_tensors_close(&part->tensors);
    ks_values_close(&part->values);
    ks_map_close(&part->map);
    free(part->path);
    *part = (struct ks_part){0};
}
