"""Where the output head runs, from outside. Without a software Vulkan device only the words are tried."""
import json
import os
import struct
import sys
import tempfile

from tap import DATA, SCENARIOS, main, near, run, run_json

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
FOLDER = tempfile.TemporaryDirectory()
DEVICE = os.environ.get("KS_TEST_GPU", "llvmpipe")
ON_DEVICE = ("--head", "vulkan", "--device", DEVICE)


def has_device():
    return DEVICE in json.dumps(json.loads(run("doctor", "--json").stdout)["gpu"]["devices"])


def refused(done, *words):
    assert done.returncode == 2, done
    for word in words:
        assert word in done.stderr, done.stderr


def case_words_that_mean_nothing_are_refused():
    refused(run("run", "--head", "gpu"), "--head gpu", "auto, cpu or vulkan")
    refused(run("run", "--head-path", "fast"), "--head-path fast", "auto, few, many or matrix")
    refused(run("run", "--head", "cpu", "--device", "0"), "--head cpu", "--device")
    refused(run("run", "--head", "cpu", "--head-path", "few"), "--head cpu", "--head-path")
    ids = os.path.join(DATA, "model/llama-tied.ids.i32")
    logits = ("logits", MODEL, "--ids", ids, "-o", "-")
    refused(run(*logits, "--head", "auto"), "--head auto", "cpu or vulkan")
    refused(run(*logits, "--device", "0"), "--device", "--head vulkan")


def case_a_device_that_is_not_there_costs_a_run_nothing_and_logits_everything():
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    words = ("run", MODEL, "--arm", "q8_0", "--corpus", code, "--max-documents", 1)
    done = run(*words, "--json", "--head", "vulkan", "--device", "nowhere")
    assert done.returncode == 0 and "nowhere" in done.stderr, done.stderr
    assert json.loads(done.stdout)["backend"]["head"] == "cpu"
    text = os.path.join(FOLDER.name, "text")
    out = os.path.join(FOLDER.name, "none.f32")
    open(text, "w").write("a small text")
    done = run("logits", MODEL, "--file", text, "-o", out, "--head", "vulkan", "--device", "nowhere")
    refused(done, "nowhere")
    assert not os.path.exists(out)


def case_a_run_on_a_device_finds_what_the_cpu_finds():
    if not has_device():
        return
    code = os.path.join(SCENARIOS, "corpora/code.jsonl")
    lua = os.path.join(FOLDER.name, "heads.lua")
    open(lua, "w").write(f"""return scenario {{
        reference = model "{MODEL}", corpus = text("{code}", {{ max_documents = 1 }}),
        arms = {{ arm "same" {{}}, arm "q4_k_m" {{ preset = "Q4_K_M" }} }} }}""")
    cpu = run_json("run", lua, "--head", "cpu")
    for path, name in (("auto", ""), ("few", "few rows"), ("many", "many rows")):
        gpu = run_json("run", lua, *ON_DEVICE, "--head-path", path)
        assert gpu["backend"]["head"].startswith("vulkan ") and name in gpu["backend"]["head"]
        assert "head_windows_on_cpu" not in gpu["backend"]
        same, lossy = gpu["arms"]
        assert same["kld_mean"] == 0 and same["kld_max"] == 0 and same["topk_overlap"] == 1
        assert lossy["n"] == cpu["arms"][1]["n"]
        for key in ("kld_mean", "kld_reverse_mean", "ppl_arm"):
            near(lossy[key], cpu["arms"][1][key], relative=1e-5)


def case_logits_through_a_device_are_the_cpus():
    if not has_device():
        return
    text = os.path.join(FOLDER.name, "words")
    open(text, "w").write("Once upon a time there was a ruler, and it was live. " * 10)
    found = {}
    for name, words in (("cpu", ()), ("device", ON_DEVICE)):
        out = os.path.join(FOLDER.name, name + ".f32")
        done = run("logits", MODEL, "--file", text, "-o", out, *words)
        assert done.returncode == 0, done.stderr
        raw = open(out, "rb").read()
        found[name] = struct.unpack(f"<{len(raw) // 4}f", raw)
    assert len(found["cpu"]) == len(found["device"]) > 100 * 4096
    worst = max(abs(a - b) for a, b in zip(found["cpu"], found["device"]))
    assert worst <= 2e-5, worst


def case_doctor_says_which_way_a_head_would_take():
    if not has_device():
        return
    found = json.loads(run("doctor", "--json", "--device", DEVICE).stdout)["gpu"]
    assert found["chosen"] is not None and found["why_none"] == ""
    assert found["paths"]["Q8_0"] in ("many rows", "matrix cores")
    assert found["paths"]["IQ2_XXS"] is None
    text = run("doctor", "--device", DEVICE).stdout
    assert "is tried on the model's head" in text and "the cpu for" in text


main(sys.modules[__name__])
