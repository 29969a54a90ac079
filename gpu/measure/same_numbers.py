#!/usr/bin/env python3
"""Holds summaries of one scenario against each other: kldscope run --json, by different backends.

The first is what the others are compared with. Prints the largest relative difference of any KLD
mean and perplexity, and fails where one is above 1e-5, or where an arm that is the reference is not
exactly 0.

Of an arm that is hardly apart, f32 logits don't tell as much. A small KLD is half the variance of
the differences d between both rows of logits, so their rounding moves it by its covariance with d: a
position by no more than the rounding times sqrt(2 KLD), and a mean over n positions, where rounding
is independent, by about that over sqrt(n). A logit between 16 and 32 is rounded by up to 2^-20. Where
that makes more than 1e-5, for a KLD below 1.8e-2 / n, it is the limit instead, and such an arm's share
of it is told.

usage: same_numbers.py CPU.json OTHER.json...
"""
import json
import math
import sys

ALLOWED = 1e-5
ROUNDING = 2**-20


def load(path):
    with open(path) as f:
        return json.load(f)


def compare(one, other):
    """Of two numbers of an arm, by name: how far apart, relatively, and what is allowed."""
    for key in ("kld_mean", "kld_reverse_mean"):
        a, b = one[key], other[key]
        if a == b:
            continue
        lost = ROUNDING * math.sqrt(2 * a / one["n"]) / a if a else 0
        yield f"{one['name']} {key}", abs(a - b) / a if a else math.inf, max(ALLOWED, lost)
    for key in ("ppl_arm", "ppl_ref"):
        yield f"{one['name']} {key}", abs(one[key] / other[key] - 1), ALLOWED


def compare_all(first, other):
    for one, same in zip(first["arms"], other["arms"], strict=True):
        if one["n"] != same["n"] or one["n"] == 0:
            sys.exit(f"{one['name']}: n is {one['n']} and {same['n']}")
        yield from compare(one, same)


def check_unchanged(summary, path):
    """Arms that are the reference: their numbers are those of equal rows, exactly."""
    for arm in summary["arms"]:
        if arm["recipe"] != "reference":
            continue
        exact = arm["kld_mean"] == 0 and arm["kld_max"] == 0 and arm["topk_overlap"] == 1
        exact = exact and arm["ppl_arm"] == arm["ppl_ref"]
        print(f"{path}: arm {arm['name']} is the reference: kld_mean {arm['kld_mean']!r}")
        if not exact:
            sys.exit(f"{path}: {arm['name']} is not exactly 0")


def tell(path, other, found):
    """Whether all are within what is allowed; a NaN is not."""
    told = [f"{path}: {other['backend']['head']}"]
    plain = [f for f in found if f[2] == ALLOWED]
    name, apart, _ = max(plain, key=lambda f: f[1], default=("nothing differs", 0, 0))
    told.append(f"apart by {apart:.3g} at most ({name})")
    told += [f"{name} by {apart:.3g}, {apart / most:.2f} of f32's rounding"
             for name, apart, most in found if most > ALLOWED]
    print(", ".join(told))
    return all(apart <= most for _, apart, most in found)


def main():
    first = load(sys.argv[1])
    check_unchanged(first, sys.argv[1])
    same = True
    for path in sys.argv[2:]:
        other = load(path)
        check_unchanged(other, path)
        same &= tell(path, other, list(compare_all(first, other)))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
