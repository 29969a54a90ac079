"""What may never change a byte of --json: threads, ISA; and what must be exactly zero."""
import os
import sys
import tempfile

from tap import SCENARIOS, main, run, run_json

FOLDER = tempfile.TemporaryDirectory()
SCENARIO = os.path.join(FOLDER.name, "two.lua")
with open(SCENARIO, "w") as f:
    f.write(f"""
      return scenario {{
        name = "two documents",
        reference = model "{SCENARIOS}/models/scope-6m.f16.gguf",
        corpus = text("{SCENARIOS}/corpora/code.jsonl", {{ max_documents = 2 }}),
        arms = {{
          arm "same" {{}},
          arm "q4_k_m" {{ preset = "Q4_K_M" }},
          arm "one" {{ override = {{ ["blk\\\\.3\\\\.ffn_down"] = "Q2_K" }} }},
        }},
      }}""")


def summary(threads, isa=None):
    done = run(SCENARIO, "--json", "--threads", threads, env={"KLDSCOPE_ISA": isa} if isa else None)
    if isa and "cannot run" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return done.stdout


BASE = summary(2)


def case_one_and_seven_threads_write_the_same_bytes():
    assert summary(1) == BASE
    assert summary(7) == BASE


def case_the_scalar_definition_writes_the_same_bytes():
    assert summary(2, "scalar") == BASE


def case_avx2_and_avx512_write_the_same_bytes():
    for isa in ("avx2", "avx512"):
        assert summary(2, isa) in (BASE, None), isa


def case_an_unchanged_arm_is_zero_everywhere():
    same = run_json(SCENARIO)["arms"][0]
    for key in ("kld_mean", "kld_sem", "kld_median", "kld_p90", "kld_p95", "kld_p99", "kld_p999",
                "kld_max", "kld_reverse_mean", "ln_ppl_ratio", "delta_p_mean", "delta_p_rms"):
        assert same[key] == 0.0, (key, same[key])
    assert same["top1_agreement"] == same["topk_overlap"] == 1.0
    assert same["ppl_arm"] == same["ppl_ref"]


def case_an_unknown_isa_is_refused_by_name():
    done = run(SCENARIO, "--json", env={"KLDSCOPE_ISA": "sse9"})
    assert done.returncode == 2 and "sse9" in done.stderr and "avx2" in done.stderr, done.stderr


main(sys.modules[__name__])
