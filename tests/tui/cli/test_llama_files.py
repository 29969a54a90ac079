"""kldscope quantize and kldscope imatrix against files that llama-quantize and llama-imatrix made."""
import hashlib
import json
import os
import struct
import sys
import tempfile

from tap import DATA, SCENARIOS, main, near, run, run_json

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
IMATRIX = os.path.join(DATA, "imatrix/scope-6m.gguf")
UNTIED = os.path.join(DATA, "model/llama-untied.gguf")
KEEP = tempfile.TemporaryDirectory()
ALIGNMENT = 32


def path(name):
    return os.path.join(KEEP.name, name)


def quantize(*words):
    out = path("out.gguf")
    done = run("quantize", *words, "-o", out)
    assert done.returncode == 0, done.stderr
    return out


def tensors(file):
    """(type's name, bytes) by name. Tensors stand in the order of the listing up to the end."""
    with open(file, "rb") as f:
        raw = f.read()
    listed = run_json("inspect", file)["tensors"]
    room = [-t["bytes"] % ALIGNMENT + t["bytes"] for t in listed]
    at, found = len(raw) - sum(room), {}
    for t, size in zip(listed, room):
        found[t["name"]] = t["type"], raw[at:at + t["bytes"]]
        at += size
    return found


def digest(kind, raw):
    return hashlib.sha256(kind.encode() + b"\n" + raw).hexdigest()[:8]


def values(file):
    """The metadata's values as they are shown, by key."""
    lines = [line.split(None, 2) for line in run("inspect", file).stdout.splitlines()]
    return {l[0]: l[2] for l in lines if len(l) == 3}


def check_files(mode, *options):
    with open(os.path.join(DATA, "quant/files.json")) as f:
        presets = json.load(f)[mode]
    wrong = []
    for preset, wanted in presets.items():
        out = quantize(MODEL, preset, *options)
        found = tensors(out)
        digests = zip(sorted(found), wanted["tensors"].split(), strict=True)
        wrong += [f"{preset} {name} {found[name][0]}" for name, d in digests
                  if digest(*found[name]) != d]
        assert values(out)["general.file_type"] == str(wanted["file_type"]), preset
    assert not wrong, wrong


def case_every_preset_has_the_tensors_that_llama_quantize_writes():
    check_files("plain")


def case_every_preset_with_an_importance_matrix_has_the_tensors_that_llama_quantize_writes():
    check_files("imatrix", "--imatrix", IMATRIX)


def case_an_importance_matrix_has_the_sums_that_llama_imatrix_finds():
    with open(os.path.join(SCENARIOS, "corpora/stories.jsonl"), encoding="utf-8") as f:
        text = "\n\n".join(json.loads(line)["text"] for line in f)
    with open(path("stories.txt"), "w", encoding="utf-8", newline="") as f:
        f.write(text[:15265])
    done = run("imatrix", MODEL, "--corpus", path("stories.txt"), "-o", path("made.gguf"))
    assert done.stdout.endswith(": from 4096 tokens\n"), done
    wanted, found = tensors(IMATRIX), tensors(path("made.gguf"))
    assert set(found) == set(wanted) and len(found) == 84
    for name, (_, raw) in wanted.items():
        n = len(raw) // 4
        for a, b in zip(struct.unpack(f"<{n}f", found[name][1]), struct.unpack(f"<{n}f", raw)):
            near(a, b, relative=2e-5)


def case_a_file_tells_by_which_importance_matrix_it_was_made():
    found = values(quantize(MODEL, "Q8_0", "--imatrix", IMATRIX))
    assert found["quantize.imatrix.file"].endswith("scope-6m.gguf"), found
    assert found["quantize.imatrix.dataset"] == "stories.txt"
    assert found["quantize.imatrix.entries_count"] == "42"
    assert found["quantize.imatrix.chunks_count"] == "8"


def case_leave_output_tensor_goes_before_presets_and_overrides():
    was = tensors(UNTIED)["output.weight"]
    for words in (["Q4_K_M"], ["Q4_K_M", "--pure"], ["Q4_K_M", "--override", "output=Q8_0"]):
        out = tensors(quantize(UNTIED, *words, "--leave-output-tensor"))
        assert out["output.weight"] == was, words
        assert out["token_embd.weight"][0] == "Q5_0", words
    assert tensors(quantize(UNTIED, "Q4_K_M"))["output.weight"][0] == "Q8_0"


def case_leave_output_tensor_leaves_nothing_where_the_embedding_is_the_head():
    plain = tensors(quantize(MODEL, "Q8_0"))
    done = run("quantize", MODEL, "Q8_0", "--leave-output-tensor", "-o", path("out.gguf"))
    assert done.returncode == 0 and "no output.weight" in done.stderr, done
    assert tensors(path("out.gguf")) == plain


main(sys.modules[__name__])
