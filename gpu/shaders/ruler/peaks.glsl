// The part of a pass over a row that finds its peaks: keys of groups, columns before the target,
// flags. Needs `keys` and `partials`.

uvec2 best = uvec2(0u);
uvec2 target = uvec2(0u); // its key
uint least = ~0u;         // order
uint before = 0u;

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

// Four columns of a thread, which come in rising order. Those past the row's end lose against every
// real one, as an equal one is further down.
void look(uvec4 bits, uint column)
{
    uvec4 o = uvec4(order(bits.x), order(bits.y), order(bits.z), order(bits.w));
    uint most = max(max(o.x, o.y), max(o.z, o.w));
    least = min(least, min(min(o.x, o.y), min(o.z, o.w)));
    if (most > best.x) {
        uint q = o.x == most ? 0u : o.y == most ? 1u : o.z == most ? 2u : 3u;
        best = uvec2(most, ~(column + q));
    }
    if (most >= target.x)
        for (uint q = 0u; q < 4u; q++)
            before += above(uvec2(o[q], ~(column + q)), target) ? 1u : 0u;
}

// Keys and tallies of the chunk; flags: what else is to be told of the row. A barrier comes before
// the tallies are stored.
void settle(uint position, uint chunk, uint flags)
{
    uint t = gl_LocalInvocationIndex;
    uvec2 other = subgroupShuffleXor(best, 1u);
    if (t % 2u == 0u)
        keys[(position * chunks + chunk) * GROUPS + t / 2u] = above(other, best) ? other : best;
    // NaN of either sign, or +inf
    flags |= best.x >= 0xff800000u || least < 0x007fffffu ? 1u : 0u;
    barrier();
    if (before != 0u)
        atomicAdd(all_before, before);
    if (flags != 0u)
        atomicOr(all_flags, flags);
}

void store_tallies(uint position, uint chunk)
{
    if (gl_LocalInvocationIndex == 0u) {
        uint at = (position * chunks + chunk) * PARTIAL;
        partials[at] = all_before;
        partials[at + 1u] = all_flags;
    }
}
