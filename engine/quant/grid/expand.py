#!/usr/bin/env python3
"""Writes the sets of sets.txt as tables in C: expand.py sets.txt grids.c"""
import base64
import sys


def read_sets(path):
    """Yields name, base, coordinates, members, map as an integer."""
    with open(path) as f:
        text = "".join(line for line in f if not line.startswith("#"))
    for part in text.strip().split("\n\n"):
        head, *lines = part.split("\n")
        name, base, coordinates, members = head.split()
        bits = int.from_bytes(base64.b64decode("".join(lines)), "little")
        yield name, int(base), int(coordinates), int(members), bits


def code(point, base, coordinates):
    """The point's digits packed into the fields that grid.h describes."""
    width = 2 if base == 3 else 3
    digits = (point // base**k % base for k in range(coordinates))
    return sum(digit << width * k for k, digit in enumerate(digits))


def table(name, base, coordinates, members, bits):
    points = [p for p in range(base**coordinates) if bits >> p & 1]
    if len(points) != members or bits >> base**coordinates:
        sys.exit(f"{name}: {len(points)} points, not {members}")
    codes = (str(code(p, base, coordinates)) for p in points)
    return f"const uint16_t ks_grid_{name.lower()}[{members}] = {{{','.join(codes)}}};\n"


with open(sys.argv[2], "w") as out:
    out.write('#include "engine/quant/grid/grid.h"\n')
    for one in read_sets(sys.argv[1]):
        out.write(table(*one))
