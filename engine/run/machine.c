/* What this machine has, for `doctor`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/kernels/cpu.h"
#include "engine/run/machine.h"

static void cpu_name(char *name, size_t size)
{
    snprintf(name, size, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, size, "%s", colon);
        break;
    }
    fclose(f);
}

/* A line of /proc/meminfo, "MemAvailable:   123 kB", in bytes; 0 where there is none. */
static uint64_t meminfo(const char *key)
{
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f)
        return 0;
    char line[128];
    unsigned long long kib = 0;
    size_t len = strlen(key);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, len) == 0 && sscanf(line + len, ": %llu", &kib) == 1)
            break;
    fclose(f);
    return kib * 1024;
}

/* A number in a file of the control group; 0 where there is none ("max", or no such group). */
static uint64_t cgroup_number(const char *path)
{
    FILE *f = fopen(path, "re");
    unsigned long long n = 0;
    if (!f)
        return 0;
    if (fscanf(f, "%llu", &n) != 1)
        n = 0;
    fclose(f);
    return n;
}

uint64_t ks_machine_memory_available(void)
{
    uint64_t available = meminfo("MemAvailable");
    uint64_t limit = cgroup_number("/sys/fs/cgroup/memory.max");
    uint64_t used = cgroup_number("/sys/fs/cgroup/memory.current");
    if (limit > used && (available == 0 || limit - used < available))
        available = limit - used;
    return available;
}

int ks_machine_probe(struct ks_machine *out, struct ks_error *err)
{
    static const enum ks_isa all[] = {KS_ISA_SCALAR, KS_ISA_AVX2, KS_ISA_AVX512, KS_ISA_NEON};
    enum ks_isa isa;
    if (ks_isa_choose(&isa, err))
        return -1;
    *out = (struct ks_machine){.isa = ks_isa_name(isa)};
    cpu_name(out->cpu, sizeof out->cpu);
    out->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    out->threads = ks_threads_allowed();
    out->memory_bytes = meminfo("MemTotal");
    out->memory_available_bytes = ks_machine_memory_available();
    size_t runs = 0, not = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (ks_isa_runs(all[i]))
            out->isas[runs++] = ks_isa_name(all[i]);
        else
            out->isas_not[not ++] = ks_isa_name(all[i]);
    }
    return 0;
}
