"""Signals to a run without a screen."""
import signal
import subprocess
import sys
import time

from tap import PROGRAM, main


def start(*words, ignored=()):
    def before():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    return subprocess.Popen([PROGRAM, "run", "--headless", *words], text=True, preexec_fn=before,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_ignored_to_the_end(number):
    run = start("--max-documents", "2", ignored=[number])
    time.sleep(1)
    run.send_signal(number)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0 and "stopped" not in out and "q4_k_m" in out, (out, err)


def case_a_hangup_stops_the_run_and_leaves_its_table():
    run = start()
    assert run.stderr.readline().startswith("kldscope: window")
    run.send_signal(signal.SIGHUP)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130 and "stopped after" in out and "q4_k_m" in out, (out, err)


def case_nohup_lets_the_run_go_on():
    is_ignored_to_the_end(signal.SIGHUP)


def case_a_background_shell_lets_the_run_go_on():
    is_ignored_to_the_end(signal.SIGINT)


def case_a_command_with_nothing_to_save_ends_at_once():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        bench = subprocess.Popen([PROGRAM, "bench"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        time.sleep(1)
        bench.send_signal(number)
        bench.communicate(timeout=20)
        assert bench.returncode == -number, bench.returncode


main(sys.modules[__name__])
