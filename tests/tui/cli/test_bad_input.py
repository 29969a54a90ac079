"""Bad input: each a clear error that names file and place, exit 2, nothing on standard output."""
import os
import struct
import sys
import tempfile

from tap import DATA, SCENARIOS, main, run

FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
STORIES = os.path.join(SCENARIOS, "corpora/stories.jsonl")
GOOD = open(MODEL, "rb").read()


def put(name, content):
    path = os.path.join(FOLDER.name, name)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return path


def refused(done, *words):
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == "", done.stdout
    assert done.stderr.startswith("kldscope: "), done.stderr
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr!r}"


def scenario(text, name="s.lua"):
    return run(put(name, text), "--headless")


def good_scenario(**changes):
    parts = {"reference": f'model "{MODEL}"',
             "corpus": f'text("{STORIES}", {{ max_documents = 1 }})',
             "arms": '{ arm "q8_0" { preset = "Q8_0" } }', **changes}
    return "return scenario {\n" + "".join(f"  {k} = {v},\n" for k, v in parts.items()) + "}\n"


def case_a_missing_model():
    refused(run("inspect", "no/such.gguf"), "no/such.gguf", "No such file")


def case_a_folder():
    refused(run("inspect", FOLDER.name), FOLDER.name)


def case_an_empty_file():
    path = put("empty.gguf", b"")
    refused(run("inspect", path), path, "empty")


def case_no_gguf():
    path = put("text.gguf", "once upon a time, in a land far away")
    refused(run("inspect", path), path, "GGUF")


def case_a_model_cut_anywhere():
    for at in (3, 4, 12, 24, 100, 5000, 40000, 90000, len(GOOD) // 2, len(GOOD) - 1):
        path = put("cut.gguf", GOOD[:at])
        refused(run("run", path, "--arm", "Q8_0", "--corpus", STORIES), path)


def case_an_unknown_architecture():
    at = GOOD.index(b"llama", GOOD.index(b"general.architecture"))
    path = put("arch.gguf", GOOD[:at] + b"lamma" + GOOD[at + 5:])
    refused(run("run", path, "--arm", "Q8_0", "--corpus", STORIES), path, "lamma", "llama")


def tensor_info(name):
    """Where the tensor's number of dimensions stands."""
    return GOOD.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)


def case_an_unknown_type():
    at = tensor_info(b"blk.2.ffn_up.weight") + 4 + 16
    path = put("type.gguf", GOOD[:at] + struct.pack("<I", 250) + GOOD[at + 4:])
    refused(run("inspect", path), path, "blk.2.ffn_up.weight", "250")


def case_a_tensor_beyond_the_end():
    at = tensor_info(b"blk.2.ffn_up.weight") + 4 + 16 + 4
    path = put("beyond.gguf", GOOD[:at] + struct.pack("<Q", 1 << 40) + GOOD[at + 8:])
    refused(run("inspect", path), path, "blk.2.ffn_up.weight")


def case_dimensions_whose_product_overflows():
    at = tensor_info(b"blk.2.ffn_up.weight") + 4
    path = put("huge.gguf", GOOD[:at] + struct.pack("<QQ", 1 << 40, 1 << 40) + GOOD[at + 16:])
    refused(run("inspect", path), path, "blk.2.ffn_up.weight")


def case_an_arm_with_another_vocabulary():
    other = os.path.join(DATA, "model/llama-tied.gguf")
    refused(run("run", MODEL, "--arm", other, "--corpus", STORIES), "llama-tied.gguf", "320", "4096")


def case_an_empty_corpus():
    path = put("empty.jsonl", "")
    refused(run("run", MODEL, "--arm", "Q8_0", "--corpus", path), path)


def case_a_bad_json_line():
    path = put("bad.jsonl", '{"text": "a fine line of text"}\n{"text": "another"}\n{"text": oops}\n')
    refused(run("run", MODEL, "--arm", "Q8_0", "--corpus", path), path + ":3")


def case_a_document_of_one_token():
    path = put("short.jsonl", '{"text": "a fine line of text"}\n{"text": "a"}\n')
    refused(run("run", MODEL, "--arm", "Q8_0", "--corpus", path), path + ":2")


def case_a_lua_syntax_error():
    refused(scenario("return scenario {\n  name = = 3\n}\n"), "s.lua:2")


def case_an_unknown_key():
    refused(scenario(good_scenario(arms='{ arm "x" { overide = {} } }')), "s.lua:4", "overide",
            "override")


def case_an_unknown_preset():
    refused(scenario(good_scenario(arms='{ arm "x" { preset = "Q4_K_N" } }')), "Q4_K_N", "Q4_K_M")


def case_an_infinite_loop_in_lua():
    refused(scenario("while true do end"), "s.lua")


def case_a_missing_scenario():
    refused(run("no/such.lua", "--headless"), "no/such.lua", "No such file")


def case_an_unknown_option():
    refused(run("run", "--headlesss"), "--headlesss", "--headless")


def case_an_unknown_command():
    refused(run("inspekt", MODEL), "inspekt", "inspect")


def case_a_window_beyond_the_context():
    refused(run("run", MODEL, "--arm", "Q8_0", "--corpus", STORIES, "--window", 5000), "5000", "1024")


def case_an_arm_that_is_no_preset_and_no_file():
    refused(run("run", MODEL, "--arm", "Q4_KM", "--corpus", STORIES), "Q4_KM", "Q4_K_M")


def case_keys_and_values_of_no_such_type():
    for kv, says in (("Q9_0", "Q8_0"), ("Q8_0/", '""'), ("", '""'), ("F16/F16/F16", "F16/F16")):
        refused(run("run", MODEL, "--arm", "kv=" + kv, "--corpus", STORIES), "kv=", says, "Q5_1")
    refused(run("run", MODEL, "--arm", "", "--corpus", STORIES), "neither a file nor a preset")
    refused(run("run", MODEL, "--arm", "Q4_KM+kv=F16", "--corpus", STORIES), "Q4_KM", "Q4_K_M")


def case_an_arm_that_is_for_a_later_version():
    refused(run("run", MODEL, "--arm", "IQ2_XXS", "--corpus", STORIES), "IQ2_XXS", "importance matrix")


def case_more_threads_than_any_machine_has():
    for command in (["bench"], ["run", MODEL], ["logits", MODEL, "--ids", "-", "-o", "x.f32"]):
        refused(run(*command, "--threads", "4294967297"), "--threads", "1024", "4294967297")


def case_names_that_would_move_the_cursor():
    name = b"Scope 6M"
    evil = GOOD.replace(name, b"\x1b[2J\x07\x1b[H", 1)
    assert evil != GOOD and len(evil) == len(GOOD)
    done = run("inspect", put("evil.gguf", evil))
    assert done.returncode == 0 and "\x1b" not in done.stdout, done.stdout
    path = put("evil.\x1b[2J.gguf", "no model")
    refused(run("inspect", path), "[2J")
    assert "\x1b" not in run("inspect", path).stderr


def case_a_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        import subprocess
        from tap import PROGRAM
        done = subprocess.run([PROGRAM, "inspect", MODEL], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"No space left" in done.stderr, done.stderr


main(sys.modules[__name__])
