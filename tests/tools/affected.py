#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which unit tests a change can affect: those whose files include, directly or through others, one of the files that differ from a commit.

    affected.py BASE < LIST

LIST has a line `<test> <group> <file>` for each unit test. Prints the groups to build in the first line and the tests in the second; both are empty when
nothing that a unit test reads has changed."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "include", ROOT / "tests", ROOT / "tests/laws", ROOT / "examples"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|define MOTET_SIMD_BODY)[ \t]*[<"]([^>"]+)[>"]', re.M)


def changed(base):
    def names(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
    return {ROOT / name for name in names("diff", "--name-only", base) + names("ls-files", "--others", "--exclude-standard")}


def read(file, known={}):
    """The files of ours that this one includes."""
    if file not in known:
        found = set()
        for name in INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            for folder in [file.parent, *FOLDERS]:
                other = (folder / name).resolve()
                if other.is_file():
                    found.add(other)
                    break
        known[file] = found
    return known[file]


def closure(file):
    seen, waiting = set(), [file]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += read(at)
    return seen


def main():
    differ = changed(sys.argv[1])
    groups, tests = [], []
    for line in sys.stdin:
        test, group, file = line.split()
        if not differ.isdisjoint(closure(pathlib.Path(file).resolve())):
            tests.append(test)
            if group not in groups:
                groups.append(group)
    print(" ".join(groups))
    print(" ".join(tests))


if __name__ == "__main__":
    main()
