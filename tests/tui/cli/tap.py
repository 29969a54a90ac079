"""Test cases of the whole program, spoken as TAP: each function named case_* is one."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback

PROGRAM = os.environ["KLDSCOPE"]
ROOT = os.environ["KS_SOURCE_ROOT"]
DATA = os.environ["KS_TEST_DATA"]
SCENARIOS = os.path.join(ROOT, "scenarios")


# Runs leave their files in the current folder.
HERE = tempfile.TemporaryDirectory()
os.chdir(HERE.name)

# The tests may themselves run under nohup, or in a shell's background; the program must not.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(*words, env=None, stdin=b"", cwd=None, timeout=300):
    """Runs kldscope; the result has returncode, stdout and stderr as text."""
    full = dict(os.environ, **(env or {}))
    done = subprocess.run([PROGRAM, *map(str, words)], input=stdin, capture_output=True, env=full,
                          cwd=cwd, timeout=timeout)
    done.stdout = done.stdout.decode("utf-8", "replace")
    done.stderr = done.stderr.decode("utf-8", "replace")
    return done


def run_json(*words, **more):
    done = run(*words, "--json", **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def near(found, wanted, relative=0.0, absolute=0.0):
    assert abs(found - wanted) <= absolute + relative * abs(wanted), f"{found} is not near {wanted}"


def main(module):
    cases = [(n[5:], f) for n, f in vars(module).items() if n.startswith("case_")]
    print(f"1..{len(cases)}")
    failed = 0
    for i, (name, case) in enumerate(cases, 1):
        try:
            case()
            print(f"ok {i} - {name}", flush=True)
        except Exception:
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print(f"not ok {i} - {name}", flush=True)
    sys.exit(1 if failed else 0)
