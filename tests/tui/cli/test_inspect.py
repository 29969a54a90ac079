"""inspect: every model's page is complete and aligned, its JSON loses nothing, and --diff tells
what differs, as diff does."""
import glob
import json
import os
import re
import struct
import sys
import tempfile

from tap import DATA, SCENARIOS, main, run, run_json

FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
GOOD = open(MODEL, "rb").read()
MODELS = [MODEL] + [m for m in sorted(glob.glob(os.path.join(DATA, "*/*.gguf")))
                    if not m.endswith("big-endian.gguf")]
LABELS = ("file", "name", "architecture", "shape", "vocabulary", "tokenizer", "chat", "context",
          "weights", "tensor data", "file size", "bits a weight")


def written(name, *pieces):
    path = os.path.join(FOLDER.name, name)
    with open(path, "wb") as f:
        f.write(b"".join(pieces))
    return path


def value_at(key):
    """Where the value of a key of text stands: its length first."""
    head = struct.pack("<Q", len(key)) + key + struct.pack("<I", 8)
    return GOOD.index(head) + len(head)


def case_every_model_has_an_aligned_page():
    assert len(MODELS) > 40, MODELS
    for model in MODELS:
        done = run("inspect", model, env={"LC_ALL": "C.UTF-8"})
        assert done.returncode == 0, done.stderr
        summary, metadata, tensors = done.stdout.split("\n\n")
        labels = [line[:19].rstrip() for line in summary.splitlines()]
        assert [label for label in labels if label in LABELS] == list(LABELS), (model, labels)
        assert all(line[18] == " " and line[19] != " " for line in summary.splitlines()
                   if line[19:]), (model, summary)
        lines = metadata.splitlines()[1:]
        starts = {re.match(r"  \S+ +\S+ +", line).end() for line in lines if not line.endswith(" ")}
        assert len(starts) == 1, (model, starts)
        lines = tensors.splitlines()[1:]
        assert len({len(line) for line in lines}) == 1, (model, tensors)


def case_json_and_page_tell_the_same_of_tensors():
    for model in MODELS[::7]:
        found = run_json("inspect", model)
        page = run("inspect", model).stdout
        assert len(found["tensors"]) == int(re.search(r"\ntensors, (\d+)", page)[1])
        for t in found["tensors"]:
            shape = " x ".join(map(str, t["shape"]))
            line = rf"\n  {re.escape(t['name'])} +{t['type']} +{shape} +{t['bytes']} "
            assert re.search(line, page), (model, line)


def case_json_has_every_value_of_the_metadata():
    found = {m["key"]: m for m in run_json("inspect", MODEL)["metadata"]}
    assert found["llama.block_count"] == {"key": "llama.block_count", "type": "u32", "value": 6}
    tokens = found["tokenizer.ggml.tokens"]
    assert tokens["type"] == "string[]" and len(tokens["value"]) == 4096
    assert tokens["value"][:3] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert found["tokenizer.ggml.add_bos_token"]["value"] is False
    epsilon = found["llama.attention.layer_norm_rms_epsilon"]["value"]
    assert struct.pack("<f", epsilon) == struct.pack("<f", 1e-5)


def case_text_that_is_no_utf_8_stands_in_hex():
    at = value_at(b"general.name") + 8
    path = written("latin.gguf", GOOD[:at], b"Sc\xf6\x00e 6M", GOOD[at + 8:])
    found = run_json("inspect", path)
    (name,) = [m["value"] for m in found["metadata"] if m["key"] == "general.name"]
    assert name == {"hex": "5363f6006520364d"}, name
    assert bytes.fromhex(name["hex"]) == b"Sc\xf6\x00e 6M"
    at = GOOD.index(b"blk.3.ffn_up.weight")
    path = written("tensor.gguf", GOOD[:at], b"\xff", GOOD[at + 1:])
    names = [t["name"] for t in run_json("inspect", path)["tensors"]]
    assert {"hex": (b"\xfflk.3.ffn_up.weight").hex()} in names, names
    here = written("caf\udce9.gguf", GOOD)
    assert run_json("inspect", here)["file"] == {"hex": os.fsencode(here).hex()}


def case_names_that_are_shown_otherwise_keep_the_columns():
    at = GOOD.index(b"blk.3.ffn_up.weight")
    path = written("moved.gguf", GOOD[:at], b"\x1b[2J\x07", GOOD[at + 5:])
    lines = run("inspect", path).stdout.split("\n\n")[2].splitlines()[1:]
    assert len({len(line) for line in lines}) == 1, lines
    page = run("inspect", "--diff", MODEL, path).stdout
    lines = page.split("\ntensors that differ")[1].splitlines()[2:]
    assert len(lines) == 2 and lines[0].index("F16") + 26 == lines[1].index("F16"), lines


def case_a_model_that_cannot_be_run_says_why():
    at = value_at(b"general.architecture") + 8
    path = written("lamma.gguf", GOOD[:at], b"lamma", GOOD[at + 5:])
    page = run("inspect", path).stdout
    assert re.search(r"\ncannot be run +.*lamma", page), page
    assert "lamma" in run_json("inspect", path)["refusal"]
    assert run_json("inspect", MODEL)["refusal"] is None


def differences(a, b, status):
    done = run("inspect", "--diff", a, b, "--json")
    assert done.returncode == status, (done.returncode, done.stderr)
    return json.loads(done.stdout), run("inspect", "--diff", a, b)


def case_a_file_does_not_differ_from_its_copy():
    found, page = differences(MODEL, written("copy.gguf", GOOD), 0)
    assert found["same"] is True
    assert not found["metadata"] and not found["tokenizers"] and not found["tensors"]
    assert page.returncode == 0 and "tensors that differ: 0" in page.stdout, page


def case_a_quantized_file_differs_by_its_rounding():
    made = os.path.join(FOLDER.name, "q8.gguf")
    assert run("quantize", MODEL, "Q8_0", "-o", made).returncode == 0
    found, page = differences(MODEL, made, 1)
    assert page.returncode == 1
    assert {m["key"] for m in found["metadata"]} == {"general.file_type",
                                                     "general.quantization_version"}
    (file_type,) = [m for m in found["metadata"] if m["key"] == "general.file_type"]
    assert file_type["a"] == {"type": "u32", "value": 1} and file_type["b"]["value"] == 7
    assert found["tokenizers"] == []
    matrices = [t for t in run_json("inspect", MODEL)["tensors"] if t["type"] == "F16"]
    assert [t["name"] for t in found["tensors"]] == [t["name"] for t in matrices]
    for t in found["tensors"]:
        assert t["a"]["type"] == "F16" and t["b"]["type"] == "Q8_0"
        assert t["a"]["shape"] == t["b"]["shape"]
        # 127 steps to a block's greatest, errors even within one: a fraction of 1 % of the whole.
        assert 0.003 < t["rms_relative"] < 0.01, t
        assert t["name"] in page.stdout


def case_tokenizers_that_differ_are_told_as_a_run_would():
    was, now = b"<|endoftext|>", b"<|endoftexx|>"
    at = GOOD.index(struct.pack("<Q", len(was)) + was) + 8
    other = written("other.gguf", GOOD[:at], now, GOOD[at + len(now):])
    found, page = differences(MODEL, other, 1)
    (tokens,) = found["metadata"]
    assert tokens["key"] == "tokenizer.ggml.tokens" and tokens["items_that_differ"] == 1
    assert tokens["first"] == {"item": 0, "a": was.decode(), "b": now.decode()}
    assert len(found["tokenizers"]) == 1 and found["tensors"] == []
    for text in (found["tokenizers"][0], page.stdout):
        assert "endoftext" in text and "endoftexx" in text and "token 0" in text, text


def case_tensors_of_one_side_alone_and_of_other_shapes():
    a, b = (os.path.join(DATA, f"model/{n}.gguf") for n in ("gemma2", "gemma3"))
    found, _ = differences(a, b, 1)
    one = {t["name"]: t for t in found["tensors"]}
    assert one["blk.0.attn_q_norm.weight"]["a"] is None
    assert one["blk.0.attn_q_norm.weight"]["b"]["shape"] == [32]
    assert "rms_relative" not in one["blk.0.attn_q_norm.weight"]
    back, _ = differences(b, a, 1)
    assert len(back["tensors"]) == len(found["tensors"])


def case_slips_are_refused():
    for words in (["--diff", MODEL], ["--diff"], ["--diff", MODEL, MODEL, MODEL], [MODEL, MODEL]):
        done = run("inspect", *words)
        assert done.returncode == 2 and done.stdout == "" and "model" in done.stderr, done
    done = run("inspect", "--diff", MODEL, "no/such.gguf")
    assert done.returncode == 2 and "no/such.gguf" in done.stderr and done.stdout == "", done


main(sys.modules[__name__])
