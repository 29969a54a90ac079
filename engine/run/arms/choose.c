#include "engine/run/arms/choose.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/head/head.h"
#include "engine/run/arms/trial.h"

/* A CPU does as much in about half a second, and a device takes as long to start. */
#define FEWEST_FLOPS 1e11

/* ------------------------------------------------------------------ the trial's thread */

struct ks_head_trial {
    pthread_t thread;
    struct ks_head_wish wish;
    const struct ks_matrix *head;
    struct ks_device *device;
    struct ks_trial trial;
    bool failed;
    struct ks_error err;
};

/* Tries one path. */
static int try_path(struct ks_trial *t, struct ks_device *device, enum ks_gpu_path path,
                    struct ks_error *err)
{
    if (ks_device_check(device, path, t->head, "the output head", err))
        return -1;
    ks_device_take_path(device, path);
    return ks_trial_compute(t, device, err) || ks_trial_time(t, device, err) ? -1 : 0;
}

/* The fastest path that the wish allows and the device proves. */
static int try_paths(struct ks_trial *t, struct ks_device *device, enum ks_head_path wish,
                     struct ks_error *err)
{
    enum ks_gpu_path paths[KS_GPU_PATHS];
    size_t n = ks_head_paths(wish, paths);
    for (size_t i = 0; i < n; i++) {
        if (try_path(t, device, paths[i], err) == 0)
            return 0;
        if (err->code != KS_UNSUPPORTED)
            return -1;
    }
    return -1;
}

static int open_and_try(struct ks_head_trial *t, struct ks_error *err)
{
    const struct ks_head_wish *w = &t->wish;
    t->device = ks_device_open(w->which, t->head->rows, w->top_k, w->isa, err);
    if (!t->device || ks_trial_init(&t->trial, t->head, ks_device_positions(t->device), err))
        return -1;
    return try_paths(&t->trial, t->device, w->path, err);
}

static void *trial_main(void *arg)
{
    struct ks_head_trial *t = arg;
    t->failed = open_and_try(t, &t->err) != 0;
    return NULL;
}

static struct ks_head_trial *begin(const struct ks_head_wish *wish, const struct ks_matrix *head)
{
    struct ks_head_trial *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->wish = *wish;
    t->head = head;
    if (pthread_create(&t->thread, NULL, trial_main, t)) {
        free(t);
        return NULL;
    }
    return t;
}

void ks_head_begin(struct ks_head_use *use, const struct ks_head_wish *wish,
                   const struct ks_matrix *head, double flops)
{
    bool asked = wish->choice == KS_HEAD_VULKAN || wish->which || wish->path != KS_HEAD_PATH_AUTO;
    const char *why = NULL;
    *use = (struct ks_head_use){.wish = *wish, .gain = NAN};
    if (wish->choice == KS_HEAD_CPU)
        why = "as asked";
    else if (!asked && flops < FEWEST_FLOPS)
        why = "there is too little to multiply for a device to be worth its start";
    else if (!(use->trial = begin(wish, head)))
        why = "no thread was to be had to try a device on";
    use->warn = asked && wish->choice != KS_HEAD_CPU;
    snprintf(use->note, sizeof use->note, "%s", why ? why : "");
}

/* What is left of a trial whose thread is over; its device is somebody else's. */
static void trial_free(struct ks_head_trial *t)
{
    ks_trial_finish(&t->trial);
    free(t);
}

void ks_head_end(struct ks_head_use *use)
{
    if (use->trial) {
        pthread_join(use->trial->thread, NULL);
        ks_device_close(use->trial->device);
        trial_free(use->trial);
        use->trial = NULL;
    }
    ks_device_close(use->device);
    use->device = NULL;
}

/* ------------------------------------------------------------------ the decision */

static int check_heads(const struct ks_device *device, enum ks_gpu_path path,
                       const struct ks_named_head *heads, size_t n, struct ks_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (ks_device_check(device, path, &heads[i].net->head, heads[i].name, err))
            return -1;
    return 0;
}

/* A device multiplies; it does nothing else to logits. */
static int check_products(const struct ks_named_head *heads, size_t n, struct ks_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!ks_net_head_is_product(heads[i].net))
            return ks_fail(err, KS_UNSUPPORTED,
                           "%s: this architecture adds to its logits or caps them, which devices "
                           "don't do yet",
                           heads[i].name);
    return 0;
}

/*
 * One path serves all heads, or rows of equal weights would differ: where an arm's head doesn't
 * have the path that was tried, the next that all have is, here and now.
 */
static int agree_on_path(struct ks_head_trial *t, const struct ks_named_head *heads, size_t n,
                         struct ks_error *err)
{
    enum ks_gpu_path paths[KS_GPU_PATHS], tried = ks_device_path(t->device);
    size_t n_paths = ks_head_paths(t->wish.path, paths), i = 0;
    while (paths[i] != tried)
        i++;
    for (; i < n_paths; i++)
        if (check_heads(t->device, paths[i], heads, n, err) == 0)
            return paths[i] == tried ? 0 : try_path(&t->trial, t->device, paths[i], err);
    return -1;
}

/* Whether the heads find room, as far as the device tells. */
static int check_room(const struct ks_device *device, const struct ks_named_head *heads, size_t n,
                      struct ks_error *err)
{
    uint64_t bytes = 0, room = ks_device_room(device);
    for (size_t i = 0; i < n; i++) {
        bool seen = ks_device_holds(device, &heads[i].net->head);
        for (size_t j = 0; j < i && !seen; j++)
            seen = heads[j].net->head.data == heads[i].net->head.data;
        uint64_t row = 0;
        ks_type_row_bytes(heads[i].net->head.type, heads[i].net->head.cols, &row);
        bytes += seen ? 0 : row * heads[i].net->head.rows;
    }
    if (bytes <= room)
        return 0;
    return ks_fail(err, KS_NO_MEMORY,
                   "the heads of this run need %.2f GB there and %.2f GB are free",
                   (double)bytes / 1e9, (double)room / 1e9);
}

/* While the run begins with its bodies. */
static int prepare_heads(struct ks_device *device, const struct ks_named_head *heads, size_t n,
                         struct ks_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (ks_device_prepare(device, &heads[i].net->head, err))
            return -1;
    return 0;
}

static int decide(struct ks_head_use *use, struct ks_head_trial *t, struct ks_cpu *cpu,
                  const struct ks_named_head *heads, size_t n, struct ks_error *err)
{
    if (t->failed) {
        *err = t->err;
        return -1;
    }
    if (check_products(heads, n, err) || agree_on_path(t, heads, n, err) ||
        check_room(t->device, heads, n, err) || ks_trial_compare(&t->trial, cpu, err) ||
        ks_trial_gain(&t->trial, cpu, &use->gain, err))
        return -1;
    if (use->wish.choice == KS_HEAD_AUTO && use->gain < 1)
        return ks_fail(err, KS_UNSUPPORTED, "slower here, %.3g times the cpu's speed", use->gain);
    return prepare_heads(t->device, heads, n, err);
}

/* "NAME: why", or why alone where there is no device. */
static void note_failure(struct ks_head_use *use, const struct ks_device *device,
                         const struct ks_error *err)
{
    int room = (int)sizeof use->note;
    if (device)
        snprintf(use->note, sizeof use->note, "%.100s: %.*s", ks_device_name(device), room - 110,
                 err->text);
    else
        snprintf(use->note, sizeof use->note, "%.*s", room - 1, err->text);
}

void ks_head_choose(struct ks_head_use *use, struct ks_cpu *cpu, const struct ks_named_head *heads,
                    size_t n)
{
    struct ks_head_trial *trial = use->trial;
    struct ks_error err;
    if (!trial)
        return;
    use->trial = NULL;
    pthread_join(trial->thread, NULL);
    if (decide(use, trial, cpu, heads, n, &err) == 0) {
        use->device = trial->device;
    } else {
        note_failure(use, trial->device, &err);
        ks_device_close(trial->device);
    }
    trial_free(trial);
}

/* ------------------------------------------------------------------ once more */

static int prove(struct ks_device *device, enum ks_gpu_path path, struct ks_cpu *cpu,
                 const struct ks_matrix *head, struct ks_error *err)
{
    struct ks_trial t = {0};
    ks_device_take_path(device, path);
    int failed = ks_trial_init(&t, head, ks_device_positions(device), err) ||
                 ks_trial_compute(&t, device, err) || ks_trial_compare(&t, cpu, err);
    ks_trial_finish(&t);
    return failed ? -1 : 0;
}

int ks_head_reopen(struct ks_head_use *use, struct ks_cpu *cpu, const struct ks_matrix *head,
                   struct ks_error *err)
{
    enum ks_gpu_path path = ks_device_path(use->device);
    char uuid[33];
    snprintf(uuid, sizeof uuid, "%s", ks_device_uuid(use->device));
    ks_device_close(use->device);
    use->device = NULL;
    if (use->reopened)
        return ks_fail(err, KS_SYSTEM, "it was opened anew before");
    use->reopened = true;
    struct ks_device *device =
        ks_device_open(uuid, head->rows, use->wish.top_k, use->wish.isa, err);
    if (!device || prove(device, path, cpu, head, err)) {
        ks_device_close(device);
        return -1;
    }
    use->device = device;
    return 0;
}
