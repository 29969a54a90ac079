#!/usr/bin/env python3
"""Makes the logits of models whose keys and values are kept as a type: python3 make.py.

The models are qwen3.gguf and gemma3.gguf of ../model, computed by transformers (CPU, f32, eager
attention) with one change: what its attention gets as keys (after the rope) and values goes through
gguf-py's quantizer and back first, each head's row by itself. Needs torch, transformers, gguf,
numpy.

A rounding has edges: where two programs differ in the last bits, a value beside an edge falls to
one side here and to the other there. So each token is the first of some whose keys and values all
keep a distance from the edges, and the sequence is as good as another.
"""

import numpy as np
import torch
import transformers as hf
from gguf import GGUFReader
from gguf.constants import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.qwen3 import modeling_qwen3

ROWS, VOCAB, BLOCK, CANDIDATES = 40, 320, 32, 64
# model, keys, values
SAMPLES = [
    ("qwen3", "F16", "BF16"),
    ("qwen3", "Q8_0", "Q8_0"),
    ("qwen3", "Q4_0", "Q5_1"),
    ("qwen3", "F32", "Q4_1"),
    ("qwen3", "Q5_1", "F32"),
    ("gemma3", "Q8_0", "Q5_0"),
    ("gemma3", "Q4_1", "F16"),
    ("gemma3", "Q5_0", "Q4_0"),
]
# Of a level of a block type; of a value's size, for halves and for blocks' scales. Independent f32
# programs agree to some 1e-6 of a vector's size.
LEVEL, SIZE = 4e-4, 4e-6

STEMS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
}
GEMMA = {
    "ffn_norm": "pre_feedforward_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
TOP = {"token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head"}


def config(name):
    shape = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=80, head_dim=32,
                 max_position_embeddings=256, rms_norm_eps=1e-6, attention_dropout=0.0,
                 pad_token_id=None, bos_token_id=1, eos_token_id=2, use_cache=False)
    if name == "qwen3":
        return hf.Qwen3Config(
            **shape, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            tie_word_embeddings=False,
            rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    kinds = ["sliding_attention"] * 5 + ["full_attention", "sliding_attention"]
    return hf.Gemma3TextConfig(
        **shape, num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1,
        tie_word_embeddings=True, query_pre_attn_scalar=32, sliding_window=16, layer_types=kinds,
        hidden_activation="gelu_pytorch_tanh",
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        })


def load(name):
    settings = config(name)
    settings._attn_implementation = "eager"
    gemma = name == "gemma3"
    model = (hf.Gemma3ForCausalLM if gemma else hf.Qwen3ForCausalLM)(settings).float().eval()
    stems = dict(STEMS, **GEMMA) if gemma else STEMS
    state = {}
    for t in GGUFReader(f"../model/{name}.gguf").tensors:
        w = torch.from_numpy(t.data.reshape(t.shape.tolist()[::-1]).astype(np.float32))
        if gemma and t.name.endswith("norm.weight"):
            w = w - 1
        stem = t.name.removesuffix(".weight")
        if stem.startswith("blk."):
            _, layer, part = stem.split(".")
            key = f"model.layers.{layer}.{stems[part]}.weight"
        else:
            key = f"{TOP[stem]}.weight" if stem == "output" else f"model.{TOP[stem]}.weight"
        state[key] = w
    if gemma:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True)
    return model


def rounded(x, kind):
    """Rows of x (..., head_dim) as they come back."""
    if kind == "F32":
        return x
    if kind == "F16":
        return x.astype(np.float16).astype(np.float32)
    rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]))
    return dequantize(quantize(rows, Type[kind]), Type[kind]).reshape(x.shape)


def off_halves(x, bits):
    """How far values are from where a float of so many bits rounds the other way, by their size."""
    exponent = np.floor(np.log2(np.maximum(np.abs(x), 1e-30)))
    steps = np.abs(x.astype(np.float64)) / 2.0 ** (exponent - bits)
    return np.abs(steps - np.floor(steps) - 0.5) * 2.0**-bits


def keeps_off(x, kind):
    """Whether each row (n, ...) of x is off every edge."""
    n, x = len(x), x.astype(np.float64)
    if kind == "F32":
        return np.ones(n, bool)
    if kind in ("F16", "BF16"):
        # What is small beside the rest is known to less than its own size; its steps are as small.
        large = np.abs(x) > 0.1 * np.abs(x).reshape(n, -1).max(1).reshape([n] + [1] * (x.ndim - 1))
        far = off_halves(x, 10 if kind == "F16" else 7) > (SIZE / 2 if kind == "F16" else SIZE)
        return (far | ~large).reshape(n, -1).all(1)
    b = x.reshape(n, -1, BLOCK)
    low, high = b.min(-1, keepdims=True), b.max(-1, keepdims=True)
    top = {"Q8_0": 127, "Q5_1": 31, "Q5_0": 16, "Q4_1": 15, "Q4_0": 8}[kind]
    stored = []
    if kind.endswith("_1"):
        scale = (high - low) / top
        level = (b - low) / scale
        stored = [scale, low]
        edge = 0.5
    else:
        extreme = np.where(high > -low, high, low)
        scale = extreme / (127 if kind == "Q8_0" else -top)
        level = b / scale
        stored = [scale]
        edge = 0.5
    off = np.abs(level - np.floor(level) - edge) > LEVEL
    sizes = [off_halves(s, 10) > SIZE for s in stored]
    extremes = np.abs(high + low) > SIZE * np.maximum(high, -low)
    return np.concatenate([off.reshape(n, -1), extremes.reshape(n, -1)]
                          + [s.reshape(n, -1) for s in sizes], 1).all(1)


class Cache:
    """Stands before the eager attention of a module."""

    def __init__(self, module):
        self.kinds, self.good = ("F32", "F32"), None
        self.module, self.attend = module, module.eager_attention_forward
        module.eager_attention_forward = self

    def __call__(self, layer, query, key, value, *args, **more):
        kept = []
        for x, kind in ((key, self.kinds[0]), (value, self.kinds[1])):
            plain = x.detach().numpy()
            if self.good is not None:  # of the newest position
                self.good &= keeps_off(plain[:, :, -1], kind)
            kept.append(torch.from_numpy(rounded(plain, kind)))
        return self.attend(layer, query, *kept, *args, **more)


def compute(model, cache, ids, kinds):
    cache.kinds, cache.good = kinds, np.ones(len(ids), bool)
    with torch.no_grad():
        return model(torch.from_numpy(ids)).logits.numpy(), cache.good


def choose_ids(model, cache, kinds, random):
    ids = np.zeros(0, np.int64)
    while len(ids) < ROWS:
        next_ids = random.permutation(VOCAB)[:CANDIDATES]
        tried = np.concatenate([np.tile(ids, (CANDIDATES, 1)), next_ids[:, None]], 1)
        _, good = compute(model, cache, tried, kinds)
        assert good.any(), f"{kinds}: no token keeps off the edges at {len(ids)}"
        ids = tried[good.argmax()]
    return ids


def make(model, cache, name, kinds, seed):
    ids = choose_ids(model, cache, kinds, np.random.default_rng(seed))
    logits, _ = compute(model, cache, ids[None], kinds)
    plain, _ = compute(model, cache, ids[None], ("F32", "F32"))
    stem = f"{name}-{kinds[0]}-{kinds[1]}"
    ids.astype("<i4").tofile(f"{stem}.ids.i32")
    logits[0].astype("<f4").tofile(f"{stem}.logits.f32")
    print(f"{stem}: moves logits by up to {np.abs(logits - plain).max():.3g}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    caches = {"qwen3": Cache(modeling_qwen3), "gemma3": Cache(modeling_gemma3)}
    models = {name: load(name) for name in caches}
    for name, model in models.items():  # the models are right to begin with
        ids = np.fromfile(f"../model/{name}.ids.i32", "<i4").astype(np.int64)
        want = np.fromfile(f"../model/{name}.logits.f32", "<f4").reshape(-1, VOCAB)
        got, _ = compute(model, caches[name], ids[None], ("F32", "F32"))
        assert np.abs(got[0, : len(want)] - want).max() < 1e-4
    for i, (name, keys, values) in enumerate(SAMPLES):
        make(models[name], caches[name], name, (keys, values), 2000 + i)
