"""Commands beside run: help, tokens, logits, inspect, doctor."""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from tap import DATA, PROGRAM, ROOT, SCENARIOS, main, run, run_json

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
FOLDER = tempfile.TemporaryDirectory()


def case_every_command_has_a_page():
    for command in ("run", "inspect", "tokens", "logits", "quantize", "imatrix", "doctor", "bench", "cache"):
        done = run(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith(f"Usage: kldscope "), done
        assert command in done.stdout and "--help" in done.stdout
        assert all(len(line) <= 100 for line in done.stdout.splitlines()), command


def case_help_and_version():
    assert "quickstart" in run("--help").stdout
    assert run("--version").stdout.startswith("kldscope ")


def case_tokens_come_back_as_the_text():
    text = "Once upon a time, in a café:\n\t42 <|im_end|>"
    ids = json.loads(run("tokens", MODEL, "--json", stdin=text.encode()).stdout)
    special = json.loads(run("tokens", MODEL, "--json", "--parse-special",
                             stdin=text.encode()).stdout)
    assert special[-1] == 2 and ids[-1] != 2
    plain = run("tokens", MODEL, stdin=text.encode()).stdout
    assert plain == " ".join(map(str, ids)) + "\n"
    pieces = run("tokens", MODEL, "--pieces", stdin=text.encode()).stdout.splitlines()
    assert len(pieces) == len(ids)


def case_logits_are_those_of_an_independent_forward():
    raw = open(os.path.join(DATA, "model/llama-tied.ids.i32"), "rb").read()
    ids = os.path.join(FOLDER.name, "ids")
    out = os.path.join(FOLDER.name, "out.f32")
    open(ids, "w").write("\n".join(map(str, struct.unpack(f"<{len(raw) // 4}i", raw))))
    done = run("logits", os.path.join(DATA, "model/llama-tied.gguf"), "--ids", ids, "-o", out)
    assert done.returncode == 0, done.stderr
    found = open(out, "rb").read()
    wanted = open(os.path.join(DATA, "model/llama-tied.logits.f32"), "rb").read()
    assert len(found) == len(wanted)
    n = len(found) // 4
    worst = max(abs(a - b) for a, b in zip(struct.unpack(f"<{n}f", found),
                                           struct.unpack(f"<{n}f", wanted)))
    assert worst <= 1e-4, worst


def case_logits_for_numpy_have_its_header():
    out = os.path.join(FOLDER.name, "out.npy")
    text = os.path.join(FOLDER.name, "text")
    open(text, "w").write("a small text")
    assert run("logits", MODEL, "--file", text, "-o", out).returncode == 0
    found = open(out, "rb").read()
    assert found[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", found[8:10])[0]
    assert (10 + size) % 64 == 0
    header = eval(found[10:10 + size].decode())
    assert header["descr"] == "<f4" and header["shape"][1] == 4096
    assert len(found) == 10 + size + 4 * header["shape"][0] * 4096
    assert not os.path.exists(out + ".part")


def case_a_bad_id_leaves_no_file():
    ids = os.path.join(FOLDER.name, "bad-ids")
    out = os.path.join(FOLDER.name, "bad.f32")
    open(ids, "w").write("1 2 three")
    done = run("logits", MODEL, "--ids", ids, "-o", out)
    assert done.returncode == 2 and "byte 4" in done.stderr, done.stderr
    open(ids, "w").write("1 2 4096")
    done = run("logits", MODEL, "--ids", ids, "-o", out)
    assert done.returncode == 2 and "4096" in done.stderr, done.stderr
    assert not os.path.exists(out) and not os.path.exists(out + ".part")


def case_inspect_counts_the_bytes():
    found = json.loads(run("inspect", MODEL, "--json").stdout)
    assert found["architecture"] == "llama" and found["layers"] == 6 and found["tied"] is True
    assert sum(t["bytes"] for t in found["tensors"]) == found["bytes"]
    assert len(found["tensors"]) == 56
    assert found["traits"]["attention"] == "all positions"
    text = run("inspect", MODEL).stdout
    assert "blk.5.ffn_down.weight" in text and "general.license" in text
    assert "adjacent pairs" in text


def case_doctor_says_what_would_be_used():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["isa"] in found["isas"] and found["threads"] >= 1
    assert "would be used: the fastest" in run("doctor").stdout
    asked = run("doctor", env={"KLDSCOPE_ISA": "scalar"}).stdout
    assert "scalar would be used: KLDSCOPE_ISA asks for it" in asked, asked


def case_bench_lines_have_their_limits():
    lines = json.loads(run("bench", "limits", "--json").stdout)
    lines += json.loads(run("bench", "tokenizer", "--json").stdout)
    assert {line["group"] for line in lines} == {"limits", "tokenizer"}
    assert all(line["value"] > 0 and line["unit"] for line in lines)
    done = run("bench", "tokenizer", "--model", "nowhere.gguf")
    assert done.returncode == 2 and "nowhere.gguf" in done.stderr, done.stderr
    text = run("bench", "tokenizer").stdout
    assert not [line for line in text.splitlines() if line != line.rstrip()], text


def case_bench_help_names_the_groups_that_there_are():
    known = run("bench", "nothing").stderr.split("there are ")[1].strip().split(", ")
    page = run("bench", "--help").stdout
    assert re.findall(r"^  (\w+)  ", page, re.MULTILINE) == known, page


def case_an_interrupted_bench_leaves_nothing():
    place = os.path.join(FOLDER.name, "bench")
    os.mkdir(place)
    with subprocess.Popen([PROGRAM, "bench", "pipeline"], env=dict(os.environ, TMPDIR=place),
                          stdout=subprocess.PIPE) as process:
        while b"memory" not in process.stdout.readline():  # the last line before the made model
            assert process.poll() is None
        while not os.listdir(place):
            time.sleep(0.01)
        time.sleep(0.5)
        process.kill()
    left = [os.path.join(at, name) for at, _, names in os.walk(place) for name in names]
    assert sum(map(os.path.getsize, left)) < 10000, left


def case_the_widest_vocabulary_fits_beside_its_weights():
    lines = json.loads(run("bench", "pipeline", "--json").stdout)
    memory = [line["value"] for line in lines if "memory" in line["name"]]
    assert len(memory) == 2 and all(0 < mb < 600 for mb in memory), lines


def case_without_lua_means_the_same():
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    words = run_json("run", MODEL, "--arm", "q4_k_m", "--corpus", code, "--max-documents", 2)
    lua = os.path.join(FOLDER.name, "same.lua")
    open(lua, "w").write(f"""return scenario {{ reference = model "{MODEL}",
        corpus = text("{code}", {{ max_documents = 2 }}),
        arms = {{ arm "q4_k_m" {{ preset = "Q4_K_M" }} }} }}""")
    script = run_json(lua)
    assert words["arms"] == script["arms"]


def case_any_model_has_a_ladder():
    ladder = os.path.join(SCENARIOS, "ladder.lua")
    done = run(ladder, "--json")
    assert done.returncode == 2 and "-p model=FILE.gguf" in done.stderr, done
    models = {"scenarios/models": ("scope-6m.f16.gguf", "llama"),
              "tests/data/model": ("qwen3moe.gguf", "qwen3moe")}
    stories = os.path.join(SCENARIOS, "corpora/stories.jsonl")
    for folder, (name, architecture) in models.items():
        here = os.path.join(ROOT, folder)
        found = run_json(ladder, "-p", "model=" + name, "-p", "max_documents=1", "-p",
                         "presets=Q8_0 Q4_0", "--no-file", cwd=here)
        assert found["reference"]["architecture"] == architecture
        assert [a["recipe"] for a in found["arms"]] == ["Q8_0", "Q4_0"]
        wanted = run_json("run", name, "--arm", "Q8_0", "--arm", "Q4_0", "--corpus", stories,
                          "--max-documents", 1, "--window", found["window"], "--no-file",
                          cwd=here)
        assert found["arms"] and found["arms"] == [dict(w, corpora=f["corpora"]) for f, w in
                                                   zip(found["arms"], wanted["arms"])]
        assert 0 < found["arms"][0]["kld_mean"] < found["arms"][1]["kld_mean"]


def case_keys_and_values_are_named_like_an_arm():
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    words = run_json("run", MODEL, "--arm", "kv=q8_0", "--arm", "kv=F32/Q4_0", "--arm",
                     "Q4_K+kv=F16", "--arm", MODEL + "+kv=F32", "--corpus", code,
                     "--max-documents", 1)
    lua = os.path.join(FOLDER.name, "kv.lua")
    open(lua, "w").write(f"""return scenario {{ reference = model "{MODEL}",
        corpus = text("{code}", {{ max_documents = 1 }}), arms = {{
          arm "kv=q8_0" {{ kv = {{ k = "Q8_0", v = "Q8_0" }} }},
          arm "kv=f32/q4_0" {{ kv = {{ v = "Q4_0" }} }},
          arm "q4_k_m+kv=f16" {{ preset = "Q4_K_M", kv = {{ k = "F16", v = "F16" }} }},
          arm "scope-6m.f16+kv=f32" {{ model = "{MODEL}", kv = {{ k = "F32" }} }} }} }}""")
    script = run_json(lua)
    assert words["arms"] == script["arms"]
    recipes = [arm["recipe"] for arm in words["arms"]]
    assert recipes == ["reference + kv Q8_0", "reference + kv F32/Q4_0", "Q4_K_M + kv F16",
                       f"file {MODEL} + kv F32"], recipes
    assert words["arms"][0]["bits_per_weight"] == words["arms"][3]["bits_per_weight"]
    assert words["arms"][0]["kld_mean"] > 0 and words["arms"][3]["kld_max"] == 0
    odd = os.path.join(FOLDER.name, "a+kv=Q8_0.gguf")  # what a file is called goes first
    os.symlink(MODEL, odd)
    arm, = run_json("run", MODEL, "--arm", odd, "--corpus", code, "--max-documents", 1)["arms"]
    assert arm["name"] == "a+kv=Q8_0" and arm["recipe"] == "file " + odd and arm["kld_max"] == 0


def case_what_keys_and_values_cost_is_a_scenario():
    found = run_json(os.path.join(SCENARIOS, "kv.lua"), "-p", "max_documents=1", "-p", "window=128")
    lost = {a["name"]: a["kld_mean"] for a in found["arms"]}
    both = [lost["kv " + kept] for kept in ("F16", "BF16", "Q8_0", "Q5_1", "Q4_1")]
    assert 0 < both[0] and both == sorted(both), lost
    assert 0 < lost["values Q4_0"] < lost["keys Q4_0"] < lost["kv Q4_0"], lost
    assert all(a["bits_per_weight"] == found["arms"][0]["bits_per_weight"]
               for a in found["arms"] if "q8_0" not in a["name"])


def case_every_family_measures_what_half_precision_costs():
    """Every sample that has a tokenizer, from its file to its numbers: a rounding of 2^-11 must show,
    and little more; where it makes a router choose otherwise, a thousandth of a nat."""
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    families = set()
    for model in sorted(glob.glob(os.path.join(DATA, "model/*.gguf"))):
        info = run_json("inspect", model)
        if not info["tokenizer_model"]:
            continue
        found = run_json("run", model, "--arm", "F16", "--corpus", code, "--max-documents", 1,
                         "--window", 64)
        (arm,) = found["arms"]
        changed = any(t["type"] != "F16" and len(t["shape"]) > 1 for t in info["tensors"])
        assert arm["nonfinite"] == arm["infinite"] == 0, model
        assert (0 < arm["kld_mean"] < 1e-3) if changed else arm["kld_max"] == 0, (model, arm)
        families.add(info["architecture"])
    assert len(families) > 18, families


def case_a_hook_reads_numbers_and_steers():
    lua = os.path.join(FOLDER.name, "hook.lua")
    open(lua, "w").write(f"""
        local seen = 0
        return scenario {{
          reference = model "{MODEL}",
          corpus = text("{SCENARIOS}/corpora/code.jsonl", {{ max_documents = 6 }}),
          arms = {{ arm "good" {{ preset = "Q8_0" }}, arm "bad" {{ preset = "Q2_K" }} }},
          on_window = function(run)
            seen = seen + 1
            assert(run.windows == seen, "out of order")
            for _, a in ipairs(run.arms) do
              if run.windows == 3 and a.kld_mean.value > 0.2 then run:drop(a, "hopeless") end
            end
            if run.windows == 5 then run:stop("enough") end
          end,
        }}""")
    done = run(lua, "--json")
    assert done.returncode == 130, done.stderr
    summary = json.loads(done.stdout)
    good, bad = summary["arms"]
    assert good["n"] > bad["n"] > 0 and bad["dropped"] == "hopeless", summary["arms"]
    again = run(lua, "--json", "--threads", 1)
    assert again.stdout == done.stdout


def case_the_table_names_every_arm():
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    done = run("run", MODEL, "--arm", "Q8_0", "--arm", "Q2_K", "--corpus", code,
               "--max-documents", 2)
    assert done.returncode == 0, done.stderr
    assert "q8_0" in done.stdout and "q2_k" in done.stdout
    assert "KLD" in done.stdout and done.stdout.isascii()


main(sys.modules[__name__])
