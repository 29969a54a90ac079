"""llama-perplexity's way of scoring, and activations as its kernels round them, from outside."""
import json
import os
import sys

from tap import DATA, SCENARIOS, main, run, run_json

MODEL = os.path.join(DATA, "model/model-odd.gguf")
ARM = os.path.join(DATA, "model/arm-odd-q4_0.gguf")
TEXT = os.path.join(DATA, "perplexity/corpus.txt")
WORDS = ("run", MODEL, "--arm", ARM, "--corpus", TEXT, "--window", 64, "--scoring", "llama")
EXPECTED = json.load(open(os.path.join(DATA, "perplexity/expected.json")))["odd"]


def printed(name):
    (line,) = [x for x in EXPECTED["arms"]["q4_0"]["statistics"]["KL divergence statistics"]
               if x["name"] == name]
    return line["value"]


def case_the_command_line_alone_reproduces_llama_perplexity():
    found = run_json(*WORDS)
    exact = EXPECTED["exact_f32_arm"]
    assert found["scoring"] == "llama" and found["manifest"]["order"] == "file"
    assert found["tokens"] == 13 * 64 + found["left_over"]
    assert found["n"] == exact["n"]
    assert abs(found["arms"][0]["kld_mean"] - exact["kld_mean"]) < 1e-5 * exact["kld_mean"]
    rounded = run_json(*WORDS, "--activations", "q8")["arms"][0]
    assert rounded["recipe"].endswith(" + activations q8")
    assert abs(rounded["kld_mean"] - printed("Mean    KLD")) < 2e-5
    assert abs(rounded["kld_max"] - printed("Maximum KLD")) < 2e-5


def case_a_run_file_tells_the_same_and_keeps_to_its_scoring_and_rounding():
    rounded = (*WORDS, "--activations", "q8", "--json", "--out", "scored.kld")
    out = run(*rounded).stdout
    assert json.loads(out)["left_over"] > 0
    assert run("report", "scored.kld", "--format", "json").stdout == out
    assert run(*rounded, "--resume").stdout == out
    plain = run(*WORDS, "--json", "--out", "scored.kld", "--resume")
    assert plain.returncode == 2 and "activations q8" in plain.stderr, plain.stderr
    window = [w if w != "llama" else "window" for w in rounded]
    window = run(*window, "--resume")
    assert window.returncode == 2 and "scored.kld" in window.stderr, window.stderr


def case_words_that_mean_nothing_are_refused():
    for words, said in (
            (("--scoring", "x"), "--scoring x: it is window or llama"),
            (("--activations", "q4"), "--activations q4: it is f32 or q8")):
        done = run("run", *words)
        assert done.returncode == 2 and said in done.stderr, done
    scenario = os.path.join(SCENARIOS, "quickstart.lua")
    done = run("run", scenario, "--activations", "q8")
    assert done.returncode == 2 and "--activations is for the arms that --arm" in done.stderr, done


main(sys.modules[__name__])
