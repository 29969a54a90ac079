"""The workbench in a real terminal, driven by keys: tmux types, and reads the screen."""
import os
import re
import subprocess
import sys
import time

import terminal
from tap import PROGRAM, main


class Terminal(terminal.Terminal):
    def start(self, *words):
        self.type(" ".join([PROGRAM, "run", *words]), "Enter")


def pids():
    found = subprocess.run(["pgrep", "-f", f"^{PROGRAM} run"], capture_output=True, text=True)
    return [int(p) for p in found.stdout.split()]


def wait_until_gone(seconds=240):
    end = time.monotonic() + seconds
    while time.monotonic() < end and pids():
        time.sleep(0.1)
    assert not pids()


NUMBERS = r"q8_0 +8\.51 +\d+\.\d+"


def case_numbers_come_alive_and_q_leaves_the_table():
    with Terminal() as t:
        t.start()
        t.wait(NUMBERS)
        t.type("?")
        t.wait("[Hh]elp")
        t.type("q")
        t.type("q")
        t.type("q")
        screen = t.wait("ready>$")
        assert "KLD mean" in screen or "KLD" in screen, screen
        wait_until_gone()


def case_any_size_is_survived():
    with Terminal() as t:
        t.start("--max-documents", "4")
        t.wait(NUMBERS)
        for columns, lines in ((80, 24), (40, 10), (10, 3), (2, 2), (1, 1), (200, 60), (100, 30)):
            t.resize(columns, lines)
            time.sleep(0.3)  # to draw at this size; a busy machine may skip some
            assert pids(), (columns, lines)
        t.wait(NUMBERS)
        t.type("q", "q")
        wait_until_gone()


def case_without_utf8_every_glyph_is_ascii():
    with Terminal(locale="C") as t:
        t.start("--max-documents", "2")
        screen = t.wait(NUMBERS)
        assert screen.isascii(), screen
        t.type("q", "q")
        wait_until_gone()


def case_a_terminal_that_goes_away_ends_the_program():
    with Terminal() as t:
        t.start()
        t.wait(NUMBERS)
        assert pids()
    wait_until_gone()


def case_a_crash_gives_the_terminal_back():
    with Terminal() as t:
        t.start()
        t.wait(NUMBERS)
        os.kill(pids()[0], 6)
        t.wait("ready>$")
        t.type("stty -a", "Enter")
        screen = t.wait(r"echok")
        assert re.search(r"(?<!-)\bicanon\b", screen) and re.search(r"(?<!-)\becho\b", screen), screen


def case_a_stopped_run_gives_the_terminal_back_and_takes_it_again():
    with Terminal() as t:
        t.start()
        t.wait(NUMBERS)
        t.type("C-z")
        t.wait("ready>$")
        t.type("stty -a", "Enter")
        screen = t.wait("echok")
        assert re.search(r"(?<!-)\bicanon\b", screen) and re.search(r"(?<!-)\becho\b", screen), screen
        t.type("fg", "Enter")
        t.wait(NUMBERS)
        t.type("q", "q")
        t.wait("ready>$")
        wait_until_gone()


def case_interrupting_leaves_what_was_measured():
    with Terminal() as t:
        t.start("--headless")
        t.wait("window [0-9]+/")
        t.type("C-c")
        t.wait("ready>$")
        t.type("echo status $?", "Enter")
        t.wait("status 130")


main(sys.modules[__name__])
