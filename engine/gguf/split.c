/*
 * Models in several files, NAME-00001-of-00003.gguf and so on: each says in its metadata which part
 * it is, and its name tells where the others are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf/parse.h"

enum {
    SUFFIX_LEN = sizeof "-00001-of-00003.gguf" - 1,
    MOST_PARTS = 65535, /* the keys are 16 bits wide */
};

int ks_split_place(const struct ks_part *part, uint32_t *no, uint32_t *count, struct ks_error *err)
{
    uint32_t n = 1, i = 0;
    if (ks_values_get_u32(&part->values, part->path, "split.count", &n, err) < 0 ||
        ks_values_get_u32(&part->values, part->path, "split.no", &i, err) < 0)
        return -1;
    if (n == 0)
        n = 1;
    if (i >= n || n > MOST_PARTS)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: metadata keys split.no and split.count say part %u (from 0) of "
                       "%u; " KS_GGUF_DAMAGED,
                       part->path, i, n);
    *no = i;
    *count = n;
    return 0;
}

static void suffix_of(uint32_t no, uint32_t count, char suffix[SUFFIX_LEN + 1])
{
    snprintf(suffix, SUFFIX_LEN + 1, "-%05u-of-%05u.gguf", (no + 1) % 100000, count % 100000);
}

/* The path of another part, malloc'ed. */
static char *sibling(const char *path, uint32_t no, uint32_t count, struct ks_error *err)
{
    size_t len = strlen(path);
    char *other = malloc(len + 1);
    if (!other) {
        ks_fail_memory(err, len + 1, "a path");
        return NULL;
    }
    memcpy(other, path, len - SUFFIX_LEN);
    suffix_of(no, count, other + len - SUFFIX_LEN);
    return other;
}

static int check_name(const struct ks_part *part, uint32_t no, uint32_t count, struct ks_error *err)
{
    char suffix[SUFFIX_LEN + 1];
    suffix_of(no, count, suffix);
    size_t len = strlen(part->path);
    if (len > SUFFIX_LEN && strcmp(part->path + len - SUFFIX_LEN, suffix) == 0)
        return 0;
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: is part %u of %u of a split model, but its name does not end in %s, so "
                   "the others cannot be found; give the files their names back",
                   part->path, no + 1, count, suffix);
}

static int open_sibling(struct ks_part *part, const char *path, uint32_t no, uint32_t count,
                        struct ks_error *err)
{
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: is missing, part %u of %u of a split model; put all parts in one "
                       "folder",
                       path, no + 1, count);
    uint32_t its_no, its_count;
    if (ks_part_open(part, path, err) || ks_split_place(part, &its_no, &its_count, err))
        return -1;
    if (its_no != no || its_count != count)
        return ks_fail(err, KS_BAD_INPUT,
                       "%s: says in split.no and split.count that it is part %u of %u; a file was "
                       "renamed or is of another model",
                       path, its_no + 1, its_count);
    return 0;
}

/* Each part that names the total must name the one there is. */
static int check_total(const struct ks_part *parts, uint32_t count, struct ks_error *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += parts[i].tensors.n;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t said;
        int there =
            ks_values_get_u32(&parts[i].values, parts[i].path, "split.tensors.count", &said, err);
        if (there < 0)
            return -1;
        if (there && said != total)
            return ks_fail(err, KS_BAD_INPUT,
                           "%s: split.tensors.count is %u, but the %u parts hold %llu tensors; a "
                           "part is of another model, download them again",
                           parts[i].path, said, count, (unsigned long long)total);
    }
    return 0;
}

/* Takes `first` over into its place and opens the others around it. */
static int open_all(struct ks_part *parts, const struct ks_part *first, uint32_t no, uint32_t count,
                    struct ks_error *err)
{
    parts[no] = *first;
    for (uint32_t i = 0; i < count; i++) {
        if (i == no)
            continue;
        char *path = sibling(parts[no].path, i, count, err);
        if (!path)
            return -1;
        int failed = open_sibling(&parts[i], path, i, count, err);
        free(path);
        if (failed)
            return -1;
    }
    return count > 1 ? check_total(parts, count, err) : 0;
}

int ks_split_open(const char *path, struct ks_part **parts, uint32_t *n, struct ks_error *err)
{
    struct ks_part first = {0};
    struct ks_part *all = NULL;
    uint32_t no = 0, count = 1;
    if (ks_part_open(&first, path, err))
        return -1;
    if (ks_split_place(&first, &no, &count, err) ||
        (count > 1 && check_name(&first, no, count, err)))
        goto fail_first;
    all = calloc(count, sizeof *all);
    if (!all) {
        ks_fail_memory(err, count * sizeof *all, "the parts of a split");
        goto fail_first;
    }
    if (open_all(all, &first, no, count, err))
        goto fail_all;
    *parts = all;
    *n = count;
    return 0;

fail_all:
    for (uint32_t i = 0; i < count; i++)
        ks_part_close(&all[i]);
    free(all);
    return -1;
fail_first:
    ks_part_close(&first);
    return -1;
}
