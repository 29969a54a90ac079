// The largest logit of every position in a block of 128 columns, which whoever makes the logits
// leaves behind, so that no one reads them all again for it. Of a row's last block, where the row
// ends within, it may be anything: whoever uses it looks at those columns by himself.
//
// Needs MAXIMA, the positions of a work-group. In order: clear_maxima, a barrier, offer_maximum
// from any thread, a barrier, store_maxima; all threads call the first and the last.

#include "order.glsl"

layout(std430, binding = 5) writeonly buffer Maxima { uint maxima[]; }; // (positions, blocks)

const uint MAXIMA_BLOCK = 128; // columns

shared uint largest[MAXIMA];

void clear_maxima()
{
    for (uint i = gl_LocalInvocationIndex; i < MAXIMA; i += gl_WorkGroupSize.x)
        largest[i] = 0u;
}

// What a thread has found for one of the work-group's positions, as order(floatBitsToUint(logit)).
void offer_maximum(uint position, uint found)
{
    atomicMax(largest[position], found);
}

// first: position of the work-group's first in the buffer; block: column / 128.
void store_maxima(uint first, uint block, uint blocks)
{
    for (uint i = gl_LocalInvocationIndex; i < MAXIMA; i += gl_WorkGroupSize.x)
        maxima[(first + i) * blocks + block] = largest[i];
}
