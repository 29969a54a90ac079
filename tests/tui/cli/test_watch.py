"""Looking on at a run of another process: as a picture, without a screen, and in a terminal."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from tap import PROGRAM, SCENARIOS, main, run
from terminal import Terminal

MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")

with open("text.txt", "w") as f:
    f.write("The ruler lies on the table, and nobody looks at it for a long time. " * 60)

WORDS = ["run", MODEL, "--arm", "Q8_0", "--arm", "Q4_K_M", "--corpus", "text.txt", "--headless",
         "--window", "32", "--threads", "1", "--head", "cpu"]


DONE = run(*WORDS, "--out", "done.kld")
assert DONE.returncode == 0, DONE.stderr


def wait_for(condition, seconds=120):
    end_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end_at, "waited in vain"
        time.sleep(0.02)


@contextlib.contextmanager
def writer(file):
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.remove(file + end)
    process = subprocess.Popen([PROGRAM, *WORDS, "--out", file], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(file))
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


def windows(screen):
    found = re.search(r"window (\d+)/(\d+)", screen)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def picture(file):
    done = run("watch", file, "--once", env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def row(text, arm):
    """An arm's numbers, without what only one of the two tables has."""
    line = next(l for l in text.splitlines() if re.search(rf"\b{arm}\b", l))
    return re.findall(r"[-+]?\d+\.\d+(?:e[-+]\d+)?", line)


def close(text, exact):
    """Whether `text` is `exact` rounded to the digits that it has."""
    digits = len(text.split(".")[1])
    return abs(float(text) - exact) <= 0.5000001 * 10 ** -digits


def shows_the_numbers_of_the_report(screen, file):
    report = json.loads(run("report", file, "--format", "json").stdout)
    for arm in report["arms"]:
        found = row(screen, arm["name"])
        wanted = [arm["bits_per_weight"], arm["ppl_arm"], 1.96 * arm["ppl_arm_sem"],
                  arm["ppl_arm"] - report["ppl_ref"], arm["kld_mean"], arm["kld_p99"],
                  arm["kld_p999"], 100 * arm["top1_agreement"], 100 * arm["topk_overlap"]]
        assert len(found) >= len(wanted), (found, screen)
        for text, exact in zip(found, wanted):
            assert close(text, exact), (arm["name"], text, exact)


def watch(t, file):
    t.type(f"{PROGRAM} watch {file}; echo left with $?", "Enter")


def case_a_run_is_watched_in_a_terminal_to_its_end():
    with Terminal() as t, writer("a.kld") as process:
        watch(t, os.path.abspath("a.kld"))
        seen = windows(t.wait(r"WATCHING +. RUNNING"))[0]
        assert windows(t.wait(rf"window (?!{seen}/)\d+/"))[0] > seen
        assert process.wait(timeout=300) == 0
        screen = t.wait(r"WATCHING +. DONE")
        done, of = windows(screen)
        assert done == of > 10, screen
        shows_the_numbers_of_the_report(screen, "a.kld")
        t.type("q")
        t.wait("left with 0")


def case_leaving_leaves_the_run_alone():
    with Terminal() as t, writer("b.kld") as process:
        watch(t, os.path.abspath("b.kld"))
        t.wait("RUNNING")
        t.type("q")
        t.wait("left with 0")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and "q4_k_m" in out.lower(), err


def case_a_terminal_that_hangs_up_ends_watch_alone():
    with writer("c.kld") as process:
        with Terminal() as t:
            watch(t, os.path.abspath("c.kld"))
            t.wait("RUNNING")
            found = subprocess.run(["pgrep", "-f", f"^{PROGRAM} watch"], capture_output=True,
                                   text=True).stdout.split()
            assert len(found) == 1, found
        wait_for(lambda: not os.path.exists(f"/proc/{found[0]}"), 20)
        assert process.wait(timeout=300) == 0


def case_a_writer_that_is_killed_is_told_and_one_that_goes_on_is_followed():
    with Terminal() as t, writer("d.kld") as process:
        file = os.path.abspath("d.kld")
        watch(t, file)
        seen = windows(t.wait(r"window [1-9]\d*/"))[0]
        process.kill()
        process.wait()
        t.wait(r"STOPPED(.|\n)*the process that wrote this run is gone: stopped, go on with run")
        assert "is gone" in picture(file)
        plain = run("watch", file, "--plain")
        assert plain.returncode == 0 and "is gone" in plain.stderr, plain.stderr
        assert plain.stdout == run("report", file).stdout
        resumed = run(*WORDS, "--resume", "--out", file)
        assert resumed.returncode == 0, resumed.stderr
        screen = t.wait(r"WATCHING +. DONE")
        assert "is gone" not in screen and windows(screen)[0] > seen
        shows_the_numbers_of_the_report(screen, file)


def case_without_a_screen_it_ends_with_the_run_and_prints_its_table():
    with writer("e.kld") as process:
        plain = run("watch", "e.kld")
        out, _ = process.communicate(timeout=300)
    assert plain.returncode == 0 and plain.stdout == out, plain.stderr


def case_a_run_that_is_still_prepared_is_waited_for():
    with writer("f.kld") as process:
        process.send_signal(signal.SIGSTOP)
        waits = subprocess.Popen([PROGRAM, "watch", "f.kld", "--once"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        process.send_signal(signal.SIGCONT)
        out, err = waits.communicate(timeout=60)
        assert waits.returncode == 0 and "WATCHING" in out, err


def case_a_finished_file_is_shown_unchanged():
    before = open("done.kld", "rb").read()
    screen = picture("done.kld")
    assert "DONE" in screen
    shows_the_numbers_of_the_report(screen, "done.kld")
    assert open("done.kld", "rb").read() == before and not os.path.exists("done.kld-wal")


def damage(name, change):
    bytes_ = bytearray(open("done.kld", "rb").read())
    with open(name, "wb") as f:
        f.write(change(bytes_))
    return name


def case_what_is_no_run_file_is_refused():
    open("empty.kld", "w").close()
    for file, words in (("nothing.kld", "No such file"), (MODEL, "no run file"),
                        ("empty.kld", "nothing in it"), (".", ""),
                        (damage("cut.kld", lambda b: b[:len(b) // 2]), "damaged"),
                        (damage("flipped.kld", lambda b: b[:50000] + bytes(4096) + b[54096:]),
                         "damaged")):
        for how in ("--once", "--plain"):
            done = run("watch", file, how)
            assert done.returncode == 2 and words in done.stderr and not done.stdout, (file, done)
            assert file in done.stderr


OTHER = "other.kld"


def case_a_file_that_changes_under_it_is_told():
    other = run(*WORDS, "--arm", "Q6_K", "--out", OTHER)
    assert other.returncode == 0, other.stderr
    for how, words in (("cut", "cut off"), ("replaced", "removed, moved or replaced"),
                       ("removed", "removed, moved or replaced"),
                       ("overwritten", "another run was written over it")):
        with Terminal() as t:
            file = os.path.abspath(f"{how}-under.kld")
            shutil.copy("done.kld", file)
            watch(t, file)
            t.wait(r"WATCHING +. DONE")
            if how == "cut":
                os.truncate(file, 4096)
            elif how == "replaced":
                shutil.copy("done.kld", file + ".new")
                os.rename(file + ".new", file)
            elif how == "removed":
                os.remove(file)
            else:
                other = open(OTHER, "rb").read()
                with open(file, "r+b") as f:
                    f.write(other + bytes(max(0, os.path.getsize(file) - len(other))))
            t.wait(words)
            t.type("q")
            t.wait("left with 0")


def cpu_ticks(pid):
    return sum(map(int, open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))


def case_watching_a_file_where_nothing_happens_costs_nothing():
    with Terminal() as t:
        watch(t, os.path.abspath("done.kld"))
        t.wait(r"WATCHING +. DONE")
        pid = subprocess.run(["pgrep", "-f", f"^{PROGRAM} watch"], capture_output=True,
                             text=True).stdout.split()[0]
        time.sleep(0.5)
        before = cpu_ticks(pid)
        time.sleep(10)
        assert cpu_ticks(pid) - before <= 2  # a tick is 10 ms: 0.1 % of 10 s is one


main(sys.modules[__name__])
