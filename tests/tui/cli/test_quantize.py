"""kldscope quantize: the file it writes is the arm of that name, tensor by tensor. kldscope imatrix:
what it makes, quantizing takes."""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile

from tap import PROGRAM, SCENARIOS, main, run, run_json

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
CORPUS = os.path.join(SCENARIOS, "corpora/code.jsonl")
KEEP = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(KEEP.name, name)


def quantize(*words, out):
    done = run("quantize", *words, "-o", path(out))
    assert done.returncode == 0, done.stderr
    return path(out)


def tensors(file):
    return {t["name"]: t for t in run_json("inspect", file)["tensors"]}


def arms(*words):
    """The arms of a short run and their hashes, by name."""
    o = run_json(*words, "--max-documents", "1", env={"KLDSCOPE_CACHE": "off"})
    hashes = {a["name"]: a["hash"] for a in o["manifest"]["arms"]}
    return {a["name"]: a for a in o["arms"]}, hashes


def weigh_columns(name):
    """An importance matrix in the older form, of every matrix in the layers."""
    entries = [t for t in tensors(MODEL).values() if t["name"].startswith("blk.")]
    entries = [t for t in entries if len(t["shape"]) == 2]
    with open(path(name), "wb") as f:
        f.write(struct.pack("<i", len(entries)))
        for t in entries:
            raw, n = t["name"].encode(), t["shape"][0]
            values = [(c * 7919 % 97 + 1) / 8 for c in range(n)]
            f.write(struct.pack("<i", len(raw)) + raw + struct.pack(f"<ii{n}f", 1, n, *values))
    return path(name)


def refused(*words, says, status=2, **more):
    done = run("quantize", *words, **more)
    assert done.returncode == status, done.stderr
    assert done.stdout == "", done.stdout
    for one in says:
        assert one in done.stderr, f"{one!r} is not in {done.stderr!r}"
    left = [f for f in os.listdir(KEEP.name) if f.startswith("refused")]
    assert not left, left


def case_a_file_of_a_preset_is_the_arm_of_that_preset():
    out = quantize(MODEL, "q4_k_m", out="q4.gguf")
    found, hashes = arms("run", MODEL, "--arm", "Q4_K_M", "--arm", out, "--corpus", CORPUS)
    assert hashes["q4_k_m"] == hashes["q4"]
    assert found["q4_k_m"]["kld_mean"] == found["q4"]["kld_mean"] > 0
    assert found["q4_k_m"]["bits_per_weight"] == found["q4"]["bits_per_weight"]


def case_metadata_stays_and_tells_the_type():
    out = quantize(MODEL, "Q5_K_S", out="q5.gguf")
    was, now = (run("inspect", f).stdout.splitlines() for f in (MODEL, out))
    is_key = lambda line: line.startswith("  ") and "." in line.split()[0] and " u" not in line
    was, now = ([line for line in lines if is_key(line)] for lines in (was, now))
    assert [l for l in was if "string" in l] == [l for l in now if "string" in l]
    text = run("inspect", out).stdout
    assert ["general.file_type", "u32", "16"] in [line.split() for line in text.splitlines()]
    assert ["general.quantization_version", "u32", "2"] in [l.split() for l in text.splitlines()]


def case_overrides_and_pure_are_heeded():
    out = quantize(MODEL, "Q4_K_S", "--override", r"blk\.0\.=Q8_0", "--override", "attn_v=Q6_K",
                   "--pure", out="mixed.gguf")
    types = {name: t["type"] for name, t in tensors(out).items()}
    assert types["token_embd.weight"] == "Q4_K"
    assert types["blk.0.attn_v.weight"] == "Q8_0"
    assert types["blk.1.attn_v.weight"] == "Q6_K"
    assert types["blk.1.ffn_up.weight"] == "Q4_K"
    assert types["blk.1.ffn_norm.weight"] == "F32"
    alone = quantize(MODEL, "--override", r"blk\.1\.ffn=MXFP4", out="alone.gguf")
    types = {name: t["type"] for name, t in tensors(alone).items()}
    assert types["blk.1.ffn_up.weight"] == "MXFP4" and types["blk.0.ffn_up.weight"] == "F16"


def case_a_dry_run_tells_the_types_and_bytes_of_the_file_and_writes_none():
    words = (MODEL, "Q3_K_M", "--override", r"blk\.0\.attn_q=Q8_0")
    dry = run("quantize", *words, "--dry-run", cwd=KEEP.name)
    assert dry.returncode == 0 and not dry.stderr, dry
    *rows, total = (line.split() for line in dry.stdout.splitlines())
    made, was = tensors(quantize(*words, out="wet.gguf")), tensors(MODEL)
    assert rows == [[name, was[name]["type"], "->", t["type"], str(t["bytes"])]
                    for name, t in made.items()]
    assert total[0] == "Q3_K_M:" and total[1] == f"{sum(t['bytes'] for t in made.values()) / 1e6:.1f}"
    before = os.listdir(KEEP.name)
    run("quantize", *words, "--dry-run", "-o", path("refused.gguf"))
    assert os.listdir(KEEP.name) == before
    refused(MODEL, "IQ2_XS", "--dry-run", says=["blk.0.", "importance matrix"])


def case_importance_reaches_the_file_and_a_scenario_says_the_same():
    weights = weigh_columns("weights.dat")
    with open(path("arms.lua"), "w") as f:
        f.write(f"""return scenario {{ reference = "{MODEL}", corpus = text "{CORPUS}", arms = {{
            arm "weighed" {{ preset = "IQ2_XS", imatrix = "weights.dat" }},
            arm "plain" {{ preset = "Q2_K" }},
            arm "file" {{ model = "direct.gguf" }},
            arm "from the scenario" {{ model = "arm.gguf" }},
        }} }}""")
    quantize(MODEL, "IQ2_XS", "--imatrix", weights, out="direct.gguf")
    quantize(MODEL, "Q8_0", out="arm.gguf")
    quantize(path("arms.lua"), "weighed", out="arm.gguf")
    found, hashes = arms("run", path("arms.lua"))
    assert hashes["weighed"] == hashes["file"] == hashes["from the scenario"]
    assert hashes["plain"] != hashes["weighed"]
    assert "weights.dat" in run("inspect", path("direct.gguf")).stdout


def case_what_keys_and_values_are_kept_in_is_not_in_the_file():
    with open(path("kv.lua"), "w") as f:
        f.write(f"""return scenario {{ reference = "{MODEL}", corpus = text "{CORPUS}", arms = {{
            arm "kv" {{ preset = "Q8_0", kv = {{ k = "Q4_0", v = "Q4_0" }} }} }} }}""")
    made = run("quantize", path("kv.lua"), "kv", "-o", path("kv.gguf"))
    assert made.returncode == 0 and "keys and values" in made.stderr, made.stderr
    quantize(MODEL, "Q8_0", out="weights.gguf")
    assert open(path("kv.gguf"), "rb").read() == open(path("weights.gguf"), "rb").read()


def case_rounded_activations_are_not_in_the_file():
    with open(path("q8.lua"), "w") as f:
        f.write(f"""return scenario {{ reference = "{MODEL}", corpus = text "{CORPUS}", arms = {{
            arm "q8" {{ preset = "Q8_0", activations = "q8" }} }} }}""")
    made = run("quantize", path("q8.lua"), "q8", "-o", path("q8.gguf"))
    assert made.returncode == 0 and "activations" in made.stderr, made.stderr
    quantize(MODEL, "Q8_0", out="weights.gguf")
    assert open(path("q8.gguf"), "rb").read() == open(path("weights.gguf"), "rb").read()


def case_an_importance_matrix_made_here_serves_here():
    """Text that weighs columns brings the arm nearer to the reference on that text."""
    made = run("imatrix", MODEL, "--corpus", CORPUS, "--max-documents", "8", "-o",
               path("made.gguf"))
    assert made.returncode == 0, made.stderr
    assert made.stdout.endswith(" tokens\n"), made.stdout
    with open(path("made.lua"), "w") as f:
        f.write(f"""return scenario {{ reference = "{MODEL}", arms = {{
            arm "even" {{ preset = "Q2_K" }},
            arm "weighed" {{ preset = "Q2_K", imatrix = "made.gguf" }},
        }}, corpus = text("{CORPUS}", {{ max_documents = 8 }}) }}""")
    found, _ = arms("run", path("made.lua"))
    assert found["weighed"]["kld_mean"] < found["even"]["kld_mean"]
    again = run("imatrix", path("made.lua"), "-o", path("again.gguf"))
    assert again.returncode == 0, again.stderr
    assert open(path("made.gguf"), "rb").read() == open(path("again.gguf"), "rb").read()
    quantize(MODEL, "Q2_K", "--imatrix", path("made.gguf"), out="told.gguf")
    told = {m["key"]: m["value"] for m in run_json("inspect", path("told.gguf"))["metadata"]
            if m["key"].startswith("quantize.imatrix.")}
    made = {m["key"]: m["value"] for m in run_json("inspect", path("made.gguf"))["metadata"]}
    assert told["quantize.imatrix.file"] == path("made.gguf")
    assert told["quantize.imatrix.dataset"] == made["imatrix.datasets"][0] == CORPUS
    assert told["quantize.imatrix.chunks_count"] == made["imatrix.chunk_count"]
    assert told["quantize.imatrix.entries_count"] == 6 * 7 # the layers' matrices


def case_what_cannot_be_made_is_refused_and_leaves_nothing():
    out = ("-o", path("refused.gguf"))
    refused(MODEL, "Q4_K_M", says=["-o OUT"])
    refused(MODEL, *out, says=["a model and a preset"])
    refused(MODEL, "Q4_KM", *out, says=["Q4_KM", "Q4_K_M"])
    refused(MODEL, "IQ2_XS", *out, says=["blk.0.", "IQ2_XS", "importance matrix"])
    refused(MODEL, "Q4_K_M", "--override", "attn_q", *out, says=["attn_q", "REGEX=TYPE"])
    refused(MODEL, "Q4_K_M", "--override", "atn_q=Q8_0", *out, says=["atn_q", "matches no tensor"])
    refused(MODEL, "Q4_K_M", "--imatrix", CORPUS, *out, says=[CORPUS, "not an importance matrix"])
    refused(MODEL, "Q4_K_M", "-o", MODEL, says=["is the model itself"])
    refused(path("none.gguf"), "Q4_K_M", *out, says=["none.gguf", "No such file"])
    refused(MODEL, "Q4_K_M", "-o", path("none/refused.gguf"), says=["No such file"])
    scenario = os.path.join(SCENARIOS, "quickstart.lua")
    refused(scenario, "none", *out, says=["no arm is named \"none\""])
    refused(scenario, "none", "--pure", *out, says=["in the scenario"])
    for words, says in (((scenario,), "-o OUT"), ((MODEL, *out), "--corpus"), (out, "a scenario")):
        done = run("imatrix", *words)
        assert done.returncode == 2 and says in done.stderr, done.stderr
    assert not [f for f in os.listdir(KEEP.name) if f.startswith("refused")]


def case_a_full_disk_is_an_error_and_leaves_nothing():
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run([PROGRAM, "quantize", MODEL, "Q8_0", "-o", path("refused.gguf")],
                          capture_output=True, preexec_fn=limit)
    assert done.returncode == 2, done
    assert b"refused.gguf: cannot write" in done.stderr
    assert not [f for f in os.listdir(KEEP.name) if f.startswith("refused")]


main(sys.modules[__name__])
