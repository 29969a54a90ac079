#!/usr/bin/env python3
"""Writes math.txt: arguments and true values of the functions of engine/kernels/elementary/math.h.

The truth is mpmath's with 400 bits, rounded once to a double pair: value = high + low, so that a
test can measure fractions of an ulp. A line: function x y high low, as C hexadecimal floats (y is 0
where the function has one argument).

usage: make_math_table.py > math.txt     (needs mpmath)
"""
import random
import struct

import mpmath
from mpmath import mpf

mpmath.mp.prec = 400
random.seed(20240917)


def uniform(a, b):
    return random.uniform(a, b)


def magnitude(a, b):
    """Log-uniform in 2^a..2^b."""
    return random.uniform(1, 2) * 2.0 ** random.randint(a, b - 1)


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def row(name, function, x, y=0.0):
    true = function(mpf(x), mpf(y)) if name == "pow" else function(mpf(x))
    high = float(true)
    low = float(true - mpf(high)) if high not in (float("inf"), 0.0) else 0.0
    print(name, x.hex(), y.hex(), high.hex(), low.hex())


def rows(name, function, arguments):
    for x in arguments:
        row(name, function, x)


def worst(*hexadecimal):
    """Arguments of the largest errors among some millions."""
    return [float.fromhex(x) for x in hexadecimal]


def main():
    signs = (1.0, -1.0)
    rows("exp", mpmath.exp,
         [uniform(-745, 709.7) for _ in range(150)] + [uniform(-1, 1) for _ in range(60)] +
         [s * magnitude(-60, 0) for s in signs for _ in range(20)] +
         [(k + 0.5) * 0.6931471805599453 for k in range(-40, 40)] +
         [-708.5, -720.25, -740.0, -745.1, 709.78, 0.0] +
         worst("0x1.748819bd5880cp-2", "0x1.8696b1ee3daa8p+8"))
    rows("log", mpmath.log,
         [magnitude(-1070, 1023) for _ in range(100)] + [uniform(0.5, 2) for _ in range(100)] +
         [1 + s * magnitude(-52, -1) for s in signs for _ in range(40)] + [5e-324, 2.0**-1022])
    rows("log1p", mpmath.log1p,
         [magnitude(-54, 1000) for _ in range(120)] + [-magnitude(-54, 0) for _ in range(60)] +
         [uniform(-0.999, 3) for _ in range(120)])
    rows("sin", mpmath.sin, worst("-0x1.9efe16e2fd0c8p-1", "0x1.23f96c0884008p+1"))
    rows("cos", mpmath.cos, worst("-0x1.3651dd9a23292p+1", "0x1.1041p+16"))
    row("pow", mpmath.power, 10000.0, float.fromhex("-0x1.7d7f8cb94428p-3"))
    rows("sin", mpmath.sin,
         [s * magnitude(-30, 30) for s in signs for _ in range(60)] +
         [uniform(-10, 10) for _ in range(100)] +
         [float(mpmath.pi / 2 * k) for k in list(range(-8, 9)) + [1000001, 355000000]] +
         [float(p) for p in range(0, 131072, 1311)])
    rows("cos", mpmath.cos,
         [s * magnitude(-30, 30) for s in signs for _ in range(60)] +
         [uniform(-10, 10) for _ in range(100)] +
         [float(mpmath.pi / 2 * k) for k in list(range(-8, 9)) + [1000001, 355000000]] +
         [float(p) for p in range(0, 131072, 1311)])
    for base in (10000.0, 1e6, 5e5, 2.0, 0.37):
        for _ in range(25):
            row("pow", mpmath.power, base, uniform(-2, 2))
    for dim in (64, 96, 128):
        for i in range(0, dim, 6):
            row("pow", mpmath.power, 10000.0, -i / dim)
    for _ in range(100):
        x = magnitude(-500, 500)
        row("pow", mpmath.power, x, uniform(-1, 1) * 700 / abs(float(mpmath.log(x))))
    rows("expf", mpmath.exp,
         [f32(uniform(-103, 88.7)) for _ in range(120)] + [f32(uniform(-1, 1)) for _ in range(60)] +
         [f32((k + 0.5) * 0.6931471805599453) for k in range(-30, 30)])
    rows("tanhf", mpmath.tanh,
         [f32(s * magnitude(-30, 5)) for s in signs for _ in range(60)] +
         [f32(uniform(-3, 3)) for _ in range(60)])


main()
