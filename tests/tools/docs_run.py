#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every block of docs/ that opens with ```cpp compile, has a main() and is followed by a ```text block, and compares that with what it prints.

    docs_run.py --compiler C++ --include DIR [--definitions A;B] REPOSITORY

All blocks are one program, each in a namespace of its own, so that their headers are read once; docs_compile.py asks whether each brings what it needs.
docs/tutorial is left out: its lessons are programs of their own (tests/programs/tutorial.py). So is what does not follow at once: it shows a file, or a console.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import printed

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```\n", re.M | re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<[^>]+>[^\n]*\n", re.M)


def blocks(repository):
    """(page:line, line, code, what it shows) of each block that is run."""
    for page in sorted((repository / "docs").rglob("*.md")):
        if page.parent.name == "tutorial":
            continue
        text = page.read_text(encoding="utf-8")
        pieces = list(BLOCK.finditer(text))
        for code, shown in zip(pieces, pieces[1:]):
            if code.group(1).startswith("cpp compile") and shown.group(1) == "text" and text[code.end() : shown.start()] == "\n" and "int main()" in code.group(2):
                yield page, text.count("\n", 0, code.start()) + 2, code.group(2), shown.group(2)


def program(found):
    """The blocks as one text, of which `main` runs the one whose number it is given."""
    includes = sorted({line.strip() for _, _, code, _ in found for line in INCLUDE.findall(code)} | {"#include <cstdlib>"})
    out = ["\n".join(includes)]
    for k, (page, line, code, _) in enumerate(found):
        code = INCLUDE.sub("\n", code).replace("int main()", "int run()")
        end = code.rindex("}")  # main stands last, and may end without a return
        out.append(f'namespace block_{k} {{\n#line {line} "{page}"\n{code[:end]} return 0;\n}}\n}}')
    cases = "\n".join(f"  if (which == {k}) return block_{k}::run();" for k in range(len(found)))
    return "\n".join([*out, f"int main(int, char** words) {{\n  const int which = std::atoi(words[1]);\n{cases}\n  return 77;\n}}\n"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--definitions", default="")
    parser.add_argument("repository")
    options = parser.parse_args()
    found = list(blocks(pathlib.Path(options.repository).resolve()))
    faults = [f"the comparison is wrong about {case}" for case in printed.wrong_cases()]
    with tempfile.TemporaryDirectory() as scratch:
        source, made = pathlib.Path(scratch, "blocks.cpp"), pathlib.Path(scratch, "blocks")
        source.write_text(program(found), encoding="utf-8")
        includes = [f"-I{pathlib.Path(folder).resolve()}" for folder in options.include]
        definitions = [f"-D{name}" for name in options.definitions.split(";") if name]
        built = subprocess.run([options.compiler, "-std=c++20", "-O0", *includes, *definitions, str(source), "-o", str(made), "-pthread"], capture_output=True, text=True, check=False)
        if built.returncode:
            print(f"the blocks do not become a program\n{built.stderr[:20000]}")
            return 1
        for k, (page, line, _, shown) in enumerate(found):
            done = subprocess.run([str(made), str(k)], cwd=scratch, capture_output=True, text=True, check=False, timeout=60)
            if done.returncode or done.stderr:
                faults.append(f"{page}:{line}: the block ends with {done.returncode}\n{done.stderr}")
            # Empty lines at the end are no part of what a page shows.
            elif not printed.same(done.stdout.rstrip(), shown.rstrip()):
                faults.append(f"{page}:{line}: the block prints\n{done.stdout}and the page shows\n{shown}")
    print("".join(f"{each}\n" for each in faults) + f"{len(found)} blocks run, {len(faults)} faults")
    return 1 if faults or not found else 0


if __name__ == "__main__":
    sys.exit(main())
