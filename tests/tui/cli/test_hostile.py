"""Files and names that mean harm: nothing in them steers a terminal, and no file that goes away
under a run takes the program with it."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from tap import PROGRAM, SCENARIOS, main, run

FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(SCENARIOS, "models/scope-6m.f16.gguf")
STORIES = os.path.join(SCENARIOS, "corpora/stories.jsonl")
GOOD = open(MODEL, "rb").read()
EVIL = "\x1b]0;title\x07\x1b[31m\x9b31m\u202e\r\nkldscope: all is well"
STEERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def path_of(name):
    return os.path.join(FOLDER.name, name)


def with_value(key, value):
    """The model's bytes with another text as the value of a key of metadata."""
    head = struct.pack("<Q", len(key)) + key + struct.pack("<I", 8)
    at = GOOD.index(head) + len(head)
    (length,) = struct.unpack_from("<Q", GOOD, at)
    # Data begins at a multiple of 32 bytes: the length may change by such multiples alone.
    grown = value + b" " * ((length - len(value)) % 32)
    return GOOD[:at] + struct.pack("<Q", len(grown)) + grown + GOOD[at + 8 + length:]


def harmless(done, lines=None):
    for text in (done.stdout, done.stderr):
        found = STEERS.search(text)
        assert not found, (found, text)
        assert "\nkldscope: all is well" not in text, text
    assert lines is None or done.stderr.count("\n") == lines, done.stderr


def case_names_in_a_model_never_reach_the_terminal_raw():
    evil = EVIL.encode() + b"\xff"
    for key in (b"general.name", b"general.architecture", b"tokenizer.ggml.pre"):
        path = path_of("evil.gguf")
        with open(path, "wb") as f:
            f.write(with_value(key, evil))
        for locale in ("C", "C.UTF-8"):
            done = run("inspect", path, env={"LC_ALL": locale})
            assert done.returncode == 0, done.stderr
            assert "\\x1b]0;title" in done.stdout, done.stdout
            harmless(done)
            harmless(run("run", path, "--arm", "Q8_0", "--corpus", path_of("none.txt"), "--headless",
                         env={"LC_ALL": locale}), lines=1)


def case_words_of_the_command_line_never_reach_the_terminal_raw():
    for words in ([EVIL + ".gguf"], ["inspect", EVIL], [EVIL], ["--" + EVIL], ["run", "--window", EVIL],
                  ["run", MODEL, "--arm", EVIL, "--corpus", STORIES],
                  ["run", MODEL, "--arm", "Q8_0", "--corpus", EVIL],
                  ["logits", MODEL, "--ids", EVIL, "-o", EVIL], ["run", "x.lua", "-p", EVIL]):
        done = run(*words)
        assert done.returncode == 2, words
        assert "]0;title" in done.stderr, done.stderr
        harmless(done, lines=1)


def case_a_long_word_is_cut():
    done = run("inspect", "x" * 100000)
    assert done.returncode == 2
    assert len(done.stderr) < 5000 and done.stderr.endswith("...\n"), len(done.stderr)


def case_other_scripts_stand_as_they_are_where_the_locale_has_them():
    assert "größer-日本.gguf" in run("inspect", "größer-日本.gguf", env={"LC_ALL": "C.UTF-8"}).stderr
    assert "gr\\xc3\\xb6" in run("inspect", "größer-日本.gguf", env={"LC_ALL": "C"}).stderr


def case_json_is_ascii_and_keeps_the_names():
    arm, text = path_of("e\x1b[31m\x9b\u202e.gguf"), path_of("text.txt")
    shutil.copy(MODEL, arm)
    with open(text, "w") as f:
        f.write("Once upon a time there was a girl who had a red ball.")
    words = ["run", MODEL, "--arm", arm, "--corpus", text]
    done = run(*words, "--json")
    assert done.returncode == 0 and done.stdout.isascii(), (done.stdout, done.stderr)
    assert json.loads(done.stdout)["arms"][0]["file"] == arm
    harmless(run(*words, "--headless"))


def shrinking_run(**where):
    path = path_of("shrinks.gguf")
    shutil.copy(MODEL, path)
    done = subprocess.Popen([PROGRAM, "run", path, "--arm", "Q4_K_M", "--corpus", STORIES],
                            **where)
    return path, done


def case_a_model_that_shrinks_under_a_run_is_named():
    path, running = shrinking_run(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
    time.sleep(0.5)
    os.truncate(path, 200000)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 2, (running.returncode, err)
    assert path.encode() + b": it shrank" in err and out == b"", err


def logits(out, **more):
    ids = path_of("ids")
    with open(ids, "w") as f:
        f.write("1 2 3")
    return subprocess.run([PROGRAM, "logits", MODEL, "--ids", ids, "-o", out], capture_output=True,
                          timeout=60, **more)


ROWS = 3 * 4096 * 4


def case_logits_never_take_the_place_of_a_pipe_or_link():
    pipe, link, real = path_of("pipe"), path_of("link.f32"), path_of("real.f32")
    os.mkfifo(pipe)
    reader = subprocess.Popen(["wc", "-c", pipe], stdout=subprocess.PIPE)
    assert logits(pipe).returncode == 0
    assert reader.communicate(timeout=60)[0].split()[0] == b"%d" % ROWS
    open(real, "w").close()
    os.symlink(real, link)
    assert logits(link).returncode == 0
    assert os.path.islink(link) and os.path.getsize(real) == ROWS
    assert len(logits("-").stdout) == ROWS


def case_a_limit_on_file_sizes_is_an_error_and_leaves_nothing():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    out = path_of("large.f32")
    done = logits(out, preexec_fn=limit)
    assert done.returncode == 2 and b"cannot write: File too large" in done.stderr, done
    assert not os.path.exists(out) and not os.path.exists(out + ".part")


def case_no_file_becomes_a_standard_stream_that_was_closed():
    model, out = path_of("held.gguf"), path_of("held.f32")
    shutil.copy(MODEL, model)
    os.chmod(model, 0o644)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        for words in (f"logits {model} --ids {path_of('ids')} -o {out}", f"inspect {model}",
                      f"run {model} --arm none --corpus {STORIES}"):
            subprocess.run(f"{PROGRAM} {words} {closed}", shell=True, capture_output=True,
                           timeout=60)
        assert os.path.getsize(out) == ROWS
        with open(model, "rb") as f:
            assert f.read() == GOOD
        os.unlink(out)


def case_a_pipe_as_a_corpus_is_refused_without_waiting():
    pipe = path_of("pipe.jsonl")
    os.mkfifo(pipe)
    done = run("run", MODEL, "--arm", "Q8_0", "--corpus", pipe, "--headless", timeout=30)
    assert done.returncode == 2 and "not a regular file" in done.stderr, done.stderr


def read_until_closed(fd):
    bytes_read = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            return bytes_read
        if not piece:
            return bytes_read
        bytes_read += piece


def on_a_screen(act):
    """Runs the workbench on a terminal, acts, and returns status, output and the terminal's modes
    before and after."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    before = termios.tcgetattr(theirs)
    environment = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8")
    path, running = shrinking_run(stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    time.sleep(1)
    act(path, running)
    running.wait(timeout=60)
    after = termios.tcgetattr(theirs)
    os.close(theirs)
    return running.returncode, read_until_closed(ours), before, after


def case_a_model_that_shrinks_under_a_screen_gives_the_terminal_back():
    status, out, before, after = on_a_screen(lambda path, _: os.truncate(path, 200000))
    assert status == 2 and before == after, (status, before, after)
    assert b"it shrank" in out.split(b"\x1b[?1049l")[-1], out[-2000:]


def case_two_interrupts_at_once_give_the_terminal_back():
    def twice(_, running):
        # Stopped, it finds both of them at the same moment.
        os.kill(running.pid, signal.SIGSTOP)
        os.kill(running.pid, signal.SIGINT)
        os.kill(running.pid, signal.SIGTERM)
        os.kill(running.pid, signal.SIGCONT)

    status, out, before, after = on_a_screen(twice)
    assert status == 130 and before == after, (status, before, after)
    assert b"\x1b[?1049l" in out, out[-2000:]


main(sys.modules[__name__])
