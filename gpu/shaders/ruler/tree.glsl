// Adds SUMS pairs of every thread, always in the same order: thread t and t + 128, then t + 64, and
// so on. Needs `partials`, and LANES, a number of threads that any subgroup has.

shared Pair tree[SUMS][THREADS / 2u];

void store_sums(Pair mine[SUMS], uint position, uint chunk)
{
    uint t = gl_LocalInvocationIndex;
    uint apart = THREADS / 2u;
    for (; apart >= LANES; apart >>= 1) {
        barrier();
        if (t >= apart && t < 2u * apart)
            [[unroll]] for (uint s = 0u; s < SUMS; s++)
                tree[s][t - apart] = mine[s];
        barrier();
        if (t < apart)
            [[unroll]] for (uint s = 0u; s < SUMS; s++)
                mine[s] = join(mine[s], tree[s][t]);
    }
    if (t >= LANES)
        return;
    for (; apart > 0u; apart >>= 1)
        [[unroll]] for (uint s = 0u; s < SUMS; s++) {
            float high = subgroupShuffleXor(mine[s].high, apart);
            float low = subgroupShuffleXor(mine[s].low, apart);
            mine[s] = join(mine[s], Pair(high, low));
        }
    uint at = (position * chunks + chunk) * PARTIAL + 2u;
    if (t == 0u)
        [[unroll]] for (uint s = 0u; s < SUMS; s++) {
            partials[at + 2u * s] = floatBitsToUint(mine[s].high);
            partials[at + 2u * s + 1u] = floatBitsToUint(mine[s].low);
        }
}

// Four terms, which are added plainly, on top of a pair.
Pair add_four(Pair s, vec4 v)
{
    precise float a = v.x + v.y;
    precise float b = v.z + v.w;
    precise float c = a + b;
    return add(s, c);
}
