"""The cache of quantized arms: the same numbers with it, without it, and with whatever is in it."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from tap import PROGRAM, SCENARIOS, main, run

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
CORPUS = os.path.join(SCENARIOS, "corpora/code.jsonl")
WORDS = ["run", MODEL, "--arm", "Q4_K_M", "--arm", "Q2_K", "--corpus", CORPUS, "--max-documents",
         "2", "--json", "--no-file"]
KEEP = tempfile.TemporaryDirectory()


class Home:
    """A cache of its own."""

    def __init__(self):
        self.path = tempfile.mkdtemp(dir=KEEP.name)
        self.env = {"XDG_CACHE_HOME": self.path, "KLDSCOPE_CACHE": ""}

    def run(self, *words, **more):
        return run(*words, env=self.env, **more)

    def facts(self):
        return json.loads(self.run("cache", "--json").stdout)

    def entries(self):
        return sorted(glob.glob(os.path.join(self.path, "kldscope/tensors/*.tensor")))


PLAIN = run(*WORDS)


def told(done):
    """The lines a run wrote beside its progress, which a busy machine makes it tell."""
    return [line for line in done.stderr.splitlines() if not line.startswith("kldscope: window ")]


def case_a_second_run_finds_what_the_first_made():
    home = Home()
    first = home.run(*WORDS)
    assert first.returncode == 0 and first.stdout == PLAIN.stdout, first.stderr
    facts = home.facts()
    assert facts["tensors"] == len(home.entries()) > 20
    assert facts["bytes"] == sum(map(os.path.getsize, home.entries()))
    assert facts["folder"] == os.path.join(home.path, "kldscope/tensors")
    before = {e: os.stat(e).st_ino for e in home.entries()}
    second = home.run(*WORDS)
    assert second.stdout == PLAIN.stdout and told(second) == told(first) == [], second.stderr
    assert {e: os.stat(e).st_ino for e in home.entries()} == before


def case_what_another_arm_made_of_the_same_tensor_is_found_too():
    home = Home()
    lua = os.path.join(home.path, "sweep.lua")
    open(lua, "w").write(f"""return scenario {{ reference = model "{MODEL}",
        corpus = text("{CORPUS}", {{ max_documents = 1 }}),
        arms = {{ arm "a" {{ override = {{ ["blk\\\\.0\\\\."] = "Q4_K" }} }},
                  arm "b" {{ override = {{ ["blk\\\\.[01]\\\\."] = "Q4_K" }} }} }} }}""")
    assert home.run(lua, "--json").returncode == 0
    both = len(home.entries())
    assert 0 < both and both % 2 == 0  # block 0 once, block 1 once


def case_damaged_entries_are_told_once_and_made_anew():
    home = Home()
    home.run(*WORDS)
    entries = home.entries()
    with open(entries[0], "r+b") as f:
        f.seek(os.path.getsize(entries[0]) // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 1]))
    os.truncate(entries[1], 100)
    open(entries[2], "wb").close()
    again = home.run(*WORDS)
    assert again.returncode == 0 and again.stdout == PLAIN.stdout
    lines = told(again)
    assert len(lines) == 1 and "damaged" in lines[0], again.stderr
    assert any(entry in again.stderr for entry in entries[:3])
    assert home.entries() == entries
    assert told(home.run(*WORDS)) == []


def case_no_cache_means_none():
    home = Home()
    assert home.run(*WORDS, "--no-cache").stdout == PLAIN.stdout
    home.env["KLDSCOPE_CACHE"] = "off"
    assert home.run(*WORDS).stdout == PLAIN.stdout
    assert os.listdir(home.path) == []
    home.env["KLDSCOPE_CACHE"] = "no"
    assert "KLDSCOPE_CACHE=no" in home.run(*WORDS).stderr


def case_a_place_that_cannot_be_written_is_a_warning():
    home = Home()
    blocked = os.path.join(home.path, "file")
    open(blocked, "w").close()
    for place in (blocked, "/proc/nowhere"):
        home.env["XDG_CACHE_HOME"] = place
        done = home.run(*WORDS)
        assert done.returncode == 0 and done.stdout == PLAIN.stdout, done.stderr
        assert len(told(done)) == 1, done.stderr
        assert "warning" in done.stderr and place in done.stderr, done.stderr
    home.env.update(XDG_CACHE_HOME="", HOME="")
    done = home.run(*WORDS)
    assert done.returncode == 0 and done.stdout == PLAIN.stdout
    assert "XDG_CACHE_HOME" in done.stderr, done.stderr


def case_a_file_size_limit_is_a_warning():
    home = Home()
    words = " ".join(WORDS)
    done = subprocess.run(["bash", "-c", f"ulimit -f 100; exec {PROGRAM} {words}"],
                          capture_output=True, env=dict(os.environ, **home.env), text=True)
    assert done.returncode == 0 and done.stdout == PLAIN.stdout, done.stderr
    assert done.stderr.count("warning") == 1 and home.path in done.stderr, done.stderr
    assert not glob.glob(os.path.join(home.path, "kldscope/tensors/.new*"))


def case_the_limit_holds_and_clear_empties():
    home = Home()
    assert home.run("cache", "--limit", "1M").returncode == 0
    done = home.run(*WORDS)
    assert done.stdout == PLAIN.stdout and "kldscope cache --limit" in done.stderr
    facts = home.facts()
    assert 0 < facts["bytes"] <= facts["limit_bytes"] == 1000000
    assert home.run(*WORDS).stdout == PLAIN.stdout
    assert home.facts()["bytes"] <= 1000000
    assert home.run("cache", "--limit", "2.5 gb").returncode == 0
    assert home.facts()["limit_bytes"] == 2500000000
    assert home.run("cache", "--clear").returncode == 0
    facts = home.facts()
    assert facts["tensors"] == facts["bytes"] == 0 and facts["limit_bytes"] == 2500000000
    text = home.run("cache").stdout
    assert "limit      2.5 GB\n" in text and home.path in text
    assert home.run("cache", "--limit", "0").returncode == 0
    assert "0: nothing is kept" in home.run("cache").stdout


def case_bad_limits_are_refused():
    home = Home()
    for size in ("", "x", "-1", "10Q", "1e400", "nan", "10 G B", "G", "10", "1 ", "0x10G", "1e3M",
                 "1.2.3G", ".", "1..5G", "99999999T"):
        done = home.run("cache", f"--limit={size}")
        assert done.returncode == 2 and "--limit" in done.stderr, (size, done.stderr)
    assert home.run("cache", "now").returncode == 2
    assert os.listdir(home.path) == []


def case_two_runs_at_once_share_it():
    home = Home()
    env = dict(os.environ, **home.env)
    both = [subprocess.Popen([PROGRAM, *WORDS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=env, text=True) for _ in range(2)]
    for p in both:
        out, err = p.communicate(timeout=300)
        assert p.returncode == 0 and out == PLAIN.stdout and err == "", err
    assert told(home.run(*WORDS)) == []


def case_a_killed_run_leaves_a_cache_that_works():
    home = Home()
    env = dict(os.environ, **home.env)
    for wait in (0.05, 0.1, 0.2, 0.4):
        p = subprocess.Popen([PROGRAM, *WORDS], stdout=subprocess.DEVNULL, env=env)
        time.sleep(wait)
        p.send_signal(signal.SIGKILL)
        p.wait()
    done = home.run(*WORDS)
    assert done.stdout == PLAIN.stdout and told(done) == [], done.stderr
    assert len(glob.glob(os.path.join(home.path, "kldscope/tensors/.new*"))) == 0


main(sys.modules[__name__])
