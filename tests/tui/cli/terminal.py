"""A terminal that tests sit in front of: tmux types, and reads the screen."""
import os
import re
import subprocess
import time


class Terminal:
    """A shell in a terminal of its own."""

    servers = 0

    def __init__(self, columns=100, lines=30, locale="C.UTF-8"):
        Terminal.servers += 1
        self.socket = f"kldscope-test-{os.getpid()}-{Terminal.servers}"
        self.tmux("new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(lines),
                  f"env LC_ALL={locale} PS1='ready> ' sh")
        self.wait("ready>")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.socket, "-f", "/dev/null", *words],
                              capture_output=True, text=True,
                              env=dict(os.environ, LC_ALL="C.UTF-8")).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "t").rstrip()

    def type(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(lines))

    def wait(self, pattern, seconds=240):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} did not come within {seconds} s:\n{screen}")
