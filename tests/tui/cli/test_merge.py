"""Shards of one run on several machines, and their join: through the whole program."""
import glob
import json
import os
import sys
import tempfile

from tap import SCENARIOS, main, run

FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")


def path(name):
    return os.path.join(FOLDER.name, name)


with open(path("text.jsonl"), "w") as f:
    for line in [*open(os.path.join(SCENARIOS, "corpora/stories.jsonl"))][:3]:
        f.write(json.dumps({"text": json.loads(line)["text"][:900]}) + "\n")

WORDS = ["run", MODEL, "--arm", "Q8_0", "--arm", "Q4_K_M", "--corpus", path("text.jsonl"), "--json",
         "--head", "cpu"]


def shard(i, n, name, *more):
    done = run(*WORDS, "--window", "32", "--shard", f"{i}/{n}", "--out", path(name), *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


WHOLE = run(*WORDS, "--window", "32", "--no-file").stdout
for n in 2, 3:
    for i in range(1, n + 1):
        shard(i, n, f"{i}of{n}.kld", "--threads", i)


def files(n, *without):
    return [path(f"{i}of{n}.kld") for i in range(1, n + 1) if i not in without]


def is_refused(words, *said):
    done = run(*words)
    assert done.returncode == 2 and done.stdout == "", (done.returncode, done.stdout)
    for text in said:
        assert text in done.stderr, done.stderr


def case_joined_shards_report_the_bytes_of_one_run():
    for n in 2, 3:
        out = path(f"joined{n}.kld")
        done = run("merge", *files(n), "-o", out)
        assert done.returncode == 0 and f"of {n} files" in done.stdout, done.stderr
        assert run("report", out, "--format", "json").stdout == WHOLE
        assert not glob.glob(out + "-*")


def case_chunks_of_llama_scoring_are_joined_too():
    words = [*WORDS, "--window", "64", "--scoring", "llama"]
    whole = run(*words, "--no-file").stdout
    for i in 1, 2:
        assert run(*words, "--shard", f"{i}/2", "--out", path(f"chunks{i}.kld")).returncode == 0
    assert run("merge", path("chunks1.kld"), path("chunks2.kld"), "-o",
               path("chunks.kld")).returncode == 0
    assert run("report", path("chunks.kld"), "--format", "json").stdout == whole


def case_a_joined_file_is_a_run_like_any_other():
    out = path("again.kld")
    assert run("merge", *files(2), "-o", out).returncode == 0
    assert run(*WORDS, "--window", "32", "--resume", "--out", out).stdout == WHOLE


def case_a_shard_tells_that_it_is_one():
    found = json.loads(run("report", path("2of3.kld"), "--format", "json").stdout)
    whole = json.loads(WHOLE)
    assert found["shard"]["number"] == 2 and found["shard"]["of"] == 3
    assert found["n"] < whole["n"] and found["manifest"] == whole["manifest"]
    assert "shard" not in whole
    assert sum(json.loads(run("report", f, "--format", "json").stdout)["n"]
               for f in files(3)) == whole["n"]
    assert "2 of 3" in run("report", path("2of3.kld")).stdout


def case_what_is_no_whole_is_refused_and_makes_no_file():
    out = path("never.kld")
    is_refused(["merge", *files(3, 2), "-o", out], "of shard 2/3")
    is_refused(["merge", *files(2), path("1of2.kld"), "-o", out], "window 1 is in both")
    other = run(*WORDS, "--window", "40", "--shard", "2/2", "--out", path("other.kld"))
    assert other.returncode == 0
    is_refused(["merge", path("1of2.kld"), path("other.kld"), "-o", out],
               "the window is 32 in the first and 40 in the second")
    is_refused(["merge", path("text.jsonl"), "-o", out], "text.jsonl", "no run file")
    is_refused(["merge", path("nowhere.kld"), "-o", out], "nowhere.kld", "No such file")
    assert not glob.glob(out + "*")


def case_a_file_that_is_there_is_not_overwritten():
    before = open(path("1of2.kld"), "rb").read()
    is_refused(["merge", *files(2), "-o", path("1of2.kld")], "1of2.kld", "already")
    assert open(path("1of2.kld"), "rb").read() == before


def case_a_shard_resumes_as_itself_alone():
    words = [*WORDS, "--window", "32", "--resume", "--out", path("1of3.kld"), "--shard"]
    again = run(*words, "1/3")
    assert again.stdout == run("report", path("1of3.kld"), "--format", "json").stdout
    is_refused([*words, "2/3"], "the shard is 1 in the file and 2 now")


def case_shards_without_a_name_have_files_of_their_own():
    with tempfile.TemporaryDirectory() as folder:
        for i in 1, 2:
            assert run(*WORDS, "--shard", f"{i}/2", cwd=folder).returncode == 0
        names = sorted(glob.glob(folder + "/*.kld"))
        assert ["-1of2-20" in names[0], "-2of2-20" in names[1]] == [True, True], names
        assert run(*WORDS, "--shard", "2/2", "--resume", cwd=folder).returncode == 0
        assert sorted(glob.glob(folder + "/*.kld")) == names


def case_slips_of_the_words_are_told():
    for word in "3/2", "0/2", "1", "1/", "/2", "1/2/3", "a/b", "-1/2", "1/99999999999":
        is_refused([*WORDS, "--shard=" + word], "--shard", "I/N")
    is_refused(["merge", "-o", path("never.kld")], "name the run files")
    is_refused(["merge", *files(2)], "-o OUT.kld")
    is_refused([*WORDS, "--shard", "999/1000", "--no-file"], "shard 999/1000", "none of them")


main(sys.modules[__name__])
