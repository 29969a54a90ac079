/*
 * Everything a key can do, as one table. The hint bar, the help screen and the manual are made from
 * it; there is no key beside it, but for the characters of an open prompt.
 */
#ifndef KS_TUI_SCREEN_ACTIONS_H
#define KS_TUI_SCREEN_ACTIONS_H

#include <stddef.h>
#include <stdint.h>

struct ks_screen;

#define KS_ACTION_KEYS 4

struct ks_action {
    const char *name;              /* how a config binds it, "sort-next" */
    uint32_t keys[KS_ACTION_KEYS]; /* 0 behind the last; letters first, F-keys are aliases */
    const char *shown;             /* the keys as the help writes them */
    const char *hint_key, *hint;   /* in the hint bar; NULL: not there */
    int keep;                      /* the hint that is dropped last has the highest */
    const char *help;              /* what it does, for the help screen */
    void (*run)(struct ks_screen *s);
};

/* NULL past the end. */
const struct ks_action *ks_action_at(size_t i);
/* NULL: the key does nothing. */
const struct ks_action *ks_action_for(uint32_t key);

#endif
