#include "engine/run/board/fill.h"

#include <string.h>

static int copy(const char *text, struct ks_arena *arena, const char **out, struct ks_error *err)
{
    *out = ks_arena_strdup(arena, text);
    return *out ? 0 : ks_fail_memory(err, strlen(text) + 1, "a snapshot");
}

int ks_fill_progress(const struct ks_runfile_progress *p, struct ks_arena *arena,
                     struct ks_snapshot *out, struct ks_error *err)
{
    out->state = p->state;
    out->failure_code = p->failure_code;
    out->windows = p->windows;
    out->positions = p->positions;
    out->tokens = p->tokens;
    out->windows_on_cpu = p->windows_on_cpu;
    out->prepare_ns = p->prepare_ns;
    out->elapsed_ns = p->elapsed_ns;
    out->cpu_ns = p->cpu_ns;
    out->flops = p->flops;
    return copy(p->failure, arena, &out->failure, err);
}

int ks_fill_numbers(const struct ks_tally *t, size_t n_corpora, struct ks_arena *arena,
                    struct ks_numbers *out, struct ks_error *err)
{
    size_t windows = ks_tally_windows(t);
    out->corpora = ks_arena_alloc(arena, n_corpora, sizeof *out->corpora);
    out->trend = ks_arena_alloc(arena, windows, sizeof *out->trend);
    if (!out->corpora || !out->trend)
        return ks_fail_memory(err, windows * sizeof *out->trend, "a snapshot");
    return ks_tally_read(t, out, err);
}

int ks_fill_arm(const struct ks_tally *t, size_t n_corpora, enum ks_arm_state state,
                const char *why, struct ks_arena *arena, struct ks_arm_snapshot *out,
                struct ks_error *err)
{
    out->state = state;
    return copy(why, arena, &out->why, err) ||
                   ks_fill_numbers(t, n_corpora, arena, &out->numbers, err)
               ? -1
               : 0;
}
