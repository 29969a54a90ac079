"""Writes files.json: what llama-quantize makes of a model, tensor by tensor.

files.py LLAMA_QUANTIZE MODEL.gguf IMATRIX.gguf > files.json
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from gguf import GGUFReader

PLAIN = """F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M
           Q6_K IQ4_NL IQ4_XS IQ3_S IQ3_M TQ1_0 TQ2_0""".split()
WEIGHED = """Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M
             Q6_K IQ4_NL IQ4_XS IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ3_XXS IQ3_XS IQ3_S
             IQ3_M""".split()


def digest(tensor):
    """Eight digits of the SHA-256 of the type's name, a newline and the bytes."""
    kind = tensor.tensor_type.name.encode()
    return hashlib.sha256(kind + b"\n" + tensor.data.tobytes()).hexdigest()[:8]


def quantize(preset, *options):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.gguf")
        subprocess.run([sys.argv[1], *options, sys.argv[2], out, preset], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = GGUFReader(out)
        tensors = sorted(file.tensors, key=lambda t: t.name)
        return {"file_type": int(file.fields["general.file_type"].contents()),
                "tensors": " ".join(digest(t) for t in tensors)}


json.dump({"plain": {p: quantize(p) for p in PLAIN},
           "imatrix": {p: quantize(p, "--imatrix", sys.argv[3]) for p in WEIGHED}},
          sys.stdout, indent=0)
print()
