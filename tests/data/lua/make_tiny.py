#!/usr/bin/env python3
"""Writes tiny.gguf: a llama of 2 layers, hidden 32, vocabulary 16, all weights zero, no tokenizer.

Only its shape matters to the tests of scenarios, which read its fields and compute nothing.
"""
import struct
import sys

LAYERS, HIDDEN, FFN, HEADS, VOCAB, CONTEXT = 2, 32, 64, 2, 16, 128
U32, F32, STRING = 4, 6, 8
TYPE_F32, TYPE_F16 = 0, 1
ALIGNMENT = 32


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(key, kind, v):
    packed = string(v) if kind == STRING else struct.pack("<I" if kind == U32 else "<f", v)
    return string(key) + struct.pack("<I", kind) + packed


values = [
    value("general.architecture", STRING, "llama"),
    value("general.name", STRING, "Tiny zero"),
    value("llama.block_count", U32, LAYERS),
    value("llama.context_length", U32, CONTEXT),
    value("llama.embedding_length", U32, HIDDEN),
    value("llama.feed_forward_length", U32, FFN),
    value("llama.attention.head_count", U32, HEADS),
    value("llama.attention.head_count_kv", U32, HEADS),
    value("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
]
tensors = [("token_embd.weight", TYPE_F16, [HIDDEN, VOCAB]), ("output_norm.weight", TYPE_F32, [HIDDEN])]
for i in range(LAYERS):
    tensors += [
        (f"blk.{i}.attn_norm.weight", TYPE_F32, [HIDDEN]),
        (f"blk.{i}.attn_q.weight", TYPE_F16, [HIDDEN, HIDDEN]),
        (f"blk.{i}.attn_k.weight", TYPE_F16, [HIDDEN, HIDDEN]),
        (f"blk.{i}.attn_v.weight", TYPE_F16, [HIDDEN, HIDDEN]),
        (f"blk.{i}.attn_output.weight", TYPE_F16, [HIDDEN, HIDDEN]),
        (f"blk.{i}.ffn_norm.weight", TYPE_F32, [HIDDEN]),
        (f"blk.{i}.ffn_gate.weight", TYPE_F16, [HIDDEN, FFN]),
        (f"blk.{i}.ffn_up.weight", TYPE_F16, [HIDDEN, FFN]),
        (f"blk.{i}.ffn_down.weight", TYPE_F16, [FFN, HIDDEN]),
    ]

head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values)
offset = 0
for name, kind, dims in tensors:
    head += string(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
    head += struct.pack("<IQ", kind, offset)
    size = 4 if kind == TYPE_F32 else 2
    for d in dims:
        size *= d
    offset += -(-size // ALIGNMENT) * ALIGNMENT
head += b"\0" * (-len(head) % ALIGNMENT)
with open(sys.argv[1], "wb") as f:
    f.write(head + b"\0" * offset)
