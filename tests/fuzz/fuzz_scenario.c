/*
 * Any bytes as a scenario: refused at a place in it, or a plan. It runs in the sandbox with small
 * limits, beside a model and corpora; what it may do to them is to read them.
 */
#include <string.h>

#include "lua/scenario.h"
#include "lua/script/limits.h"
#include "tests/fuzz/target.h"

static void make_neighbours(void)
{
    static const char text[] = "once\n", lines[] = "{\"text\": \"upon\"}\n",
                      chats[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n";
    size_t len;
    uint8_t *model = target_data("lua/tiny.gguf", &len);
    target_file("tiny.gguf", model, len);
    target_file("a.txt", text, strlen(text));
    target_file("b.jsonl", lines, strlen(lines));
    target_file("c.jsonl", chats, strlen(chats));
    free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct ks_script_limits limits = {
        .load_ms = 20000,
        .hook_ms = 20000,
        .load_steps = 100000,
        .hook_steps = 100000,
        .memory_bytes = 8u << 20,
        .text_bytes = 1u << 20,
    };
    static bool ready;
    if (!ready)
        make_neighbours();
    ready = true;
    const char *path = target_file("fuzz.lua", bytes, len);
    struct ks_error err = {0};
    struct ks_plan *plan = ks_scenario_load_within(path, NULL, 0, NULL, &limits, &err);
    if (plan)
        target_must(plan->reference && plan->n_arms > 0 && plan->n_corpora > 0);
    else
        target_must(err.code != KS_OK && strncmp(err.text, path, strlen(path)) == 0 &&
                    !strchr(err.text, '\n'));
    ks_plan_destroy(plan);
    return 0;
}
