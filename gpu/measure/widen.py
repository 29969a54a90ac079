#!/usr/bin/env python3
"""Writes a model with a wider vocabulary, to measure what a wide output head costs in a whole run.

The tokens that are added are never met in a text; their rows of the embedding table, which is also
the head, are the old ones over again, scaled. So distributions stay peaked, and every row of logits
is as wide as asked for.

usage: widen.py IN.gguf OUT.gguf TOKENS      a tied llama-type model of F16, GGUF version 3
"""
import struct
import sys

import numpy as np

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY, U32 = 8, 9, 4
ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def string(self):
        return self.take(self.number("Q"))

    def value(self, kind):
        """Scalars and strings as their bytes; arrays as [kind, items]."""
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, n = self.number("I"), self.number("Q")
            return [inner, [self.value(inner) for _ in range(n)]]
        return self.take(SIZES[kind])


def text(s):
    return struct.pack("<Q", len(s)) + s


def packed(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(packed(inner, i) for i in items)
    return value


def aligned(n):
    return (n + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def widen_metadata(pairs, tokens):
    for key, kind, value in pairs:
        if key.endswith(b".vocab_size"):
            yield key, kind, struct.pack("<I", tokens)
            continue
        if key == b"tokenizer.ggml.tokens":
            more = range(tokens - len(value[1]))
            value = [STRING, value[1] + [b"[more %d]" % i for i in more]]
        elif key == b"tokenizer.ggml.token_type":
            unused = struct.pack("<i", 5)
            value = [value[0], value[1] + [unused] * (tokens - len(value[1]))]
        elif key == b"tokenizer.ggml.scores":
            value = [value[0], value[1] + [bytes(4)] * (tokens - len(value[1]))]
        yield key, kind, value


def widen_table(table, cols, tokens):
    rows = np.frombuffer(table, np.float16).reshape(-1, cols)
    more = np.resize(rows, (tokens - len(rows), cols)).astype(np.float32)
    more *= np.random.default_rng(1).uniform(0.2, 0.6, (len(more), 1))
    return rows.tobytes() + more.astype(np.float16).tobytes()


def main():
    source, target, tokens = sys.argv[1], sys.argv[2], int(sys.argv[3])
    r = Reader(open(source, "rb").read())
    assert r.take(4) == b"GGUF" and r.number("I") == 3
    n_tensors, n_pairs = r.number("Q"), r.number("Q")
    pairs = []
    for _ in range(n_pairs):
        key, kind = r.string(), r.number("I")
        pairs.append((key, kind, r.value(kind)))
    tensors = []
    for _ in range(n_tensors):
        name, dims = r.string(), r.number("I")
        shape = [r.number("Q") for _ in range(dims)]
        tensors.append([name, shape, r.number("I"), r.number("Q")])
    base = aligned(r.at)
    ends = sorted(t[3] for t in tensors)[1:] + [len(r.data) - base]
    length = dict(zip(sorted(t[3] for t in tensors), ends))
    out, at, blobs = bytearray(), 0, []
    for name, shape, kind, offset in tensors:
        blob = r.data[base + offset:base + length[offset]]
        if name == b"token_embd.weight":
            assert kind == 1
            blob = widen_table(blob[:2 * shape[0] * shape[1]], shape[0], tokens)
            shape[1] = tokens
        blobs.append(blob + bytes(aligned(len(blob)) - len(blob)))
        out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)
        at += len(blobs[-1])
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_pairs))
    for key, kind, value in widen_metadata(pairs, tokens):
        head += text(key) + struct.pack("<I", kind) + packed(kind, value)
    head += out
    head += bytes(aligned(len(head)) - len(head))
    with open(target, "wb") as f:
        f.write(head)
        for blob in blobs:
            f.write(blob)


if __name__ == "__main__":
    main()
