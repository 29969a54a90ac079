#include "lua/hooks/effects.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "lua/check/check.h"

#define LINE_BYTES 240

/* One printable line; a UTF-8 sequence is not cut in two. */
static char *cut_line(lua_State *L, const char *text)
{
    size_t n = strlen(text);
    if (n > LINE_BYTES)
        for (n = LINE_BYTES; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    char *line = malloc(n + 1);
    if (!line)
        ks_word_fail(L, KS_NO_MEMORY, "out of memory: %zu bytes for a note", n + 1);
    memcpy(line, text, n);
    line[n] = '\0';
    ks_text_one_line(line);
    return line;
}

void ks_effects_add(lua_State *L, enum ks_effect_kind kind, size_t arm, const char *text)
{
    struct ks_script *s = ks_script_of(L);
    if (s->n_effects == KS_MAX_EFFECTS)
        ks_word_fail(L, KS_BAD_INPUT, "more than %d notes at once; say less", KS_MAX_EFFECTS);
    char *line = cut_line(L, text);
    s->effects[s->n_effects++] = (struct ks_effect){.kind = kind, .arm = arm, .text = line};
}

void ks_effects_apply(struct ks_script *s, struct ks_run *run)
{
    for (size_t i = 0; i < s->n_effects; i++) {
        const struct ks_effect *e = &s->effects[i];
        if (e->kind == KS_EFFECT_NOTE)
            ks_run_note(run, KS_LOG_INFO, e->text);
        else if (e->kind == KS_EFFECT_DROP)
            ks_run_drop(run, e->arm, e->text);
        else
            ks_run_stop(run, e->text);
    }
    ks_script_clear_effects(s);
}
