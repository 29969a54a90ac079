"""Writes the seeds of fuzz_tokenizer: a small vocabulary of each kind, as GGUF without tensors.

usage: make_vocabularies.py   (into tokenizer/ beside it)
"""
import os
import struct

U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
CONTROL, NORMAL, BYTE, UNKNOWN = 3, 1, 6, 2


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def item(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", 5: "<i", F32: "<f", BOOL: "<?"}[kind], value)


def array(kind, values):
    return ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(item(kind, v) for v in values)


def write(name, model, tokens, types, **more):
    values = {"general.architecture": (STRING, text("llama"))}
    more = {"model": (STRING, text(model)), "tokens": array(STRING, tokens),
            "token_type": array(5, types), **more}
    values.update({"tokenizer.ggml." + key: value for key, value in more.items()})
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(values))
    body = b"".join(text(k) + struct.pack("<I", kind) + v for k, (kind, v) in values.items())
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer")
    with open(os.path.join(folder, name + ".gguf"), "wb") as out:
        out.write(head + body)


def flag(value):
    return BOOL, item(BOOL, value)


def number(value):
    return U32, item(U32, value)


letters = [chr(c) for c in range(0x61, 0x6d)]
words = ["ab", "abc", "de", "def", "\u0120a", "\u0120ab", "\u010a", "."]
merges = array(STRING, ["a b", "ab c", "d e", "de f", "\u0120 a", "\u0120a b"])
for pre in ["smollm", "llama-bpe", "qwen2", "gpt-4o", "tekken", "default"]:
    tokens = ["<|end|>"] + letters + ["\u0120"] + words
    write("bpe-" + pre, "gpt2", tokens, [CONTROL] + [NORMAL] * (len(tokens) - 1),
          pre=(STRING, text(pre)), merges=merges, bos_token_id=number(0), eos_token_id=number(0),
          add_bos_token=flag(True))

bytes_ = ["<0x%02X>" % b for b in (0x0a, 0x20, 0x61, 0xc3, 0xff)]
pieces = ["\u2581", "\u2581a", "ab", "\u2581ab"] + letters
write("spm", "llama", ["<unk>", "<s>", "</s>"] + bytes_ + pieces,
      [UNKNOWN, CONTROL, CONTROL] + [BYTE] * len(bytes_) + [NORMAL] * len(pieces),
      scores=array(F32, [0.0] * (3 + len(bytes_)) + [-float(i) for i in range(len(pieces))]),
      bos_token_id=number(1), eos_token_id=number(2), unknown_token_id=number(0),
      add_space_prefix=flag(True))
write("gemma4", "gemma4", ["<pad>", "<bos>"] + bytes_ + pieces,
      [CONTROL, CONTROL] + [BYTE] * len(bytes_) + [NORMAL] * len(pieces),
      merges=array(STRING, ["a b", "\u2581 a"]), bos_token_id=number(1), eos_token_id=number(0))
