// Adds the pairs of every thread, always in the same order: thread t and t + 64, then t + 32, and
// so on. Needs `partials`, WANTED, and LANES, a number of threads that any subgroup has.

shared Pair tree[SUMS][THREADS / 2u];

void store_sums(Pair mine[SUMS], uint at)
{
    uint t = gl_LocalInvocationIndex;
    uint apart = THREADS / 2u;
    for (; apart >= LANES; apart >>= 1) {
        barrier();
        if (t >= apart && t < 2u * apart)
            [[unroll]] for (uint s = 0u; s < WANTED; s++)
                tree[s][t - apart] = mine[s];
        barrier();
        if (t < apart)
            [[unroll]] for (uint s = 0u; s < WANTED; s++)
                mine[s] = join(mine[s], tree[s][t]);
    }
    if (t >= LANES)
        return;
    for (; apart > 0u; apart >>= 1)
        [[unroll]] for (uint s = 0u; s < WANTED; s++) {
            float high = subgroupShuffleXor(mine[s].high, apart);
            float low = subgroupShuffleXor(mine[s].low, apart);
            mine[s] = join(mine[s], Pair(high, low));
        }
    if (t == 0u)
        [[unroll]] for (uint s = 0u; s < WANTED; s++) {
            partials[at + 2u * s] = floatBitsToUint(mine[s].high);
            partials[at + 2u * s + 1u] = floatBitsToUint(mine[s].low);
        }
}

// Four terms, added plainly.
float sum_of(vec4 v)
{
    precise float a = v.x + v.y;
    precise float b = v.z + v.w;
    precise float c = a + b;
    return c;
}
