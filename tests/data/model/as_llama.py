#!/usr/bin/env python3
"""Rewrites models of other families as llama files that compute the same.

usage: as_llama.py QWEN2.gguf MISTRAL3.gguf   (writes llama-biases.gguf and llama-yarn.gguf here)

What llama files may have and the other samples lack is thereby checked against another family's
logits: biases on q, k and v, head sizes that the metadata leaves out, YaRN, a head_dim that is not
hidden / heads. Needs the gguf package.
"""
import math
import sys

import gguf
import numpy as np


def adjacent(array, heads):
    """Rows from the "halves" order of rotated pairs to llama's "adjacent" one."""
    a = array.reshape(heads, 2, array.shape[0] // heads // 2, -1)
    return a.swapaxes(1, 2).reshape(array.shape)


def rewrite(source, target, name, permute, drop, add):
    reader = gguf.GGUFReader(source)
    old = reader.fields["general.architecture"].contents()
    heads = reader.fields[old + ".attention.head_count"].contents()
    kv_heads = reader.fields[old + ".attention.head_count_kv"].contents()
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_name(name)
    for key, field in reader.fields.items():
        if key.startswith(("GGUF.", "general.")) or key in drop:
            continue
        value = field.contents()
        kind = field.types[0]
        sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key.replace(old + ".", "llama."), value, kind, sub_type=sub)
    for key, value in add.items():
        writer.add_float32(key, value)
    for t in reader.tensors:
        data = np.array(t.data)
        if permute and ".attn_q." in t.name:
            data = adjacent(data, heads)
        if permute and ".attn_k." in t.name:
            data = adjacent(data, kv_heads)
        writer.add_tensor(t.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    rewrite(sys.argv[1], "llama-biases.gguf", "llama-biases", True, (), {})
    # This family's two multipliers cancel YaRN's own factor on cosine and sine.
    rewrite(
        sys.argv[2], "llama-yarn.gguf", "llama-yarn", False,
        ("mistral3.rope.scaling.yarn_log_multiplier", "mistral3.attention.temperature_scale"),
        {"llama.rope.scaling.attn_factor": 1 / (1 + 0.1 * math.log(4))},
    )


main()
