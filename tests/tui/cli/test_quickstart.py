"""The quickstart against an independent f32 forward and f64 ruler (tests/data/quickstart.json)."""
import json
import os
import sys

from tap import DATA, main, near, run_json

EXPECTED = json.load(open(os.path.join(DATA, "quickstart.json")))
SUMMARY = run_json("run", timeout=1200)
ARMS = {a["recipe"]: a for a in SUMMARY["arms"]}


def case_documents_tokens_and_positions_are_exact():
    for key in ("documents", "tokens", "n"):
        assert SUMMARY[key] == EXPECTED[key], (key, SUMMARY[key])
    assert sum(c["n"] for c in SUMMARY["corpora"]) == EXPECTED["n"]


def case_the_reference_perplexity_is_right():
    near(SUMMARY["ppl_ref"], EXPECTED["ppl_ref"], relative=1e-5)


def check_arm(name):
    found, wanted = ARMS[name], EXPECTED["arms"][name]
    for key in ("kld_mean", "kld_median", "kld_p99"):
        near(found[key], wanted[key], relative=0.01)
    for key in ("top1_agreement", "topk_overlap"):
        near(found[key], wanted[key], absolute=0.002)
    near(found["ppl_arm"], wanted["ppl_arm"], relative=5e-4)
    assert found["bytes"] == wanted["bytes"]
    assert found["n"] == EXPECTED["n"]
    assert found["nonfinite"] == found["infinite"] == 0


def case_q8_0_is_as_expected():
    check_arm("Q8_0")


def case_q4_k_m_is_as_expected():
    check_arm("Q4_K_M")


def case_fewer_bits_never_measure_better():
    ladder = [ARMS[n] for n in ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K")]
    for better, worse in zip(ladder, ladder[1:]):
        for key in ("kld_mean", "kld_median", "kld_p99"):
            assert better[key] < worse[key], (better["name"], worse["name"], key)
        assert better["bits_per_weight"] > worse["bits_per_weight"]
        assert better["top1_agreement"] > worse["top1_agreement"]


def case_error_bars_are_there_and_sane():
    for arm in ARMS.values():
        assert 0 < arm["kld_sem"] < 0.2 * arm["kld_mean"], arm["name"]
        assert arm["kld_median"] < arm["kld_mean"] < arm["kld_p99"] < arm["kld_max"], arm["name"]


main(sys.modules[__name__])
