/*
 * chat's `render = function(messages) return string end`, called from the engine.
 */
#ifndef KS_LUA_HOOKS_RENDER_H
#define KS_LUA_HOOKS_RENDER_H

#include "lua/script/script.h"

struct ks_renderer {
    struct ks_script **script; /* the host's; becomes NULL when it is abandoned */
    int function;              /* in the script's registry */
    const char *where;         /* of the corpus; the plan's */
};

/* ks_corpus_spec.render, with a ks_renderer as its context. */
char *ks_render(void *ctx, const struct ks_message *messages, size_t n, size_t *len,
                struct ks_error *err);

#endif
