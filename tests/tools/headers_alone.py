#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads each header by itself, its syntax only, with all warnings as errors.

    headers_alone.py LIST INCLUDE COMPILER [FLAGS]

LIST names headers of the folder INCLUDE, a line each."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys


def main():
    path, include, compiler, *flags = sys.argv[1:]
    headers = pathlib.Path(path).read_text(encoding="utf-8").split()
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{include}", *flags]

    def read(header):
        # A file that includes it is compiled: as the main file, a header draws warnings of its own.
        return subprocess.run([compiler, *flags, "-x", "c++", "-"], input=f"#include <{header}>\n", capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(read, headers))
    broken = [(header, result) for header, result in zip(headers, results) if result.returncode]
    for header, result in broken:
        print(f"{header} does not compile alone\n{result.stderr[:4000]}")
    print(f"{len(headers)} headers, {len(broken)} do not compile alone")
    return 1 if broken or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
