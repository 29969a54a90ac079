"""Counts the test cases of JUnit files: names those that failed or were skipped, ends in one line.

A test program that died part-way has an error of its own beside its cases; it counts as a failure.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = skipped = 0
for path in sys.argv[1:]:
    if not os.path.exists(path):
        failed += 1
        print(f"failed: {path} is missing: none of its tests ran")
        continue
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        cases = list(suite.iter("testcase"))
        bad_cases = 0
        for case in cases:
            name = f'{suite.get("name")}: {case.get("name")}'
            skip = case.find("skipped")
            if skip is not None:
                skipped += 1
                print(f'skipped: {name}: {skip.get("message") or "no reason given"}')
            elif case.find("failure") is not None or case.find("error") is not None:
                bad_cases += 1
                print(f"failed: {name}")
            else:
                passed += 1
        died = int(suite.get("errors", 0)) or suite.find("error") is not None
        if (died or not cases) and not bad_cases:
            bad_cases = 1
            print(f'failed: {suite.get("name")}: the program died or ran no case')
        failed += bad_cases

print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
