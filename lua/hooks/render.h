/*
 * A chat's render function, its own or its format's, called from the engine.
 */
#ifndef KS_LUA_HOOKS_RENDER_H
#define KS_LUA_HOOKS_RENDER_H

#include "lua/script/script.h"

struct ks_renderer {
    struct ks_script **script; /* the host's; becomes NULL when it is abandoned */
    int function;              /* in the script's registry */
    const char *where;         /* of the corpus, or its name; the plan's */
};

/* ks_corpus_spec.render, with a ks_renderer as its context. */
int ks_render(void *ctx, const struct ks_message *messages, size_t n, struct ks_rendered *out,
              struct ks_error *err);

#endif
