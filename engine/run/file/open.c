/* Which file a run writes, and with what backend it may go on. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/run/file/keep.h"
#include "engine/run/state.h"

/* A run without a file that nobody asked for by name is better than none. */
static int open_file(struct ks_run *run, struct ks_error *err)
{
    const struct ks_plan *plan = run->plan;
    struct ks_keep *k = &run->keep;
    k->fresh = true;
    k->file = plan->resume ? ks_runfile_resume(plan->out, &k->fresh, err)
                           : ks_runfile_create(plan->out, err);
    if (k->file || !plan->out_optional || err->code != KS_SYSTEM)
        return k->file ? 0 : -1;
    ks_board_note(run->board, KS_LOG_WARNING, "%s; this run is kept in no file (--out names one)",
                  err->text);
    free(run->plan->out);
    run->plan->out = NULL;
    return 0;
}

static int fail_backend(const struct ks_run *run, const char *recorded, const char *now,
                        struct ks_error *err)
{
    return ks_fail(err, KS_BAD_INPUT,
                   "%s: this run cannot go on there: its heads were on %.300s and are asked for on "
                   "the %s now; leave --head away, or name another file with --out",
                   ks_runfile_path(run->keep.file), recorded, now);
}

/* "vulkan NAME (PATH)": what the plan has to ask for to get it again. */
static int ask_for_device(struct ks_plan *plan, const char *recorded, struct ks_error *err)
{
    static const struct {
        const char *name;
        enum ks_head_path path;
    } paths[] = {{" (few rows)", KS_HEAD_PATH_FEW},
                 {" (many rows)", KS_HEAD_PATH_MANY},
                 {" (matrix cores)", KS_HEAD_PATH_MATRIX}};
    const char *name = recorded + sizeof "vulkan " - 1;
    size_t len = strlen(name);
    plan->head = KS_HEAD_VULKAN;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        size_t tail = strlen(paths[i].name);
        if (len <= tail || strcmp(name + len - tail, paths[i].name) != 0)
            continue;
        if (plan->head_path == KS_HEAD_PATH_AUTO)
            plan->head_path = paths[i].path;
        len -= tail;
        break;
    }
    if (!plan->device)
        plan->device = strndup(name, len);
    return plan->device ? 0 : ks_fail_memory(err, len, "a device's name");
}

/* What is asked for otherwise by name will differ in the facts, and be refused there. */
static int take_backend(struct ks_run *run, const char *recorded, struct ks_error *err)
{
    struct ks_plan *plan = run->plan;
    bool device = strncmp(recorded, "vulkan ", 7) == 0;
    if (device && plan->head == KS_HEAD_CPU)
        return fail_backend(run, recorded, "cpu", err);
    if (device)
        return ask_for_device(plan, recorded, err);
    if (plan->head == KS_HEAD_VULKAN)
        return fail_backend(run, recorded, "GPU", err);
    plan->head = KS_HEAD_CPU;
    return 0;
}

int ks_keep_open(struct ks_run *run, struct ks_error *err)
{
    if (!run->plan->out)
        return 0;
    if (open_file(run, err))
        return -1;
    if (!run->keep.file || run->keep.fresh)
        return 0;
    struct ks_arena a = {0};
    struct ks_facts facts;
    int failed = ks_runfile_read_facts(run->keep.file, &a, &facts, err) ||
                 take_backend(run, facts.backend_head, err);
    ks_arena_finish(&a);
    return failed ? -1 : 0;
}
