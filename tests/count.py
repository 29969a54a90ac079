"""Counts the test cases that meson ran: names those that failed or were skipped, ends in one line.

usage: count.py MESON-LOGS-FOLDER...
The cases are in the JUnit file. What became of each program is in the JSON: JUnit takes one that ran
out of time for one that passed. A program that went wrong beside its cases is a failure of its own.
"""
import json
import os
import sys
import xml.etree.ElementTree as ElementTree


def programs_of(folder):
    """Program name -> what meson says of it."""
    with open(os.path.join(folder, "testlog.json"), encoding="utf-8") as lines:
        return {run["name"]: run["result"] for run in map(json.loads, lines)}


def cases_of(folder):
    """Program name -> its (case name, "passed", "failed" or "skipped", reason)."""
    cases = {}
    for suite in ElementTree.parse(os.path.join(folder, "testlog.junit.xml")).iter("testsuite"):
        _, _, program = suite.get("name").partition(".")  # the project's name is before the point
        for case in suite.iter("testcase"):
            skip = case.find("skipped")
            if skip is not None:
                fate = ("skipped", skip.get("message") or "no reason given")
            elif case.find("failure") is not None or case.find("error") is not None:
                fate = ("failed", "")
            else:
                fate = ("passed", "")
            cases.setdefault(program, []).append((case.get("name"), *fate))
    return cases


def count(folder, counts):
    try:
        programs, cases = programs_of(folder), cases_of(folder)
    except OSError as error:
        counts["failed"] += 1
        print(f"failed: none of the tests of {folder} ran: {error}")
        return
    for program, result in programs.items():
        fates = cases.get(program, [])
        for name, fate, reason in fates:
            counts[fate] += 1
            if fate != "passed":
                print(f"{fate}: {program}: {name}" + (f": {reason}" if reason else ""))
        went_wrong = result not in ("OK", "SKIP") or not fates
        if went_wrong and not any(fate == "failed" for _, fate, _ in fates):
            counts["failed"] += 1
            print(f"failed: {program}: " + (result if fates or result != "OK" else "it ran no case"))


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for folder in sys.argv[1:]:
        count(folder, counts)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] or not counts["passed"] else 0


sys.exit(main())
