#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a compiler says of a file of tests/must_fail that must not compile, when it compiles all files of its folder as one.

    must_fail.py --of SOURCE SAID COMPILER...

SAID is what the compiler said of the folder; a test before this one has written it (--all). Printed is what names SOURCE there. Where that lacks what the
file expects, as the compiler says the same of two files only once, the file is compiled by itself.

    must_fail.py --all SAID COMPILER...

Writes SAID. A folder of files that must not compile must not compile.
"""
import os
import re
import sys

ERROR = re.compile(r"(?:^|: )(?:fatal )?error: ")
BEGINS = re.compile(r"^In file included from |: In (?:[a-z]+ )*(?:instantiation|substitution|function|constructor)|: At global scope")


def findings(text):
    """Each error, with the lines before it that say where it comes from and those behind it that explain it."""
    out, here, told = [], [], False
    for line in text.splitlines():
        error = ERROR.search(line) is not None
        if told and (error or BEGINS.search(line)):
            out.append(here)
            here, told = [], False
        here.append(line)
        told = told or error
    if told:
        out.append(here)
    return ["\n".join(lines) for lines in out]


def of(source, text):
    """What names this file, which is no part of another file's name."""
    return "\n".join(each for each in findings(text) if re.search(rf"(?:^|[\s/]){re.escape(str(source))}:", each))


def read(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def expected(source, word):
    """The texts of the lines `// <word>: TEXT`, of which only `.*` is special."""
    lines = re.findall(rf"^// {word}: *(.*)$", read(source), re.M)
    return [re.escape(line).replace(r"\.\*", ".*") for line in lines]


def says(source, text):
    """Whether this has all that the file expects, and nothing that it must not have."""
    wanted = expected(source, "expect")[:1] + expected(source, "words")[:1]
    return all(re.search(each, text, re.S) for each in wanted) and not any(re.search(each, text, re.S) for each in expected(source, "never"))


def run(command):
    import subprocess  # few tests need it, and all would wait for it

    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})


def main():
    how, *rest = sys.argv[1:]
    if how == "--all":
        said, *command = rest
        done = run(command)
        with open(said, "w", encoding="utf-8") as opened:
            opened.write(done.stderr)
        print(f"{len(findings(done.stderr))} errors")
        return 0 if done.returncode else 1
    source, said, *command = rest
    text = of(source, read(said))
    if not says(source, text):
        done = run(command)
        text = "compiled by itself\n" + done.stderr
        if done.returncode == 0:
            print("it compiles")
            return 0
    print(text)
    return 1


if __name__ == "__main__":
    sys.exit(main())
