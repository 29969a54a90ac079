// The top columns of a position: the groups with the largest keys hold them all, so only those are
// read again. Twin: ks_gpu_ruler_twin_peaks.
#version 460
#extension GL_GOOGLE_include_directive : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable

layout(constant_id = 0) const uint TOP = 10;
layout(constant_id = 1) const uint LANES = 8; // that any subgroup has

#include "row.glsl"

const uint PICKERS = 128;

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Rows { uint rows[]; };
layout(std430, binding = 1) readonly buffer Targets { uint targets[]; };
layout(std430, binding = 2) readonly buffer Keys { uvec2 keys[]; };
layout(std430, binding = 3) readonly buffer Partials { uint partials[]; };
layout(std430, binding = 4) writeonly buffer Picks { uint picks[]; };

shared uvec2 tree[PICKERS / LANES];
shared uvec2 chosen[TOP];
shared uint candidates[TOP * GROUP]; // orders; 0 where there is no column
shared uint all_before;
shared uint all_flags;

uvec2 largest(uvec2 mine)
{
    uint t = gl_LocalInvocationIndex;
    for (uint apart = 1u; apart < LANES; apart <<= 1) {
        uvec2 other = subgroupShuffleXor(mine, apart);
        mine = above(other, mine) ? other : mine;
    }
    barrier();
    if (t % LANES == 0u)
        tree[t / LANES] = mine;
    barrier();
    for (uint i = 0u; i < PICKERS / LANES; i++)
        mine = above(tree[i], mine) ? tree[i] : mine;
    return mine;
}

uvec2 best_group(uint position, uvec2 below)
{
    uvec2 best = uvec2(0u);
    uint n = chunks * GROUPS, base = position * n;
    for (uint i = gl_LocalInvocationIndex; i < n; i += PICKERS) {
        uvec2 key = keys[base + i];
        if (above(below, key) && above(key, best))
            best = key;
    }
    return best;
}

uint candidate_column(uint i)
{
    uint some = ~chosen[i / GROUP].y, c = i % GROUP;
    uint start = some % SLICE / GROUP_SLICE * GROUP_SLICE;
    return some / CHUNK * CHUNK + c / GROUP_SLICE * SLICE + start + c % GROUP_SLICE;
}

uvec2 best_candidate(uvec2 below)
{
    uvec2 best = uvec2(0u);
    for (uint i = gl_LocalInvocationIndex; i < TOP * GROUP; i += PICKERS) {
        uvec2 key = uvec2(candidates[i], ~candidate_column(i));
        if (candidates[i] != 0u && above(below, key) && above(key, best))
            best = key;
    }
    return best;
}

void choose_groups(uint position)
{
    uvec2 mine = best_group(position, uvec2(~0u));
    for (uint i = 0u; i < TOP; i++) {
        uvec2 most = largest(mine);
        if (gl_LocalInvocationIndex == 0u)
            chosen[i] = most;
        if (mine == most && most.x != 0u)
            mine = best_group(position, most);
    }
}

void gather_candidates(uint base)
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < TOP * GROUP; i += PICKERS) {
        uint column = candidate_column(i);
        bool there = chosen[i / GROUP].x != 0u && column < width;
        candidates[i] = there ? order(rows[base + column]) : 0u;
    }
    barrier();
}

void store_top(uint at)
{
    uvec2 mine = best_candidate(uvec2(~0u));
    for (uint i = 0u; i < TOP; i++) {
        uvec2 most = largest(mine);
        if (gl_LocalInvocationIndex == 0u)
            picks[at + PICK + i] = ~most.y;
        if (mine == most && most.x != 0u)
            mine = best_candidate(most);
    }
}

void add_tallies(uint position)
{
    uint count = 0u, flags = 0u;
    for (uint c = gl_LocalInvocationIndex; c < chunks; c += PICKERS) {
        uint at = (position * chunks + c) * PARTIAL;
        count += partials[at];
        flags |= partials[at + 1u];
    }
    if (gl_LocalInvocationIndex == 0u) {
        all_before = 0u;
        all_flags = 0u;
    }
    barrier();
    atomicAdd(all_before, count);
    atomicOr(all_flags, flags);
}

void main()
{
    uint position = first + gl_WorkGroupID.x, at = position * (PICK + TOP);
    uint base = (row + gl_WorkGroupID.x) * stride;
    add_tallies(position);
    choose_groups(position);
    gather_candidates(base);
    store_top(at);
    if (gl_LocalInvocationIndex == 0u) {
        picks[at] = all_flags;
        picks[at + 1u] = all_before;
        picks[at + 2u] = rows[base + targets[position]];
        picks[at + 3u] = rows[base + ~chosen[0].y];
    }
}
