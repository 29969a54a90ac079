// The part of a pass over a row that finds its peaks: keys of groups, columns before the target,
// flags. Needs `keys` and `partials`.

uvec2 best = uvec2(0u);
uvec2 target = uvec2(0u); // its key
uint before = 0u;
bool bad = false;

shared uvec2 bests[THREADS];
shared uint all_before;
shared uint all_flags;

void set_target(uint bits, uint column)
{
    target = uvec2(order(bits), ~column);
    if (gl_LocalInvocationIndex == 0u) {
        all_before = 0u;
        all_flags = 0u;
    }
}

// Columns of a thread come in rising order.
void look(uint bits, uint column)
{
    uvec2 key = uvec2(order(bits), ~column);
    if (key.x > best.x)
        best = key;
    before += above(key, target) ? 1u : 0u;
    bad = bad || wrong(bits);
}

// flags: what else is to be told of the row.
void settle(uint position, uint chunk, uint flags)
{
    uint t = gl_LocalInvocationIndex;
    bests[t] = best;
    barrier();
    flags |= bad ? 1u : 0u;
    if (before != 0u)
        atomicAdd(all_before, before);
    if (flags != 0u)
        atomicOr(all_flags, flags);
    if (t < GROUPS) {
        uvec2 most = bests[4u * t];
        for (uint i = 1u; i < 4u; i++)
            most = above(bests[4u * t + i], most) ? bests[4u * t + i] : most;
        keys[(position * chunks + chunk) * GROUPS + t] = most;
    }
    barrier();
    if (t == 0u) {
        uint at = (position * chunks + chunk) * PARTIAL;
        partials[at] = all_before;
        partials[at + 1u] = all_flags;
    }
}
