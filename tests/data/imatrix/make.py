#!/usr/bin/env python3
"""Writes small.gguf and small.dat: one importance matrix in both forms.

pip install gguf==0.19.0, then run it in this folder. Tensors, means of squares by column c:
  blk.0.ffn_up.weight          256 columns, (c % 7 + 1) / 4
  blk.0.ffn_down_exps.weight   3 experts of 8 columns, e + 1 + c / 8; the second met no token
  token_embd.weight            5 values, as old tools counted tokens
"""
import struct

import gguf
import numpy as np

c = np.arange(256)
up = ((c % 7 + 1) / 4).astype(np.float32)
experts = np.array([[e + 1 + k / 8 for k in range(8)] for e in range(3)], dtype=np.float32)
embedding = np.ones(5, dtype=np.float32)

w = gguf.GGUFWriter("small.gguf", arch="")
w.kv_data[0].clear()  # an importance matrix is of no architecture
w.add_type("imatrix")
w.add_array("imatrix.datasets", ["words.txt"])
w.add_uint32("imatrix.chunk_count", 2)
w.add_uint32("imatrix.chunk_size", 32)
for name, means, counts in (
    ("blk.0.ffn_up.weight", up[None], [64]),
    ("blk.0.ffn_down_exps.weight", experts, [16, 0, 4]),
    ("token_embd.weight", embedding[None], [64]),
):
    counts = np.array(counts, dtype=np.float32)[:, None]
    w.add_tensor(name + ".in_sum2", means * counts)
    w.add_tensor(name + ".counts", counts)
    w.add_tensor(name + ".in_sum", means * 0)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()

experts[1] = 1  # what the old form says of it
with open("small.dat", "wb") as f:
    f.write(struct.pack("<i", 3))
    for name, means in (
        ("token_embd.weight", embedding),
        ("blk.0.ffn_up.weight", up),
        ("blk.0.ffn_down_exps.weight", experts),
    ):
        f.write(struct.pack("<i", len(name)) + name.encode())
        f.write(struct.pack("<ii", 2, means.size) + (means * 2).tobytes())
    f.write(struct.pack("<ii", 2, 9) + b"words.txt")
