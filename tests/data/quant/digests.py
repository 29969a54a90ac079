#!/usr/bin/env python3
"""Writes digests.json: SHA-256 of libgguf's bytes for rows that test_encode.c makes too.

pip install libgguf==0.2.2, then run it in this folder.
"""
import hashlib
import json

import libgguf
import numpy as np

ROWS, COLS = 128, 1024
PLAIN = "Q8_0 MXFP4 NVFP4 TQ1_0 TQ2_0".split()
BOTH = "Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS IQ2_S IQ3_XXS IQ3_S IQ1_M".split()
IMATRIX = "IQ2_XXS IQ2_XS IQ1_S".split()


def splitmix64(seed):
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = seed
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def value(u, row, col):
    """A sum of four uniforms; by row: all positive, mostly zero, steps, outliers."""
    s = sum(u >> shift & 0xFFFF for shift in (0, 16, 32, 48)) - 2 * 0xFFFF
    kind = row % 8
    if kind == 4:
        s = abs(s)
    elif kind == 5:
        s = s if u % 16 == 0 else 0
    elif kind == 6:
        s = s // 8192 * 8192
    elif kind == 7:
        s = s * 16 if col % 61 == 0 else s
    return s * 2.0 ** -(12 + row % 16)


def digest(x, kind, importance):
    q = libgguf.quantize_rows(x, getattr(libgguf.GGMLQuantizationType, kind), imatrix=importance)
    return hashlib.sha256(np.ascontiguousarray(q).tobytes()).hexdigest()


draws = splitmix64(2026)
x = np.array(
    [[value(next(draws), r, c) for c in range(COLS)] for r in range(ROWS)], dtype=np.float32
)
importance = np.array([(7919 * c % 97 + 1) / 64 for c in range(COLS)], dtype=np.float32)
out = {kind: {} for kind in PLAIN + BOTH + IMATRIX}
for kind in PLAIN + BOTH:
    out[kind]["plain"] = digest(x, kind, None)
for kind in BOTH + IMATRIX:
    out[kind]["imatrix"] = digest(x, kind, importance)
with open("digests.json", "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
