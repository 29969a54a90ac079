#!/usr/bin/env python3
"""Makes tiny models of families with experts, and the logits that transformers computes.

usage: make_sparse.py VOCAB.gguf [NAME ...]   (writes NAME.gguf, .ids.i32 and .logits.f32 here)

The weights are random; the tokenizer is copied from VOCAB.gguf (a model of 320 tokens). Tensors are
named, cut and ordered as the ecosystem's converter does it. Needs torch, transformers and gguf.
"""
import sys

import gguf
import numpy as np
import torch
import transformers

VOCAB, IDS = 320, 96


def common(**more):
    return dict(vocab_size=VOCAB, hidden_size=64, num_attention_heads=4, num_key_value_heads=2,
                max_position_embeddings=256, rms_norm_eps=1e-6, bos_token_id=None,
                eos_token_id=None, pad_token_id=None, tie_word_embeddings=False,
                attn_implementation="eager", **more)


def randomize(model, seed):
    """Weights wide enough that logits spread, gains around what they are, biases that count."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + list(model.named_buffers()):
            if not p.dtype.is_floating_point or "inv_freq" in name or "embed_scale" in name:
                continue
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() >= 2 and "conv" not in name:
                p.copy_(noise * (0.4 if "embed" in name else 1.4 / p.shape[-1] ** 0.5))
            elif "conv" in name:
                p.copy_(noise * 0.5)
            elif "A_log" in name or "dt_bias" in name:
                p.copy_(noise * 0.7)
            elif "bias" in name:
                p.copy_(noise * 0.3)
            elif "scalar" in name or "scale" in name:
                p.copy_(1 + noise * 0.2)
            else:
                p.add_(noise * 0.2)


class File:
    def __init__(self, name, arch, vocab):
        self.name, self.arch = name, arch
        self.w = gguf.GGUFWriter(name + ".gguf", arch)
        self.w.add_name(name)
        for key, field in gguf.GGUFReader(vocab).fields.items():
            if key.startswith("tokenizer."):
                kind, sub = field.types[0], field.types[-1]
                self.w.add_key_value(key, field.contents(), kind,
                                     sub_type=sub if kind == gguf.GGUFValueType.ARRAY else None)

    def u32(self, **keys):
        for key, value in keys.items():
            self.w.add_uint32(f"{self.arch}.{key.replace('__', '.')}", value)

    def f32(self, **keys):
        for key, value in keys.items():
            self.w.add_float32(f"{self.arch}.{key.replace('__', '.')}", value)

    def array(self, key, values):
        self.w.add_array(f"{self.arch}.{key}", values)

    def put(self, name, tensor):
        self.w.add_tensor(name, np.ascontiguousarray(tensor.detach().float().numpy()))

    def finish(self, model, seed):
        self.w.write_header_to_file()
        self.w.write_kv_data_to_file()
        self.w.write_tensors_to_file()
        self.w.close()
        ids = torch.randint(0, VOCAB - 3, (IDS,), generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            logits = model(ids[None]).logits[0].float().numpy()
        ids.numpy().astype("<i4").tofile(self.name + ".ids.i32")
        logits.astype("<f4").tofile(self.name + ".logits.f32")
        print(self.name, "logits up to", np.abs(logits).max(), "deviation", logits.std())


def numbers(f, c, spare=0):
    f.u32(block_count=c.num_hidden_layers + spare, context_length=256, embedding_length=c.hidden_size,
          attention__head_count=c.num_attention_heads, vocab_size=VOCAB)
    f.f32(attention__layer_norm_rms_epsilon=getattr(c, "norm_eps", c.rms_norm_eps))


def ends(f, s, norm="model.norm.weight", name="output_norm.weight", add=0):
    f.put("token_embd.weight", s["model.embed_tokens.weight"])
    f.put(name, s[norm] + add)
    if "lm_head.weight" in s:
        f.put("output.weight", s["lm_head.weight"])


def adjacent(w, heads):
    """Rows from the "halves" order of rotated pairs to llama's "adjacent" one."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def attention(f, s, i, here, biases=False, norms=None, add=0, out="o_proj"):
    for ours, theirs in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("output", out)):
        f.put(f"blk.{i}.attn_{ours}.weight", s[f"{here}.{theirs}.weight"])
        if biases and ours != "output":
            f.put(f"blk.{i}.attn_{ours}.bias", s[f"{here}.{theirs}.bias"])
    for ours, theirs in zip(("q_norm", "k_norm"), norms or ()):
        f.put(f"blk.{i}.attn_{ours}.weight", s[f"{here}.{theirs}.weight"] + add)


def experts(f, s, i, here, gate="gate.weight", fused=False):
    both = s[f"{here}.experts.gate_up_proj"]
    f.put(f"blk.{i}.ffn_gate_inp.weight", s[f"{here}.{gate}"])
    if fused:
        f.put(f"blk.{i}.ffn_gate_up_exps.weight", both)
    else:
        f.put(f"blk.{i}.ffn_gate_exps.weight", both[:, : both.shape[1] // 2])
        f.put(f"blk.{i}.ffn_up_exps.weight", both[:, both.shape[1] // 2:])
    f.put(f"blk.{i}.ffn_down_exps.weight", s[f"{here}.experts.down_proj"])


def shared_expert(f, s, i, here):
    for ours, theirs in (("gate", "gate_proj"), ("up", "up_proj"), ("down", "down_proj")):
        f.put(f"blk.{i}.ffn_{ours}_shexp.weight", s[f"{here}.shared_expert.{theirs}.weight"])
    f.put(f"blk.{i}.ffn_gate_inp_shexp.weight", s[f"{here}.shared_expert_gate.weight"][0])


def mixtral(f_name, vocab):
    c = transformers.MixtralConfig(**common(num_hidden_layers=2, intermediate_size=48,
                                            num_local_experts=4, num_experts_per_tok=2,
                                            rope_theta=1e6, sliding_window=None))
    m = transformers.MixtralForCausalLM(c).eval()
    randomize(m, 1)
    s, f = m.state_dict(), File(f_name, "llama", vocab)
    numbers(f, c)
    f.u32(feed_forward_length=48, attention__head_count_kv=2, expert_count=4, expert_used_count=2,
          rope__dimension_count=16)
    f.f32(rope__freq_base=1e6)
    ends(f, s)
    for i in range(c.num_hidden_layers):
        here = f"model.layers.{i}"
        for part, heads in (("q_proj", 4), ("k_proj", 2)):
            key = f"{here}.self_attn.{part}.weight"
            s[key] = adjacent(s[key], heads)
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".input_layernorm.weight"])
        f.put(f"blk.{i}.ffn_norm.weight", s[here + ".post_attention_layernorm.weight"])
        attention(f, s, i, here + ".self_attn")
        experts(f, s, i, here + ".mlp")
    f.finish(m, 11)


def qwen2moe(f_name, vocab):
    c = transformers.Qwen2MoeConfig(**common(num_hidden_layers=2, intermediate_size=96,
                                             moe_intermediate_size=40,
                                             shared_expert_intermediate_size=72, num_experts=6,
                                             num_experts_per_tok=3, norm_topk_prob=False,
                                             qkv_bias=True))
    m = transformers.Qwen2MoeForCausalLM(c).eval()
    randomize(m, 2)
    s, f = m.state_dict(), File(f_name, "qwen2moe", vocab)
    numbers(f, c)
    f.u32(feed_forward_length=96, attention__head_count_kv=2, expert_count=6, expert_used_count=3,
          expert_feed_forward_length=40, expert_shared_feed_forward_length=72)
    f.f32(rope__freq_base=10000.0)
    ends(f, s)
    for i in range(c.num_hidden_layers):
        here = f"model.layers.{i}"
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".input_layernorm.weight"])
        f.put(f"blk.{i}.ffn_norm.weight", s[here + ".post_attention_layernorm.weight"])
        attention(f, s, i, here + ".self_attn", biases=True)
        experts(f, s, i, here + ".mlp")
        shared_expert(f, s, i, here + ".mlp")
    f.finish(m, 12)


def lfm2moe(f_name, vocab):
    kinds = ["conv", "full_attention", "conv"]
    options = common(num_hidden_layers=3, intermediate_size=96, moe_intermediate_size=40,
                     num_dense_layers=1, num_experts=6, num_experts_per_tok=2, layer_types=kinds,
                     use_expert_bias=True, norm_topk_prob=True, routed_scaling_factor=1.0,
                     conv_L_cache=3, conv_bias=False, norm_eps=1e-5)
    options["tie_word_embeddings"] = True
    c = transformers.Lfm2MoeConfig(**options)
    m = transformers.Lfm2MoeForCausalLM(c).eval()
    randomize(m, 3)
    s, f = m.state_dict(), File(f_name, "lfm2moe", vocab)
    numbers(f, c)
    f.array("attention.head_count_kv", [2 if k == "full_attention" else 0 for k in kinds])
    f.u32(feed_forward_length=96, expert_count=6, expert_used_count=2, expert_gating_func=2,
          expert_feed_forward_length=40, leading_dense_block_count=1, shortconv__l_cache=3)
    f.f32(rope__freq_base=c.rope_parameters["rope_theta"])
    del s["lm_head.weight"]
    ends(f, s, "model.embedding_norm.weight", "token_embd_norm.weight")
    for i, kind in enumerate(kinds):
        here = f"model.layers.{i}"
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".operator_norm.weight"])
        f.put(f"blk.{i}.ffn_norm.weight", s[here + ".ffn_norm.weight"])
        if kind == "conv":
            f.put(f"blk.{i}.shortconv.conv.weight", s[here + ".conv.conv.weight"][:, 0])
            f.put(f"blk.{i}.shortconv.in_proj.weight", s[here + ".conv.in_proj.weight"])
            f.put(f"blk.{i}.shortconv.out_proj.weight", s[here + ".conv.out_proj.weight"])
        else:
            attention(f, s, i, here + ".self_attn", norms=("q_layernorm", "k_layernorm"),
                      out="out_proj")
        if i < c.num_dense_layers:
            for ours, theirs in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
                f.put(f"blk.{i}.ffn_{ours}.weight", s[f"{here}.feed_forward.{theirs}.weight"])
        else:
            experts(f, s, i, here + ".feed_forward")
            f.put(f"blk.{i}.exp_probs_b.bias", s[here + ".feed_forward.expert_bias"])
    f.finish(m, 13)


def tiled(w, keys, values, dim, axis=0):
    """Heads of values from "each key head's together" to "one of each key head in turn"."""
    shape = list(w.shape)
    cut = shape[:axis] + [keys, values // keys, dim] + shape[axis + 1:]
    return w.reshape(cut).transpose(axis, axis + 1).reshape(shape)


def qwen35moe(f_name, vocab):
    keys, values, dim, state = 2, 4, 16, 2 * 2 * 16
    options = common(num_hidden_layers=4, moe_intermediate_size=24, num_experts=4,
                     shared_expert_intermediate_size=32, num_experts_per_tok=2, head_dim=32,
                     linear_conv_kernel_dim=4, linear_key_head_dim=dim, linear_value_head_dim=dim,
                     linear_num_key_heads=keys, linear_num_value_heads=values,
                     rope_parameters={"rope_type": "default", "rope_theta": 1e7,
                                      "partial_rotary_factor": 0.25,
                                      "mrope_section": [2, 1, 1], "mrope_interleaved": True})
    c = transformers.Qwen3_5MoeTextConfig(**options)
    m = transformers.Qwen3_5MoeForCausalLM(c).eval()
    randomize(m, 4)
    s, f = m.state_dict(), File(f_name, "qwen35moe", vocab)
    numbers(f, c, spare=1)
    f.array("rope.dimension_sections", [2, 1, 1, 0])
    f.u32(attention__head_count_kv=2, attention__key_length=32, attention__value_length=32,
          expert_count=4, expert_used_count=2, expert_feed_forward_length=24,
          expert_shared_feed_forward_length=32, ssm__conv_kernel=4, ssm__state_size=dim,
          ssm__group_count=keys, ssm__time_step_rank=values, ssm__inner_size=values * dim,
          full_attention_interval=4, rope__dimension_count=8, nextn_predict_layers=1)
    f.f32(rope__freq_base=1e7)
    ends(f, s, add=1)
    for i, kind in enumerate(c.layer_types):
        here = f"model.layers.{i}"
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".input_layernorm.weight"] + 1)
        f.put(f"blk.{i}.post_attention_norm.weight", s[here + ".post_attention_layernorm.weight"] + 1)
        experts(f, s, i, here + ".mlp", fused=i % 2 == 1)
        shared_expert(f, s, i, here + ".mlp")
        if kind == "full_attention":
            attention(f, s, i, here + ".self_attn", norms=("q_norm", "k_norm"), add=1)
            continue
        net = here + ".linear_attn."
        heads = lambda w, d, axis=0: tiled(w, keys, values, d, axis)
        qkv, conv = s[net + "in_proj_qkv.weight"], s[net + "conv1d.weight"][:, 0]
        f.put(f"blk.{i}.attn_qkv.weight", torch.cat([qkv[:state], heads(qkv[state:], dim)]))
        f.put(f"blk.{i}.ssm_conv1d.weight", torch.cat([conv[:state], heads(conv[state:], dim)]))
        f.put(f"blk.{i}.attn_gate.weight", heads(s[net + "in_proj_z.weight"], dim))
        f.put(f"blk.{i}.ssm_beta.weight", heads(s[net + "in_proj_b.weight"], 1))
        f.put(f"blk.{i}.ssm_alpha.weight", heads(s[net + "in_proj_a.weight"], 1))
        f.put(f"blk.{i}.ssm_a", heads(-torch.exp(s[net + "A_log"]), 1))
        f.put(f"blk.{i}.ssm_dt.bias", heads(s[net + "dt_bias"], 1))
        f.put(f"blk.{i}.ssm_norm.weight", s[net + "norm.weight"])
        f.put(f"blk.{i}.ssm_out.weight", heads(s[net + "out_proj.weight"], dim, 1))
    # A layer that would guess a token further ahead, which no logit depends on.
    f.put("blk.4.attn_norm.weight", torch.ones(64))
    f.put("blk.4.nextn.eh_proj.weight", torch.ones(64, 128))
    f.finish(m, 14)


def olmoe(f_name, vocab):
    c = transformers.OlmoeConfig(**common(num_hidden_layers=2, intermediate_size=40, num_experts=4,
                                          num_experts_per_tok=2, norm_topk_prob=False))
    m = transformers.OlmoeForCausalLM(c).eval()
    randomize(m, 5)
    s, f = m.state_dict(), File(f_name, "olmoe", vocab)
    numbers(f, c)
    f.u32(feed_forward_length=40, attention__head_count_kv=2, expert_count=4, expert_used_count=2)
    f.f32(rope__freq_base=10000.0)
    ends(f, s)
    for i in range(c.num_hidden_layers):
        here = f"model.layers.{i}"
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".input_layernorm.weight"])
        f.put(f"blk.{i}.ffn_norm.weight", s[here + ".post_attention_layernorm.weight"])
        attention(f, s, i, here + ".self_attn", norms=("q_norm", "k_norm"))
        experts(f, s, i, here + ".mlp")
    f.finish(m, 15)


def granitemoe(f_name, vocab):
    c = transformers.GraniteMoeSharedConfig(
        **common(num_hidden_layers=2, intermediate_size=40, shared_intermediate_size=48,
                 num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0,
                 attention_multiplier=0.2, residual_multiplier=0.6, logits_scaling=2.0))
    m = transformers.GraniteMoeSharedForCausalLM(c).eval()
    randomize(m, 6)
    s, f = m.state_dict(), File(f_name, "granitemoe", vocab)
    numbers(f, c)
    f.u32(feed_forward_length=40, attention__head_count_kv=2, expert_count=4, expert_used_count=2,
          expert_shared_feed_forward_length=48)
    f.f32(rope__freq_base=10000.0, embedding_scale=3.0, attention__scale=0.2, residual_scale=0.6,
          logit_scale=2.0)
    ends(f, s)
    for i in range(c.num_hidden_layers):
        here = f"model.layers.{i}"
        for part, heads in (("q_proj", 4), ("k_proj", 2)):
            key = f"{here}.self_attn.{part}.weight"
            s[key] = adjacent(s[key], heads)
        f.put(f"blk.{i}.attn_norm.weight", s[here + ".input_layernorm.weight"])
        f.put(f"blk.{i}.ffn_norm.weight", s[here + ".post_attention_layernorm.weight"])
        attention(f, s, i, here + ".self_attn")
        experts(f, s, i, here + ".block_sparse_moe", gate="router.weight")
        shared = here + ".shared_mlp."
        one = s[shared + "input_linear.weight"]
        f.put(f"blk.{i}.ffn_gate_shexp.weight", one[:48])
        f.put(f"blk.{i}.ffn_up_shexp.weight", one[48:])
        f.put(f"blk.{i}.ffn_down_shexp.weight", s[shared + "output_linear.weight"])
    f.finish(m, 16)


def gemma4(f_name, vocab, moe=False):
    kinds = ["sliding_attention", "full_attention"] * 2
    options = common(num_hidden_layers=4, intermediate_size=80, layer_types=kinds, head_dim=16,
                     global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True,
                     sliding_window=16, hidden_size_per_layer_input=0, num_kv_shared_layers=0,
                     final_logit_softcapping=8.0, enable_moe_block=moe,
                     rope_parameters={
                         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                         "full_attention": {"rope_type": "proportional", "rope_theta": 1e6,
                                            "partial_rotary_factor": 0.25}})
    options["tie_word_embeddings"] = True
    if moe:
        options.update(num_experts=4, top_k_experts=2, moe_intermediate_size=24)
    c = transformers.Gemma4TextConfig(**options)
    m = transformers.Gemma4ForCausalLM(c).eval()
    randomize(m, 8)
    s, f = m.state_dict(), File(f_name, "gemma4", vocab)
    numbers(f, c)
    f.array("attention.head_count_kv", [2 if k.startswith("sliding") else 1 for k in kinds])
    f.array("attention.sliding_window_pattern", [k.startswith("sliding") for k in kinds])
    f.u32(feed_forward_length=80, attention__key_length=32, attention__value_length=32,
          attention__key_length_swa=16, attention__value_length_swa=16,
          attention__sliding_window=16, rope__dimension_count=32, rope__dimension_count_swa=16,
          attention__shared_kv_layers=0, embedding_length_per_layer_input=0)
    f.f32(rope__freq_base=1e6, rope__freq_base_swa=10000.0, final_logit_softcapping=8.0)
    if moe:
        f.u32(expert_count=4, expert_used_count=2, expert_feed_forward_length=24)
    del s["lm_head.weight"]
    ends(f, s)
    # A quarter of the pairs turn; the others have a frequency of nothing.
    f.put("rope_freqs.weight", torch.tensor([1.0] * 4 + [1e30] * 12))
    for i, kind in enumerate(kinds):
        here = f"model.layers.{i}"
        for part in ("q", "k", "v"):
            if f"{here}.self_attn.{part}_proj.weight" in s:
                f.put(f"blk.{i}.attn_{part}.weight", s[f"{here}.self_attn.{part}_proj.weight"])
        f.put(f"blk.{i}.attn_output.weight", s[here + ".self_attn.o_proj.weight"])
        f.put(f"blk.{i}.attn_q_norm.weight", s[here + ".self_attn.q_norm.weight"])
        f.put(f"blk.{i}.attn_k_norm.weight", s[here + ".self_attn.k_norm.weight"])
        f.put(f"blk.{i}.layer_output_scale.weight", s[here + ".layer_scalar"])
        for ours, theirs in (("attn_norm", "input_layernorm"), ("ffn_norm", "pre_feedforward_layernorm"),
                             ("post_attention_norm", "post_attention_layernorm"),
                             ("post_ffw_norm", "post_feedforward_layernorm")):
            f.put(f"blk.{i}.{ours}.weight", s[f"{here}.{theirs}.weight"])
        for part in ("gate", "up", "down"):
            f.put(f"blk.{i}.ffn_{part}.weight", s[f"{here}.mlp.{part}_proj.weight"])
        if not moe:
            continue
        f.put(f"blk.{i}.ffn_gate_inp.weight", s[here + ".router.proj.weight"])
        f.put(f"blk.{i}.ffn_gate_inp.scale", s[here + ".router.scale"])
        f.put(f"blk.{i}.ffn_gate_up_exps.weight", s[here + ".experts.gate_up_proj"])
        f.put(f"blk.{i}.ffn_down_exps.weight", s[here + ".experts.down_proj"])
        f.put(f"blk.{i}.ffn_down_exps.scale", s[here + ".router.per_expert_scale"])
        for ours, theirs in (("pre_ffw_norm_2", "pre_feedforward_layernorm_2"),
                             ("post_ffw_norm_1", "post_feedforward_layernorm_1"),
                             ("post_ffw_norm_2", "post_feedforward_layernorm_2")):
            f.put(f"blk.{i}.{ours}.weight", s[f"{here}.{theirs}.weight"])
    f.finish(m, 17)


def gemma4moe(f_name, vocab):
    gemma4(f_name, vocab, moe=True)


FAMILIES = {"gemma4": gemma4, "gemma4-experts": gemma4moe,
            "olmoe": olmoe, "granitemoe": granitemoe, "mixtral": mixtral, "qwen2moe": qwen2moe, "lfm2moe": lfm2moe, "qwen35moe": qwen35moe}


def main():
    for name in sys.argv[2:] or FAMILIES:
        FAMILIES[name](name, sys.argv[1])


main()
