#!/usr/bin/env python3
"""Sums the results that utils/check.sh collected and prints `N passed, N failed` as the last line.

Every suite leaves a result file and the exit status of its runner. A runner that failed without
naming a failed test (a crash, a collection error) counts as one failure, and so does a suite
without results.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def add_junit(totals, suite, path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{suite}: {case.get('classname')}::{case.get('name')}"
        outcomes = {child.tag: child for child in case}
        if "failure" in outcomes or "error" in outcomes:
            totals.failed.append(name)
        elif "skipped" in outcomes:
            totals.skipped.append(f"{name} ({outcomes['skipped'].get('message', '').strip()})")
        else:
            totals.passed += 1


def add_gtest(totals, suite, path):
    for group in json.loads(path.read_text())["testsuites"]:
        for case in group["testsuite"]:
            name = f"{suite}: {group['name']}.{case['name']}"
            if case.get("failures"):
                totals.failed.append(name)
            elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                totals.skipped.append(name)
            else:
                totals.passed += 1


def add_suite(totals, suite, path, status_path, reader):
    failed_before = len(totals.failed)
    try:
        reader(totals, suite, path)
    except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
        totals.failed.append(f"{suite}: no readable results ({error})")
    status = int(status_path.read_text())
    if status != 0 and len(totals.failed) == failed_before:
        totals.failed.append(f"{suite}: the runner ended with status {status}")


def main():
    results = pathlib.Path(sys.argv[1])
    totals = Totals()
    add_suite(totals, "lit", results / "lit.xml", results / "lit.status", add_junit)
    for status_path in sorted((results / "gtest").glob("*.status")):
        add_suite(
            totals, status_path.stem, status_path.with_suffix(".json"), status_path, add_gtest
        )
    add_suite(totals, "pytest", results / "pytest.xml", results / "pytest.status", add_junit)
    if (results / "torch.status").exists():
        add_suite(totals, "torch", results / "torch.xml", results / "torch.status", add_junit)

    for name in totals.skipped:
        print(f"skipped: {name}")
    for name in totals.failed:
        print(f"FAILED: {name}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
