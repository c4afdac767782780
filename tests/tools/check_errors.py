#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/errors.md with what the message tables say, and looks for codes that no table holds.

    check_errors.py ERRORS_PAGE REPOSITORY
"""
import difflib
import pathlib
import re
import subprocess
import sys


def main(program, repository):
    repository = pathlib.Path(repository)
    made = subprocess.run([program], capture_output=True, text=True, check=False)
    wrong = made.returncode != 0
    if wrong:
        print(made.stderr, end="")
    page = repository / "docs" / "errors.md"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    if written != made.stdout:
        print("".join(difflib.unified_diff(written.splitlines(True), made.stdout.splitlines(True), "docs/errors.md", "the tables")), end="")
        print("docs/errors.md is out of date; run: cmake --build --preset release --target errors")
        wrong = True
    known = set(re.findall(r"^### (MT-\w+)$", made.stdout, re.M))
    for folder in ("include", "examples"):
        for path in sorted((repository / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".cuh", ".cu"):
                for code in sorted(set(re.findall(r"MT-[A-Z]\d{2,3}", path.read_text(encoding="utf-8"))) - known):
                    print(f"{path.relative_to(repository)}: {code} is in no messages.hpp or rules.hpp")
                    wrong = True
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
