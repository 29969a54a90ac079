"""A real model with a vocabulary of 262,144: only where scenarios/fetch gemma3 has brought it."""
import json
import os
import sys
import tempfile

from tap import SCENARIOS, main, near, run, run_json

MODEL = os.path.join(SCENARIOS, "models/gemma-3-270m-q4_k_m.gguf")
DEVICE = os.environ.get("KS_TEST_GPU", "llvmpipe")
FOLDER = tempfile.TemporaryDirectory()
if not os.path.exists(MODEL):
    print("1..0 # SKIP scenarios/fetch gemma3 brings the model")
    sys.exit(0)


def case_the_ladder_has_its_order():
    found = run_json(os.path.join(SCENARIOS, "gemma3.lua"), "--head", "cpu", "-p", "window=128",
                     "-p", "max_documents=1", timeout=1200)
    kld = {a["name"]: a["kld_mean"] for a in found["arms"]}
    assert 0 < kld["q8_0"] < kld["q6_k"] < kld["q2_k"], kld
    assert kld["q4_k_m"] < 1e-4, kld # the file is Q4_K_M itself
    assert found["n"] == found["tokens"] - 1 > 300 and 5 < found["ppl_ref"] < 50, found["ppl_ref"]


def case_a_head_in_pieces_on_a_device_finds_what_the_cpu_finds():
    """Its weights are more than a buffer of a software device may hold: they lie in several. Logits
    are apart in their last bits, which over 355 positions cancels to some millionths of a mean."""
    if DEVICE not in json.dumps(json.loads(run("doctor", "--json").stdout)["gpu"]["devices"]):
        return
    lua = os.path.join(FOLDER.name, "heads.lua")
    with open(lua, "w") as f:
        f.write(f"""return scenario {{
            window = 128, reference = model("{MODEL}", {{ type = "F16" }}),
            corpus = text("{SCENARIOS}/corpora/stories.jsonl", {{ max_documents = 1 }}),
            arms = {{ arm "same" {{}}, arm "q8_0" {{ preset = "Q8_0" }},
                      arm "q2_k" {{ preset = "Q2_K" }} }} }}""")
    cpu = run_json(lua, "--head", "cpu", timeout=1200)
    gpu = run_json(lua, "--head", "vulkan", "--device", DEVICE, timeout=2400)
    assert "vulkan" in gpu["backend"]["head"] and cpu["backend"]["head"] == "cpu", gpu["backend"]
    near(gpu["ppl_ref"], cpu["ppl_ref"], relative=1e-6)
    for here, there in zip(cpu["arms"], gpu["arms"]):
        if here["name"] == "same":
            assert here["kld_max"] == there["kld_max"] == 0.0
        near(there["kld_mean"], here["kld_mean"], relative=1e-5)
        assert here["top1_agreement"] == there["top1_agreement"], here["name"]


main(sys.modules[__name__])
