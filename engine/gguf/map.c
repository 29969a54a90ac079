#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mapped.h"
#include "engine/gguf/parse.h"

/* Only a regular file has a size to check against and can be mapped. */
static int check_kind(const struct stat *st, const char *path, struct ks_error *err)
{
    if (S_ISREG(st->st_mode))
        return 0;
    if (S_ISDIR(st->st_mode))
        return ks_fail(err, KS_BAD_INPUT, "%s: is a directory, give the .gguf file in it", path);
    if (S_ISFIFO(st->st_mode))
        return ks_fail(err, KS_BAD_INPUT, "%s: is a pipe, save the model to a file first", path);
    return ks_fail(err, KS_BAD_INPUT, "%s: is not a regular file, give a .gguf file", path);
}

static int map_fd(struct ks_map *map, int fd, const char *path, struct ks_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return ks_fail_errno(err, "%s", path);
    if (check_kind(&st, path, err))
        return -1;
    if (st.st_size == 0)
        return ks_fail(err, KS_BAD_INPUT, "%s: is empty (0 bytes), download it again", path);
    if ((uint64_t)st.st_size > SIZE_MAX)
        return ks_fail(err, KS_UNSUPPORTED, "%s: %lld bytes do not fit this machine's addresses",
                       path, (long long)st.st_size);
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return ks_fail_errno(err, "%s: cannot map %lld bytes", path, (long long)st.st_size);
    *map = (struct ks_map){.bytes = bytes, .len = (uint64_t)st.st_size, .mapped = true};
    ks_mapped_add(map->bytes, map->len, path);
    return 0;
}

int ks_map_open(struct ks_map *map, const char *path, struct ks_error *err)
{
    /* O_NONBLOCK: a pipe without a writer must be refused, not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ks_fail_errno(err, "%s", path);
    int result = map_fd(map, fd, path, err);
    close(fd); /* the mapping stays */
    return result;
}

void ks_map_close(struct ks_map *map)
{
    if (map->mapped) {
        ks_mapped_remove(map->bytes);
        munmap((void *)(uintptr_t)map->bytes, (size_t)map->len);
    }
    *map = (struct ks_map){0};
}
