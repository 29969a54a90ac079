#!/usr/bin/env python3
"""Makes the sample models that README.md names as this script's: python3 make.py [FOLDER].

Each is a transformers model with random weights, written as a GGUF the way that its architecture
is converted, and the logits that transformers computes from it (CPU, f32, eager attention).
Needs torch, transformers, gguf, numpy.
"""

import re
import sys

import gguf
import numpy as np
import torch
import transformers as hf

IDS, ROWS, VOCAB = 96, 48, 320
HIDDEN, HEADS, KV_HEADS, FFN = 32, 4, 2, 48
HEAD_DIM = HIDDEN // HEADS

COMMON = dict(
    vocab_size=VOCAB,
    hidden_size=HIDDEN,
    intermediate_size=FFN,
    num_hidden_layers=2,
    num_attention_heads=HEADS,
    num_key_value_heads=KV_HEADS,
    max_position_embeddings=256,
    pad_token_id=None,
    bos_token_id=1,
    eos_token_id=2,
    attention_dropout=0.0,
    use_cache=False,
)
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
# As files have it: four windowed layers of which the last sees all.
PATTERN = ["sliding_attention"] * 3 + ["full_attention"]

# Names of transformers' tensors, without ".weight" or ".bias", for the file's.
TENSORS = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.final_layernorm": "output_norm",
    "lm_head": "output",
}
LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.dense": "attn_output",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.fc1": "ffn_up",
    "mlp.fc2": "ffn_down",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
BEHIND = {  # norms behind the blocks, of families whose norms before them are named apart
    "post_attention_layernorm": "post_attention_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GEMMA3 = dict(BEHIND, pre_feedforward_layernorm="ffn_norm")
GLM4 = {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}


class Sample:
    def __init__(self, kind, arch, config, keys=(), names=(), adjust=None, tied=False, kv=KV_HEADS):
        self.kind, self.arch, self.keys = kind, arch, dict(keys)
        self.names = dict(LAYER, **dict(names))
        self.adjust = adjust
        merged = dict(COMMON, tie_word_embeddings=tied, num_key_value_heads=kv, **config)
        self.config = getattr(hf, kind + "Config")(**merged)
        self.config._attn_implementation = "eager"
        self.kv = kv


def plus_one(name, w):
    return w + 1 if name.endswith("norm.weight") else w


def adjacent(name, w):
    """Rotated pairs next to each other, from halves."""
    heads = {"attn_q.weight": HEADS, "attn_k.weight": KV_HEADS}.get(name.split(".", 2)[-1])
    if not heads:
        return w
    return w.reshape(heads, 2, -1, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def with_rms(**more):
    return dict(more, **{"attention.layer_norm_rms_epsilon": 1e-6})


def with_layer_norm(**more):
    return dict(more, **{"attention.layer_norm_epsilon": 1e-5})


RMS, LN = {"rms_norm_eps": 1e-6}, {"layer_norm_eps": 1e-5}
HALF = {"rope.dimension_count": HEAD_DIM // 2}
LONG = [1.0, 1.5, 2.5, 4.0]
SHORT = [1.0, 1.1, 1.2, 1.3]


YARN = {
    "rope_type": "yarn",
    "rope_theta": 500000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "attention_factor": float(0.1 * np.log(4) + 1),
}
PLAIN = {"rope_type": "default", "rope_theta": 500000.0}


def phi3(original, window=None):
    scale = 256 / original
    factor = float(np.sqrt(1 + np.log(scale) / np.log(original)))
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "factor": scale,
        "original_max_position_embeddings": original,
        "long_factor": LONG,
        "short_factor": SHORT,
    }
    config = dict(RMS, rope_parameters=rope, original_max_position_embeddings=original)
    keys = {
        "rope.dimension_count": HEAD_DIM,
        "rope.scaling.original_context_length": original,
        "rope.scaling.attn_factor": factor,
        "attention.sliding_window": window or 0,
    }
    return Sample("Phi3", "phi3", dict(config, sliding_window=window), with_rms(**keys))


SAMPLES = {
    "gemma": Sample(
        "Gemma", "gemma",
        dict(RMS, head_dim=16, hidden_act="gelu_pytorch_tanh"),
        with_rms(**{"attention.key_length": 16, "attention.value_length": 16}),
        adjust=plus_one, tied=True, kv=1,
    ),
    "gemma3-linear": Sample(
        "Gemma3Text" if hasattr(hf, "Gemma3TextConfig") else "Gemma3", "gemma3",
        dict(
            RMS, head_dim=16, hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=16,
            sliding_window=16, num_hidden_layers=6,
            final_logit_softcapping=8.0,
            layer_types=["sliding_attention"] * 5 + ["full_attention"],
            rope_parameters={
                "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
        ),
        with_rms(**{
            "attention.key_length": 16, "attention.value_length": 16,
            "attention.sliding_window": 16, "rope.freq_base": 1e6,
            "final_logit_softcapping": 8.0,
            "rope.scaling.type": "linear", "rope.scaling.factor": 4.0,
        }),
        names=GEMMA3, adjust=plus_one, tied=True, kv=1,
    ),
    "stablelm": Sample(
        "StableLm", "stablelm",
        dict(LN, rope_parameters=PARTIAL, use_qkv_bias=True),
        with_layer_norm(use_parallel_residual=False, **HALF),
    ),
    "stablelm-parallel": Sample(
        "StableLm", "stablelm",
        dict(LN, rope_parameters=PARTIAL, use_parallel_residual=True, qk_layernorm=True),
        with_layer_norm(use_parallel_residual=True, **HALF),
    ),
    "starcoder2": Sample(
        "Starcoder2", "starcoder2",
        dict(norm_epsilon=1e-5, use_bias=True, hidden_act="gelu_pytorch_tanh", sliding_window=None),
        with_layer_norm(), tied=True,
    ),
    "phi2": Sample(
        "Phi", "phi2",
        dict(LN, rope_parameters=PARTIAL, hidden_act="gelu_new"),
        with_layer_norm(**HALF), kv=HEADS,
    ),
    "nemotron": Sample(
        "Nemotron", "nemotron",
        dict(norm_eps=1e-5, rope_parameters=PARTIAL, hidden_act="relu2", head_dim=HEAD_DIM),
        with_layer_norm(**HALF), adjust=plus_one,
    ),
    "command-r": Sample(
        "Cohere", "command-r", dict(LN, logit_scale=0.25, rope_parameters=PLAIN),
        with_layer_norm(logit_scale=0.25, **{"rope.scaling.type": "none", "rope.freq_base": 5e5}),
        tied=True,
    ),
    "command-r-qk-norm": Sample(
        "Cohere", "command-r",
        dict(LN, logit_scale=0.25, use_qk_norm=True, rope_parameters=PLAIN),
        with_layer_norm(logit_scale=0.25, **{"rope.freq_base": 5e5}), tied=True,
    ),
    "cohere2": Sample(
        "Cohere2", "cohere2",
        dict(LN, logit_scale=0.25, sliding_window=16, num_hidden_layers=4, layer_types=PATTERN),
        with_layer_norm(logit_scale=0.25, **{"attention.sliding_window": 16}), tied=True,
    ),
    "olmo": Sample("Olmo", "olmo", {}, with_layer_norm(), adjust=adjacent),
    "olmo2-window": Sample(
        "Olmo3", "olmo2",
        dict(
            RMS, sliding_window=16, num_hidden_layers=4, layer_types=PATTERN,
            rope_parameters={"full_attention": YARN, "sliding_attention": PLAIN},
        ),
        with_rms(**{
            "attention.sliding_window": 16,
            "attention.sliding_window_pattern": [t == "sliding_attention" for t in PATTERN],
            "rope.freq_base": 500000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
            "rope.scaling.original_context_length": 32,
        }),
        names=BEHIND,
    ),
    "glm4": Sample(
        "Glm4", "glm4", dict(RMS, rope_parameters=PARTIAL, attention_bias=True, head_dim=HEAD_DIM),
        with_rms(**HALF), names=GLM4,
    ),
    "chatglm": Sample(
        "Glm", "chatglm", dict(RMS, rope_parameters=PARTIAL, attention_bias=True, head_dim=HEAD_DIM),
        with_rms(**HALF),
    ),
    "exaone4": Sample(
        "Exaone4", "exaone4",
        dict(
            RMS, sliding_window=16, sliding_window_pattern="LLLG", num_hidden_layers=4,
            layer_types=PATTERN, head_dim=HEAD_DIM,
        ),
        with_rms(**{"attention.sliding_window": 16}), names=BEHIND,
    ),
    "arcee": Sample("Arcee", "arcee", dict(RMS, hidden_act="relu2"), with_rms(), adjust=adjacent),
    "ernie4_5": Sample(
        "Ernie4_5", "ernie4_5", dict(RMS, head_dim=HEAD_DIM, rope_parameters=PLAIN),
        with_rms(**{"rope.freq_base": 5e5}),
    ),
    "seed_oss": Sample(
        "SeedOss", "seed_oss",
        dict(RMS, head_dim=16, attention_out_bias=False, residual_dropout=0.0),
        with_rms(**{"attention.key_length": 16, "attention.value_length": 16}),
        names={"post_attention_layernorm": "post_attention_norm"},
    ),
    "phi3-long": phi3(32),
    "phi3-short": phi3(128, window=16),
}


def randomize(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=g)
        if name.endswith("bias"):
            value = 0.2 * noise
        elif "norm" in name and p.dim() <= 2:
            one_plus = type(model).__name__.startswith(("Gemma", "Nemotron"))
            value = (0.0 if one_plus else 1.0) + 0.2 * noise
        elif "embed_tokens" in name or "lm_head" in name:
            value = 0.4 * noise
        else:
            value = 1.2 * noise / p.shape[1] ** 0.5
        p.data.copy_(value)


def tensors(sample, model):
    """The file's names and contents."""
    seen, heads = {}, {}
    for name, p in model.named_parameters():
        w = p.detach().numpy().astype(np.float32)
        own = re.fullmatch(r"(.*_layernorm)\.norms\.(\d+)\.weight", name)
        if own:  # a gain for each head
            heads.setdefault(own[1] + ".weight", []).append(w)
        else:
            seen[name] = w
    seen.update((name, np.stack(gains)) for name, gains in heads.items())
    for name, w in seen.items():
        stem, suffix = name.rsplit(".", 1)
        layer = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", stem)
        new = f"blk.{layer[1]}.{sample.names[layer[2]]}" if layer else TENSORS[stem]
        new = f"{new}.{suffix}"
        yield new, sample.adjust(new, w) if sample.adjust else w


def fuse(named, sample):
    """q, k and v as one, the way chatglm's files have them."""
    out = dict(named)
    for layer in range(sample.config.num_hidden_layers):
        for suffix in ("weight", "bias"):
            parts = [out.pop(f"blk.{layer}.attn_{x}.{suffix}") for x in "qkv"]
            out[f"blk.{layer}.attn_qkv.{suffix}"] = np.concatenate(parts)
    return out


def write(path, sample, named):
    w = gguf.GGUFWriter(path, sample.arch)
    w.add_block_count(sample.config.num_hidden_layers)
    w.add_context_length(256)
    w.add_embedding_length(HIDDEN)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(sample.kv)
    for key, value in sample.keys.items():
        key = f"{sample.arch}.{key}"
        if isinstance(value, list):
            w.add_array(key, value)
        elif isinstance(value, bool):
            w.add_bool(key, value)
        elif isinstance(value, float):
            w.add_float32(key, value)
        elif isinstance(value, str):
            w.add_string(key, value)
        else:
            w.add_uint32(key, value)
    if sample.arch == "phi3":
        w.add_tensor("rope_factors_long.weight", np.array(LONG, np.float32))
        w.add_tensor("rope_factors_short.weight", np.array(SHORT, np.float32))
    for name, data in named.items():
        w.add_tensor(name, np.ascontiguousarray(data))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(folder, name, seed):
    sample = SAMPLES[name]
    kind = sample.kind.replace("Gemma3Text", "Gemma3")
    model = getattr(hf, kind + "ForCausalLM")(sample.config).float().eval()
    randomize(model, seed)
    ids = torch.randint(0, VOCAB, (IDS,), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        logits = model(ids[None]).logits[0].numpy()
    named = dict(tensors(sample, model))
    if sample.arch == "chatglm":
        named = fuse(named, sample)
    if sample.config.tie_word_embeddings:
        named.pop("output.weight", None)
    write(f"{folder}/{name}.gguf", sample, named)
    ids.numpy().astype("<i4").tofile(f"{folder}/{name}.ids.i32")
    logits[:ROWS].astype("<f4").tofile(f"{folder}/{name}.logits.f32")
    print(f"{name}: logits reach {np.abs(logits).max():.3g}, std {logits.std():.3g}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = sys.argv[1] if len(sys.argv) > 1 else "."
    for i, sample_name in enumerate(SAMPLES):
        make(out, sample_name, 1000 + i)
