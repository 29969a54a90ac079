#!/usr/bin/env python3
"""Holds summaries of one scenario against each other: kldscope run --json, by different backends.

The first is what the others are compared with. Prints the largest relative difference of any KLD
mean and perplexity, and fails where one is above 1e-5, or where an arm that is the reference is not
exactly 0. Differences below 1e-10 nats don't count: as much comes of rounding logits to f32.

usage: same_numbers.py CPU.json OTHER.json...
"""
import json
import sys

ALLOWED = 1e-5
NOTHING = 1e-10
KEYS = ("kld_mean", "kld_reverse_mean", "ppl_arm", "ppl_ref")


def load(path):
    with open(path) as f:
        return json.load(f)


def worst_difference(a, b):
    worst = (0.0, "nothing differs")
    for one, other in zip(a["arms"], b["arms"], strict=True):
        if one["n"] != other["n"] or one["n"] == 0:
            sys.exit(f"{one['name']}: n is {one['n']} and {other['n']}")
        for key in KEYS:
            apart = abs(one[key] - other[key])
            if apart > NOTHING:
                worst = max(worst, (apart / (abs(one[key]) or 1), f"{one['name']} {key}"))
    return worst


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


def main():
    first = load(sys.argv[1])
    check_unchanged(first, sys.argv[1])
    failed = False
    for path in sys.argv[2:]:
        other = load(path)
        check_unchanged(other, path)
        apart, where = worst_difference(first, other)
        failed |= not apart <= ALLOWED
        print(f"{path}: {other['backend']['head']}, apart by {apart:.3g} at most ({where})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
