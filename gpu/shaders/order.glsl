// How logits are ordered: by value, both zeros being one, ties to the lowest column.

// Rises with the float whose bits are given; NaN lie beyond the infinities.
uint order(uint bits)
{
    uint b = bits == 0x80000000u ? 0u : bits;
    return b ^ (uint(int(b) >> 31) | 0x80000000u);
}

// Of keys, which are an order and a column turned around.
bool above(uvec2 a, uvec2 b)
{
    return a.x > b.x || (a.x == b.x && a.y > b.y);
}
