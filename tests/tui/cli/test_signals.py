"""Signals to a run: on a terminal, without one, and when the terminal goes away."""
import contextlib
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import termios
import time

from tap import PROGRAM, SCENARIOS, main, run

PATIENCE_S = 240  # a machine may have more to do than this
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
WORDS = [PROGRAM, "run", MODEL, "--arm", "Q4_K_M", "--corpus",
         os.path.join(SCENARIOS, "corpora/code.jsonl"), "--max-documents", "8", "--window", "128"]
FILES = iter(f"run-{i}.kld" for i in range(100))
ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


def windows_of(file):
    with contextlib.suppress(sqlite3.Error):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            return db.execute("select count(*) from reference_window").fetchone()[0]
    return 0


def summary_of(file):
    done = run("report", file, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def whole():
    """What a run that nobody disturbs measures; it's made once."""
    if not os.path.exists("whole.kld"):
        done = subprocess.run([*WORDS, "--headless", "--out", "whole.kld"], capture_output=True,
                              text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
    return summary_of("whole.kld")


def is_kept_in_part(file):
    """What was done is there, and going on makes a whole run of it."""
    found = summary_of(file)["unfinished"]
    assert found["state"] == "stopped" and found["windows"] == windows_of(file) > 0, found
    done = subprocess.run([*WORDS, "--json", "--out", file, "--resume"], capture_output=True,
                          text=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and json.loads(done.stdout) == whole(), done.stderr


def wait_for(condition, meanwhile=lambda: time.sleep(0.01)):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        meanwhile()


class OnTerminal:
    """A run that leads a session on a terminal of its own, as one in a window does."""

    def __init__(self, *words):
        self.file, self.output, self.status = next(FILES), b"", None
        self.pid, self.line = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execv(PROGRAM, [*WORDS, "--out", self.file, *words])
        termios.tcsetwinsize(self.line, (30, 100))

    def listen(self):
        if self.line is None or not select.select([self.line], [], [], 0.02)[0]:
            time.sleep(0.01)
            return
        try:
            self.output += os.read(self.line, 65536)
        except OSError:  # the other end is closed
            time.sleep(0.01)

    def wait(self, condition):
        wait_for(condition, self.listen)

    def wait_until_it_measures(self):
        self.wait(lambda: windows_of(self.file) >= 1)

    def close(self):
        os.close(self.line)
        self.line = None

    def is_over(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
        return pid != 0

    def end(self):
        self.wait(self.is_over)
        if self.line is not None:
            while select.select([self.line], [], [], 0)[0]:
                before = len(self.output)
                self.listen()
                if len(self.output) == before:
                    break
            self.close()
        return self.status


class WithoutTerminal:
    """A headless run with pipes."""

    def __init__(self, *words, ignored=()):
        def before():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        self.file, self.seen = next(FILES), ""
        self.process = subprocess.Popen([*WORDS, "--headless", "--out", self.file, *words],
                                        text=True, preexec_fn=before, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def wait_until_it_measures(self):
        wait_for(lambda: windows_of(self.file) >= 1)

    def wait_for_words(self, words):
        while words not in self.seen:
            line = self.process.stderr.readline()
            assert line, self.seen
            self.seen += line

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        self.seen += err
        return self.process.returncode, out


def case_every_signal_that_ends_a_run_leaves_its_table_and_its_file():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        r = WithoutTerminal()
        r.wait_until_it_measures()
        r.send(number)
        status, out = r.end()
        assert status == 130 and "stopped after" in out and "q4_k_m" in out, (number, status, out)
        assert f"kldscope run ... --out {r.file} --resume" in r.seen, r.seen
        is_kept_in_part(r.file)


def case_a_second_interrupt_ends_at_once_and_loses_nothing_that_was_done():
    r = WithoutTerminal()
    r.wait_until_it_measures()
    r.send(signal.SIGSTOP)  # it finds both at the same moment
    r.send(signal.SIGINT)
    r.send(signal.SIGTERM)
    r.send(signal.SIGCONT)
    status, out = r.end()
    assert status == 130 and out == "", (status, out)
    is_kept_in_part(r.file)


def is_ignored_to_the_end(number, *words, ignored):
    r = WithoutTerminal(*words, ignored=ignored)
    r.wait_until_it_measures()
    r.send(number)
    status, out = r.end()
    assert status == 0 and "stopped" not in out and "q4_k_m" in out, (out, r.seen)
    assert summary_of(r.file) == whole()
    return r


def case_nohup_lets_the_run_go_on():
    is_ignored_to_the_end(signal.SIGHUP, ignored=[signal.SIGHUP])


def case_a_background_shell_lets_the_run_go_on():
    is_ignored_to_the_end(signal.SIGINT, ignored=[signal.SIGINT])


def case_a_run_that_may_detach_goes_on_without_a_terminal():
    is_ignored_to_the_end(signal.SIGHUP, "--detach-on-hangup", ignored=[])


def case_a_run_that_has_detached_still_ends_when_told_to():
    r = WithoutTerminal("--detach-on-hangup")
    r.wait_until_it_measures()
    r.send(signal.SIGHUP)
    r.send(signal.SIGTERM)
    assert r.end()[0] == 130
    is_kept_in_part(r.file)


def case_readers_that_are_gone_do_not_end_a_detached_run():
    r = WithoutTerminal("--detach-on-hangup")
    r.wait_until_it_measures()
    r.process.stdout.close()
    r.process.stderr.close()
    r.send(signal.SIGHUP)
    assert r.process.wait(timeout=PATIENCE_S) in (0, 2)
    assert summary_of(r.file) == whole()


def case_a_terminal_that_closes_ends_the_run_with_everything_kept():
    for words in [], ["--headless"]:
        r = OnTerminal(*words)
        r.wait_until_it_measures()
        r.close()
        assert r.end() == 130, (words, r.status)
        is_kept_in_part(r.file)


def case_a_terminal_that_closes_leaves_a_run_that_may_detach_to_its_end():
    for words in [], ["--headless"]:
        r = OnTerminal("--detach-on-hangup", *words)
        r.wait_until_it_measures()
        r.close()
        assert r.end() == 0, (words, r.status)
        assert summary_of(r.file) == whole()


def case_detaching_wants_a_run_file():
    done = run(*WORDS[1:], "--detach-on-hangup", "--no-file")
    assert done.returncode == 2 and "--no-file" in done.stderr, done.stderr


def case_a_signal_to_the_screen_ends_it_and_says_how_to_go_on():
    for number in signal.SIGINT, signal.SIGTERM:
        r = OnTerminal()
        r.wait_until_it_measures()
        r.wait(lambda: ENTER_SCREEN in r.output)
        os.kill(r.pid, number)
        assert r.end() == 130, r.status
        after = r.output.split(LEAVE_SCREEN)[-1]
        assert b"stopped after" in after and f"--out {r.file} --resume".encode() in after, after
        is_kept_in_part(r.file)


def case_stopped_from_outside_a_run_takes_the_screen_anew():
    r = OnTerminal()
    r.wait_until_it_measures()
    r.wait(lambda: ENTER_SCREEN in r.output)
    os.kill(r.pid, signal.SIGSTOP)
    os.waitpid(r.pid, os.WUNTRACED)
    while select.select([r.line], [], [], 0)[0]:
        r.listen()
    r.output = b""
    os.kill(r.pid, signal.SIGCONT)
    r.wait(lambda: ENTER_SCREEN in r.output and b"q4_k_m" in r.output.split(ENTER_SCREEN)[-1])
    os.kill(r.pid, signal.SIGTERM)
    r.end()
    assert r.status in (0, 130), r.status


def case_a_crash_gives_the_terminal_back_and_dies_of_its_signal():
    for number in signal.SIGSEGV, signal.SIGABRT:
        r = OnTerminal()
        before = termios.tcgetattr(r.line)
        r.wait_until_it_measures()
        r.wait(lambda: ENTER_SCREEN in r.output)
        assert termios.tcgetattr(r.line) != before
        os.kill(r.pid, number)
        r.wait(r.is_over)
        assert r.status == -number, r.status
        assert termios.tcgetattr(r.line) == before
        r.wait(lambda: LEAVE_SCREEN in r.output)
        r.close()
        is_kept_in_part(r.file)


def case_a_run_that_is_over_says_where_it_is_kept():
    r = WithoutTerminal()
    status, out = r.end()
    last = r.seen.splitlines()[-1]
    assert status == 0 and last == f"kldscope: kept in {r.file}; kldscope report {r.file}", r.seen
    assert run("report", r.file).stdout == out
    r = WithoutTerminal("--json")
    status, out = r.end()
    assert status == 0 and json.loads(out) and "kept" not in r.seen, r.seen


def case_a_command_with_nothing_to_save_ends_at_once():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        bench = subprocess.Popen([PROGRAM, "bench"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        bench.stdout.read(1)
        bench.send_signal(number)
        bench.communicate(timeout=PATIENCE_S)
        assert bench.returncode == -number, bench.returncode


main(sys.modules[__name__])
