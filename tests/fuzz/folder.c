#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/target.h"

static char folder[256];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == owner)
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_folder(void)
{
    const char *above = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/kldscope-fuzz-XXXXXX", above && *above ? above : "/tmp");
    target_must(mkdtemp(folder) != NULL);
    owner = getpid();
    atexit(remove_folder);
}

const char *target_path(const char *name)
{
    static char path[512];
    if (!owner)
        make_folder();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *target_file(const char *name, const void *bytes, size_t len)
{
    const char *path = target_path(name);
    FILE *f = fopen(path, "wb");
    target_must(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
    return path;
}

uint8_t *target_data(const char *name, size_t *len)
{
    char path[1024];
    struct stat st;
    snprintf(path, sizeof path, "%s/tests/data/%s", KS_FUZZ_ROOT, name);
    FILE *f = fopen(path, "rb");
    target_must(f && fstat(fileno(f), &st) == 0);
    *len = (size_t)st.st_size;
    uint8_t *bytes = malloc(*len + 1);
    target_must(bytes && fread(bytes, 1, *len, f) == *len);
    fclose(f);
    return bytes;
}
