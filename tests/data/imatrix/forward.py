#!/usr/bin/env python3
"""Writes sums.f32: what an importance matrix of llama-tied.gguf holds for words.txt.

A forward pass of a llama in NumPy, f64, that shares nothing with the engine. It is held first
against ../model/llama-tied.logits.f32, which transformers made. words.ids.i32 is the text as token
ids; windows of 16 tokens that do not overlap. The file has, in the order of the tensors' names, the
sums of squares of each matrix's inputs by column, f32.

pip install gguf==0.19.0 numpy, then run it in this folder.
"""
import gguf
import numpy as np

MODEL = "../model/llama-tied"
WINDOW = 16

reader = gguf.GGUFReader(MODEL + ".gguf")
W = {t.name: t.data.astype(np.float64) for t in reader.tensors}
key = lambda name: reader.fields["llama." + name].contents()
LAYERS, HEADS, KV = key("block_count"), key("attention.head_count"), key("attention.head_count_kv")
EPS, BASE = key("attention.layer_norm_rms_epsilon"), key("rope.freq_base")
sums = {}


def norm(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * gain


def product(x, name):
    sums[name] = sums.get(name, 0) + (x * x).sum(0)
    return x @ W[name].T


def rotate(x):
    """x: (n, heads, dim), pairs of neighbours."""
    n, _, dim = x.shape
    angle = np.arange(n)[:, None] * BASE ** (-np.arange(0, dim, 2) / dim)
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)[:, None]
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def attend(q, k, v):
    n, _, dim = q.shape
    k, v = (np.repeat(t, HEADS // KV, 1) for t in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(dim)
    scores += np.triu(np.full((n, n), -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", weights, v).reshape(n, -1)


def forward(ids):
    x = W["token_embd.weight"][ids]
    n = len(ids)
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        h = norm(x, W[blk + "attn_norm.weight"])
        q, k, v = (product(h, f"{blk}attn_{p}.weight") for p in "qkv")
        q, k, v = q.reshape(n, HEADS, -1), k.reshape(n, KV, -1), v.reshape(n, KV, -1)
        x = x + product(attend(rotate(q), rotate(k), v), blk + "attn_output.weight")
        h = norm(x, W[blk + "ffn_norm.weight"])
        gate, up = product(h, blk + "ffn_gate.weight"), product(h, blk + "ffn_up.weight")
        x = x + product(gate / (1 + np.exp(-gate)) * up, blk + "ffn_down.weight")
    return norm(x, W["output_norm.weight"]) @ W["token_embd.weight"].T


logits = np.fromfile(MODEL + ".logits.f32", dtype=np.float32).reshape(-1, 320)
assert np.abs(forward(np.fromfile(MODEL + ".ids.i32", dtype=np.int32)) - logits).max() < 1e-4

sums.clear()
ids = np.fromfile("words.ids.i32", dtype=np.int32)
for at in range(0, len(ids), WINDOW):
    forward(ids[at : at + WINDOW])
np.concatenate([sums[name] for name in sorted(sums)]).astype(np.float32).tofile("sums.f32")
print(len(ids), "tokens", len(sums), "matrices", sum(len(s) for s in sums.values()), "columns")
