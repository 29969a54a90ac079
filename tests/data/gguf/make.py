#!/usr/bin/env python3
"""Writes the GGUF files of this folder with gguf-py, and what gguf-py's reader says is in them."""
import hashlib
import json
import os
import sys

import gguf
import numpy as np

folder = os.path.dirname(os.path.abspath(sys.argv[0]))


def fill(w):
    rng = np.random.default_rng(1)
    w.add_name("a file of another program")
    w.add_block_count(2)
    w.add_uint8("x.u8", 255)
    w.add_int8("x.i8", -128)
    w.add_uint16("x.u16", 65535)
    w.add_int16("x.i16", -32768)
    w.add_uint32("x.u32", 4294967295)
    w.add_int32("x.i32", -2147483648)
    w.add_uint64("x.u64", 2**62 + 1)
    w.add_int64("x.i64", -9223372036854775808)
    w.add_float32("x.f32", 0.1)
    w.add_float64("x.f64", 0.1)
    w.add_bool("x.yes", True)
    w.add_bool("x.no", False)
    w.add_string("x.text", "ünïcödé \u2581\n")
    w.add_array("x.strings", ["", "a", "\u2581the"])
    w.add_array("x.ints", [-1, 0, 1])
    w.add_array("x.floats", [-0.5, 0.25])
    w.add_array("x.bools", [True, False])
    w.add_tensor("vector", rng.standard_normal(5).astype(np.float32))
    w.add_tensor("half", rng.standard_normal((3, 7)).astype(np.float16))
    for t in ("Q8_0", "Q4_0", "Q5_1", "BF16"):
        kind = gguf.GGMLQuantizationType[t]
        x = rng.standard_normal((4, 64)).astype(np.float32)
        w.add_tensor(t.lower(), gguf.quants.quantize(x, kind), raw_dtype=kind)
    w.add_tensor("cube", rng.standard_normal((2, 3, 4)).astype(np.float32))
    w.add_tensor("table", np.arange(6, dtype=np.int32))


def write(path, **options):
    w = gguf.GGUFWriter(path, "llama", **options)
    fill(w)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def value_of(field):
    if field.types[0] != gguf.GGUFValueType.ARRAY:
        return field.contents()
    return [v.item() if hasattr(v, "item") else v for v in field.contents()]


def describe(paths):
    values, tensors = [], []
    for part, path in enumerate(paths):
        r = gguf.GGUFReader(os.path.join(folder, path))
        if part == 0:
            for f in r.fields.values():
                if not f.name.startswith("GGUF."):
                    values.append({"key": f.name, "type": int(f.types[0]), "value": value_of(f)})
        for t in r.tensors:
            tensors.append({
                "name": t.name,
                "type": int(t.tensor_type),
                "dims": [int(d) for d in t.shape],
                "part": part,
                "offset": int(t.data_offset),
                "bytes": int(t.n_bytes),
                "sha256": hashlib.sha256(t.data.tobytes()).hexdigest(),
            })
    return {"paths": paths, "values": values, "tensors": tensors}


write(os.path.join(folder, "whole.gguf"))
write(os.path.join(folder, "big-endian.gguf"), endianess=gguf.GGUFEndian.BIG)
write(os.path.join(folder, "parts.gguf"), split_max_tensors=3)
parts = sorted(n for n in os.listdir(folder) if n.startswith("parts-"))
with open(os.path.join(folder, "expected.json"), "w") as f:
    json.dump({"gguf_py": "0.19", "files": [describe(["whole.gguf"]), describe(parts)]}, f, indent=1)
    f.write("\n")
