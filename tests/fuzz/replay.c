/*
 * Runs a fuzz target without a fuzzer: each seed as it is, and a fixed number of changed ones, the
 * same on every machine. They run in a child process, so that an input which ends it, or that takes
 * longer than LIMIT_S, is written down by the parent as found.TARGET, to be fed to the target.
 *
 * usage: replay CHANGES SEED...   (a file, or a folder of them)
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/target.h"

enum { LIMIT_S = 60, MAX_SEEDS = 256, MAX_SEED = 1 << 16, MAX_STEPS = 4 };

struct seed {
    char path[1024];
    uint8_t *bytes;
    size_t len;
};

struct input {
    uint8_t bytes[2 * MAX_SEED];
    size_t len;
};

/* What the parent sees when the child is gone. */
struct place {
    size_t seed, change; /* change 0: as it is */
    size_t n;            /* inputs that went well */
};

/* ------------------------------------------------------------------ seeds */

static void give_up(const char *what, const char *which)
{
    fprintf(stderr, "replay: %s: %s\n", which, what);
    exit(2);
}

static void read_seed(struct seed *s)
{
    struct stat st;
    FILE *f = fopen(s->path, "rb");
    if (!f || fstat(fileno(f), &st))
        give_up("cannot be read", s->path);
    s->len = st.st_size < MAX_SEED ? (size_t)st.st_size : MAX_SEED;
    s->bytes = malloc(s->len + 1);
    if (!s->bytes || fread(s->bytes, 1, s->len, f) != s->len)
        give_up("cannot be read", s->path);
    fclose(f);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct seed *)a)->path, ((const struct seed *)b)->path);
}

/* Of a folder all files, of a file itself. Returns how many there are then. */
static size_t read_seeds(const char *from, struct seed *seeds, size_t n)
{
    DIR *d = opendir(from);
    if (n == MAX_SEEDS)
        give_up("too many seeds", from);
    if (!d) {
        snprintf(seeds[n].path, sizeof seeds[n].path, "%s", from);
        read_seed(&seeds[n]);
        return n + 1;
    }
    size_t first = n;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_type == DT_DIR)
            continue;
        if (n == MAX_SEEDS)
            give_up("too many seeds", from);
        snprintf(seeds[n].path, sizeof seeds[n].path, "%s/%s", from, e->d_name);
        read_seed(&seeds[n++]);
    }
    closedir(d);
    qsort(seeds + first, n - first, sizeof *seeds, compare_paths);
    return n;
}

/* ------------------------------------------------------------------ changes */

static uint64_t next(uint64_t *state) /* xorshift64* */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

static size_t below(uint64_t *state, size_t n)
{
    return n ? (size_t)(next(state) % n) : 0;
}

/* Numbers that counts and lengths are wrong at. */
static void write_number(struct input *in, uint64_t *state)
{
    static const uint64_t numbers[] = {0,          1,          2,          0x7f,       0x80,
                                       0xff,       0x7fff,     0x8000,     0xffff,     0x7fffffff,
                                       0x80000000, 0xffffffff, 1ull << 32, 1ull << 40, 1ull << 62,
                                       INT64_MAX,  1ull << 63, UINT64_MAX};
    uint64_t number = numbers[below(state, sizeof numbers / sizeof *numbers)];
    size_t len = (size_t)1 << below(state, 4);
    if (in->len >= len)
        memcpy(in->bytes + below(state, in->len - len + 1), &number, len);
}

static void cut_out(struct input *in, uint64_t *state)
{
    size_t at = below(state, in->len + 1);
    size_t len = below(state, in->len - at < 64 ? in->len - at + 1 : 64);
    memmove(in->bytes + at, in->bytes + at + len, in->len - at - len);
    in->len -= len;
}

static void put_in(struct input *in, const struct seed *other, uint64_t *state)
{
    size_t from = below(state, other->len);
    size_t most = other->len - from < 64 ? other->len - from : 64;
    size_t len = below(state, most + 1), at = below(state, in->len + 1);
    if (in->len + len > sizeof in->bytes)
        return;
    memmove(in->bytes + at + len, in->bytes + at, in->len - at);
    memcpy(in->bytes + at, other->bytes + from, len);
    in->len += len;
}

static void change_once(struct input *in, const struct seed *other, uint64_t *state)
{
    size_t at = below(state, in->len);
    switch (below(state, 6)) {
    case 0:
        if (in->len)
            in->bytes[at] ^= (uint8_t)(1u << below(state, 8));
        break;
    case 1:
        if (in->len)
            in->bytes[at] = (uint8_t)next(state);
        break;
    case 2:
        write_number(in, state);
        break;
    case 3:
        cut_out(in, state);
        break;
    case 4:
        put_in(in, other, state);
        break;
    default:
        if (below(state, 4) == 0)
            in->len = at;
    }
}

static void make_input(struct input *in, const struct seed *seeds, size_t n, struct place at)
{
    const struct seed *s = &seeds[at.seed];
    uint64_t state = (at.seed + 1) * 0x9e3779b97f4a7c15 ^ at.change * 0xbf58476d1ce4e5b9;
    memcpy(in->bytes, s->bytes, s->len);
    in->len = s->len;
    if (at.change == 0)
        return;
    next(&state);
    for (size_t steps = 1 + below(&state, MAX_STEPS); steps > 0; steps--)
        change_once(in, &seeds[below(&state, n)], &state);
}

/* ------------------------------------------------------------------ running */

/* The target gets a block of just its length, so that a sanitizer sees a read past it. */
static void run(const struct input *in)
{
    uint8_t *bytes = malloc(in->len ? in->len : 1);
    if (!bytes)
        give_up("no memory", "an input");
    memcpy(bytes, in->bytes, in->len);
    alarm(LIMIT_S);
    LLVMFuzzerTestOneInput(bytes, in->len);
    alarm(0);
    free(bytes);
}

/* Changes are shared out evenly among the seeds. */
static void run_all(const struct seed *seeds, size_t n, size_t changes, struct place *at)
{
    static struct input in;
    for (at->seed = 0; at->seed < n; at->seed++) {
        for (at->change = 0; at->change <= changes / n; at->change++, at->n++) {
            make_input(&in, seeds, n, *at);
            run(&in);
        }
    }
}

static void keep_found(const char *program, const struct seed *seeds, size_t n, struct place at)
{
    static struct input in;
    char path[256];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "found.%s", slash ? slash + 1 : program);
    make_input(&in, seeds, n, at);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(in.bytes, 1, in.len, f) != in.len || fclose(f))
        give_up("cannot be written", path);
    printf("# %s, change %zu; kept as %s\n", seeds[at.seed].path, at.change, path);
}

int main(int argc, char **argv)
{
    static struct seed seeds[MAX_SEEDS];
    size_t n = 0, changes = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc; i++)
        n = read_seeds(argv[i], seeds, n);
    struct place *at =
        mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n == 0 || at == MAP_FAILED)
        give_up("no seeds; usage: replay CHANGES SEED...", argv[0]);
    pid_t child = fork();
    if (child == 0) {
        run_all(seeds, n, changes, at);
        exit(0); /* where leaks are looked for */
    }
    int status = -1;
    bool well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    printf("1..1\n%sok 1 - %s\n", well ? "" : "not ", "no_input_does_harm");
    printf("# %zu inputs of %zu seeds\n", at->n, n);
    if (!well && at->seed < n)
        keep_found(argv[0], seeds, n, *at);
    for (size_t i = 0; i < n; i++)
        free(seeds[i].bytes);
    return well ? 0 : 1;
}
