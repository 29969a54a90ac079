// Adds a pair of every thread, always in the same order. Needs `partials`.

shared Pair tree[THREADS];

void store_sum(Pair mine, uint at)
{
    uint t = gl_LocalInvocationIndex;
    barrier();
    tree[t] = mine;
    for (uint apart = THREADS / 2u; apart > 0u; apart >>= 1) {
        barrier();
        if (t < apart)
            tree[t] = join(tree[t], tree[t + apart]);
    }
    if (t == 0u) {
        partials[at] = floatBitsToUint(tree[0].high);
        partials[at + 1u] = floatBitsToUint(tree[0].low);
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
