"""The run file from outside: processes that are killed, disks that are full, others that look on.

KS_TEST_KILLS=200 kills as often at random moments; it's 20 times by itself."""
import contextlib
import glob
import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time

import sys

from tap import PROGRAM, SCENARIOS, main, run

FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")


def path(name):
    return os.path.join(FOLDER.name, name)


with open(path("text.txt"), "w") as f:
    for line in open(os.path.join(SCENARIOS, "corpora/stories.jsonl")):
        f.write(json.loads(line)["text"])
        break

WORDS = ["run", MODEL, "--arm", "Q8_0", "--corpus", path("text.txt"), "--json",
         "--window", "32", "--threads", "1", "--head", "cpu"]


def remove(name):
    for file in glob.glob(path(name) + "*"):
        os.remove(file)


def start(*words, **more):
    return subprocess.Popen([PROGRAM, *WORDS, *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def end(process, status=0):
    out, err = process.communicate(timeout=300)
    assert process.returncode == status, (process.returncode, err)
    return out, err


def rows(file, what):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return db.execute(what).fetchall()


def contents(file):
    return [rows(file, f"select * from {table} order by 1, 2")
            for table in ("run", "reference_window", "arm_window", "arm_state", "arm_worst", "token")]


BEGAN = time.monotonic()
WHOLE = run(*WORDS, "--out", path("whole.kld")).stdout
SECONDS = time.monotonic() - BEGAN
CONTENTS = contents(path("whole.kld"))
WINDOWS = len(CONTENTS[1])


def windows_of(file):
    try:
        return rows(file, "select count(*) from reference_window")[0][0]
    except sqlite3.Error:
        return 0


def wait_for(condition):
    end_at = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end_at, "waited in vain"
        time.sleep(0.01)


def is_whole(file, out):
    assert out == WHOLE
    assert contents(file) == CONTENTS
    assert not glob.glob(file + "-*")
    assert run("report", file, "--format", "json").stdout == WHOLE


def case_a_report_is_what_the_run_printed():
    assert WINDOWS > 10 and run("report", path("whole.kld"), "--format", "json").stdout == WHOLE
    table = run(*[w for w in WORDS if w != "--json"], "--resume", "--out", path("whole.kld"))
    assert table.returncode == 0, table.stderr
    assert run("report", path("whole.kld")).stdout == table.stdout


def is_killed(process, seconds):
    try:
        process.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        return True


def case_kills_lose_nothing():
    kills, chance = int(os.environ.get("KS_TEST_KILLS", 20)), random.Random(7)
    while kills > 0:
        remove("killed.kld")
        done = False
        while not done:
            process = start("--out", path("killed.kld"), "--resume")
            kills -= kills > 0 and is_killed(process, chance.uniform(0.05, 1.2 * SECONDS))
            out, err = process.communicate(timeout=300)
            done = process.returncode == 0
            assert done or process.returncode == -signal.SIGKILL, err
        is_whole(path("killed.kld"), out)


def case_a_run_that_is_killed_is_told_as_stopped():
    remove("killed.kld")
    # Over all stories too: a quick machine would end the short run before it is reported.
    process = start("--corpus", os.path.join(SCENARIOS, "corpora/stories.jsonl"),
                    "--out", path("killed.kld"))
    wait_for(lambda: windows_of(path("killed.kld")) >= 2)
    found = json.loads(run("report", path("killed.kld"), "--format", "json").stdout)
    assert found["unfinished"]["state"] in ("running", "stopped"), found["unfinished"]
    process.kill()
    process.communicate()
    found = json.loads(run("report", path("killed.kld"), "--format", "json").stdout)
    assert found["unfinished"]["state"] == "stopped"
    assert found["unfinished"]["windows"] == windows_of(path("killed.kld"))


def case_a_second_writer_is_refused_while_the_first_runs():
    remove("two.kld")
    process = start("--out", path("two.kld"))
    wait_for(lambda: windows_of(path("two.kld")) >= 1)
    process.send_signal(signal.SIGSTOP)
    second = run(*WORDS, "--out", path("two.kld"), "--resume")
    process.send_signal(signal.SIGCONT)
    assert second.returncode == 2 and "another process is writing" in second.stderr, second.stderr
    is_whole(path("two.kld"), end(process)[0])


def case_an_interrupt_keeps_what_is_done():
    remove("interrupted.kld")
    process = start("--out", path("interrupted.kld"))
    wait_for(lambda: windows_of(path("interrupted.kld")) >= 2)
    process.send_signal(signal.SIGINT)
    out, err = end(process, 130)
    kept = path("interrupted.kld")
    assert f"kept in {kept}; kldscope run ... --out {kept} --resume goes on" in err, err
    assert run("report", path("interrupted.kld"), "--format", "json").stdout == out
    is_whole(path("interrupted.kld"),
             end(start("--out", path("interrupted.kld"), "--resume"))[0])


@contextlib.contextmanager
def small_disk():
    """A folder with room for 1 MiB; None where none may be mounted."""
    folder = path("disk")
    os.makedirs(folder, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder],
                             capture_output=True).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Takes what is free; returns the file that holds it."""
    with open(os.path.join(folder, "ballast"), "wb", buffering=0) as f:
        with contextlib.suppress(OSError):
            while True:
                f.write(bytes(4096))
    return f.name


def make_room(folder, ballast):
    os.remove(ballast)
    subprocess.run(["mount", "-o", "remount,size=16m", folder], check=True)


def wait_for_words(process, words):
    seen = ""
    while words not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line


def run_into_a_full_disk(folder):
    """A run that waits for room: its file, itself, and what takes the room."""
    file = os.path.join(folder, "a.kld")
    process = start("--out", file)
    wait_for(lambda: windows_of(file) >= 2)
    ballast = fill(folder)
    wait_for_words(process, "disk is full")
    return file, process, ballast


def case_a_full_disk_holds_the_run_up_until_there_is_room():
    with small_disk() as folder:
        if not folder:
            print("# no file system may be mounted here")
            return
        file, process, ballast = run_into_a_full_disk(folder)
        stands_at = windows_of(file)
        time.sleep(1)
        assert process.poll() is None and windows_of(file) == stands_at
        make_room(folder, ballast)
        is_whole(file, end(process)[0])


def case_a_run_that_waits_for_room_ends_when_asked_to():
    with small_disk() as folder:
        if not folder:
            print("# no file system may be mounted here")
            return
        file, process, ballast = run_into_a_full_disk(folder)
        process.send_signal(signal.SIGTERM)
        out, err = end(process, 130)
        assert json.loads(out)["unfinished"]["state"] == "stopped", out
        make_room(folder, ballast)
        is_whole(file, end(start("--out", file, "--resume"))[0])


def case_a_limit_on_files_is_told_like_a_full_disk():
    remove("limited.kld")
    limited = subprocess.Popen(
        ["bash", "-c", f"ulimit -f 120; exec {PROGRAM} " + " ".join(WORDS + ["--out",
                                                                           path("limited.kld")])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_words(limited, "the run waits")
    limited.send_signal(signal.SIGINT)
    end(limited, 130)
    is_whole(path("limited.kld"), end(start("--out", path("limited.kld"), "--resume"))[0])


def case_somebody_who_reads_does_not_hold_the_run_up():
    remove("read.kld")
    process = start("--out", path("read.kld"))
    wait_for(lambda: windows_of(path("read.kld")) >= 1)
    db = sqlite3.connect(f"file:{path('read.kld')}?mode=ro", uri=True)
    db.execute("begin")
    seen = db.execute("select count(*) from reference_window").fetchone()
    out, err = end(process)
    assert out == WHOLE and "waits" not in err, err
    assert db.execute("select count(*) from reference_window").fetchone() == seen
    db.close()
    assert contents(path("read.kld")) == CONTENTS


def case_somebody_who_writes_holds_the_run_up_and_no_longer():
    remove("held.kld")
    process = start("--out", path("held.kld"))
    wait_for(lambda: windows_of(path("held.kld")) >= 1)
    db = sqlite3.connect(path("held.kld"), isolation_level=None)
    db.execute("begin immediate")
    wait_for_words(process, "another program holds it")
    db.execute("rollback")
    db.close()
    is_whole(path("held.kld"), end(process)[0])


def case_a_run_finds_a_name_of_its_own():
    with tempfile.TemporaryDirectory() as folder:
        short = ["--max-documents", "1", "--json"]
        script = os.path.join(folder, "one.lua")
        with open(script, "w") as f:
            f.write(f'''return scenario {{ reference = model "{MODEL}", window = 256,
                      corpus = text "{path("text.txt")}", arms = {{ arm "same" {{}} }} }}''')
        first = run("run", script, *short, cwd=folder)
        run("run", script, *short, cwd=folder)
        files = sorted(glob.glob(folder + "/*.kld"))
        assert len(files) == 2 and all("/one-20" in f for f in files), files
        again = run("run", script, *short, "--resume", cwd=folder)
        assert again.stdout == first.stdout and first.returncode == 0, again.stderr
        run("run", script, *short, "--no-file", cwd=folder)
        assert sorted(glob.glob(folder + "/*.kld")) == files


def case_where_no_file_can_be_made_the_run_goes_on():
    done = run(*WORDS, cwd="/sys")
    assert done.returncode == 0 and done.stdout == WHOLE, done.stderr
    assert "warning" in done.stderr and "kept in no file" in done.stderr, done.stderr
    done = run(*WORDS, "--out", "/sys/a.kld")
    assert done.returncode == 2 and "/sys/a.kld" in done.stderr, done.stderr


def case_the_recorded_backend_is_taken_or_refused():
    gpu = run(*WORDS[:-2], "--out", path("whole.kld"), "--resume", "--head", "vulkan")
    assert gpu.returncode == 2 and "heads were on cpu" in gpu.stderr, gpu.stderr
    assert run(*WORDS[:-2], "--out", path("whole.kld"), "--resume").stdout == WHOLE


def case_the_views_tell_the_same_numbers():
    arms = json.loads(WHOLE)["arms"]
    for arm, (name, n, mean, most, top1) in zip(arms, rows(
            path("whole.kld"), "select name, n, kld_mean, kld_max, top1_agreement from summary")):
        assert (name, n, mean, most, top1) == tuple(
            arm[k] for k in ("name", "n", "kld_mean", "kld_max", "top1_agreement"))
        found = rows(path("whole.kld"), "select count(*), avg(kld), max(kld), avg(top1) from "
                                        f"positions where arm = '{name}' and measured")[0]
        assert found[0] == n and found[2] == most and abs(found[1] - mean) < 1e-12 * mean
        assert abs(found[3] - top1) < 1e-12
    worst = rows(path("whole.kld"), f"select position, kld from worst where arm = '{arms[0]['name']}'")
    assert worst == rows(
        path("whole.kld"), "select position, kld from positions where measured and kld > 0 and "
                           f"arm = '{arms[0]['name']}' order by kld desc, position limit 256")
    text = "".join(t if isinstance(t, str) else "?" for (t,) in rows(
        path("whole.kld"), f"select token from positions where arm = '{arms[0]['name']}' "
                           "order by position"))
    assert open(path("text.txt")).read()[20:200] in text, text[:300]


main(sys.modules[__name__])
