// How the device's subgroups hold matrices: for each lane its 8 elements of x (first half) and of w
// (second half), as 16 * row + k. Devices keep that to themselves, but hold to it, so that what lies in
// memory the same way can be read without crossing over (split.comp, grains.comp).
#version 460
#extension GL_EXT_control_flow_attributes : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model

layout(local_size_x = 32) in;

layout(std430, binding = 0) writeonly buffer Lanes { uint lanes[]; }; // (2, 32, 8)

shared uvec4 numbers[32]; // f16 (16, 16), each its own index

void main()
{
    uint lane = gl_SubgroupInvocationID;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        float first = float(8u * lane + 2u * i);
        numbers[lane][i] = packFloat2x16(f16vec2(first, first + 1.0));
    }
    barrier();
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> w;
    coopMatLoad(x, numbers, 0u, 2u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(w, numbers, 0u, 2u, gl_CooperativeMatrixLayoutColumnMajor);
    [[unroll]] for (uint e = 0u; e < 8u; e++) {
        lanes[8u * lane + e] = uint(x[e]);
        lanes[256u + 8u * lane + e] = uint(w[e]);
    }
}
