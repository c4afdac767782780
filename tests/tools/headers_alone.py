#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads each header by itself, its syntax only, with all warnings as errors.

    headers_alone.py LIST INCLUDE COMPILER [FLAGS]

LIST names headers of the folder INCLUDE, a line each. Clang reads the standard library once, from a precompiled header: whether a header brings what it
says of the standard library is a rule of check_floors.py, which knows more of that than a compiler."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STANDARD = re.compile(r"^#include <([a-z_0-9]+)>$", re.M)


def precompiled(headers, include, command, scratch):
    """The flags that bring what these headers include of the standard library; none where the compiler is not clang."""
    if "clang" not in os.path.basename(command[0]):
        return []
    named = sorted(set().union(*(STANDARD.findall(pathlib.Path(include, header).read_text(encoding="utf-8")) for header in headers)))
    into = os.path.join(scratch, "standard.pch")
    text = "".join(f"#include <{name}>\n" for name in named)
    made = subprocess.run([*command, "-x", "c++-header", "-", "-o", into], input=text, capture_output=True, text=True, check=False)
    return ["-include-pch", into] if made.returncode == 0 else []


def main():
    path, include, compiler, *flags = sys.argv[1:]
    headers = pathlib.Path(path).read_text(encoding="utf-8").split()
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{include}", *flags]
    with tempfile.TemporaryDirectory() as scratch:
        standard = precompiled(headers, include, command, scratch)

        def read(header):
            # A file that includes it is compiled: as the main file, a header draws warnings of its own.
            text = f"#include <{header}>\n"
            return subprocess.run([*command, *standard, "-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True, check=False)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(read, headers))
    broken = [(header, result) for header, result in zip(headers, results) if result.returncode]
    for header, result in broken:
        print(f"{header} does not compile alone\n{result.stderr[:4000]}")
    print(f"{len(headers)} headers, {len(broken)} do not compile alone")
    return 1 if broken or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
