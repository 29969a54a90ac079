#include "lua/script/sandbox.h"

#include <stdlib.h>

#include "lua/script/failure.h"

#define HOOK_STEPS 1000
/* Blocks that take so long to fill that a few instructions can be late. */
#define LARGE_BYTES (64u << 10)

static void *allocate(void *ctx, void *block, size_t old, size_t size)
{
    struct ks_script *s = ctx;
    if (!block)
        old = 0; /* then it is the kind of object */
    if (size == 0) {
        s->memory_bytes -= old;
        free(block);
        return NULL;
    }
    bool grows = size > old;
    if (grows && size - old > s->limits.memory_bytes - s->memory_bytes) {
        s->memory_capped = true;
        return NULL;
    }
    if (grows && size >= LARGE_BYTES && ks_script_thread_late(s->thread)) {
        s->kill = s->kill ? s->kill : KS_KILL_TIME;
        return NULL;
    }
    void *moved = realloc(block, size);
    if (!moved && !grows)
        return block; /* Lua relies on it: shrinking never fails */
    if (moved)
        s->memory_bytes += size - old;
    return moved;
}

static void count(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct ks_script *s = ks_script_of(L);
    s->steps += HOOK_STEPS;
    if (!s->kill && s->steps > s->max_steps)
        s->kill = KS_KILL_STEPS;
    if (!s->kill && ks_script_thread_late(s->thread))
        s->kill = KS_KILL_TIME;
    if (!s->kill)
        return;
    lua_sethook(L, count, LUA_MASKCOUNT, 1); /* whoever catches this runs one instruction */
    ks_failure_raise_kill(L);
}

int ks_sandbox_open(struct ks_script *s, struct ks_error *err)
{
    s->memory_bytes = 0;
    s->L = lua_newstate(allocate, s);
    if (!s->L)
        return ks_fail(err, KS_NO_MEMORY, "out of memory for a Lua state");
    *(struct ks_script **)lua_getextraspace(s->L) = s;
    return 0;
}

void ks_sandbox_close(struct ks_script *s)
{
    if (s->L)
        lua_close(s->L);
    s->L = NULL;
}

int ks_sandbox_protect(struct ks_script *s, lua_CFunction fn, uint64_t max_steps)
{
    lua_State *L = s->L;
    s->steps = 0;
    s->max_steps = max_steps;
    s->kill = KS_KILL_NO;
    s->memory_capped = false;
    s->code = KS_BAD_INPUT;
    s->error.text[0] = '\0';
    lua_sethook(L, count, LUA_MASKCOUNT, HOOK_STEPS);
    lua_settop(L, 0);
    lua_pushcfunction(L, ks_failure_handler);
    lua_pushcfunction(L, fn);
    int status = lua_pcall(L, 0, 0, 1);
    lua_settop(L, 0);
    if (status == LUA_OK)
        return 0;
    ks_failure_finish(s, status);
    return -1;
}
