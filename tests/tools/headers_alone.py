#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads each header by itself, its syntax only, with all warnings as errors.

    headers_alone.py LIST INCLUDE COMPILER [FLAGS]

LIST names headers of the folder INCLUDE, a line each. Clang reads them all in one process, each as a submodule, which sees what it includes and nothing
of what was read before it; headers of others are read once, as one module: whether a header brings what it says of the standard library is a rule of
check_floors.py, which knows more of that than a compiler. Another compiler reads header by header."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r"^#include <([^>]+)>", re.M)
BETWEEN = ("cassert",)  # says anew what `assert` is each time it is read, so it is part of whoever reads it


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def others(named, include, command):
    """The files of others among those that are named, where this compiler finds them."""
    told = run([*command, "-E", "-v", "-x", "c++", "-"], "").stderr
    folders = [line.strip() for line in told.split("search starts here:")[-1].split("End of search list")[0].splitlines() if line.strip()]
    for name in named:
        if name in BETWEEN or pathlib.Path(include, name).is_file():
            continue
        found = (os.path.join(folder, name) for folder in folders if os.path.isfile(os.path.join(folder, name)))
        yield from list(found)[:1]


def read_as_modules(headers, include, command, scratch, named=()):
    """What clang says against these headers, nothing where all is well, and the flags of a file that includes them and others that it names."""
    named = sorted(set(named).union(*(INCLUDE.findall(pathlib.Path(include, header).read_text(encoding="utf-8")) for header in headers)))
    maps = {
        "others": [f'header "{path}"' for path in others(named, include, command)],
        "motet": [f'module {re.sub("[^a-z0-9]", "_", header)} {{ header "{include}/{header}" export * }}' for header in headers],
    }
    flags = ["-fmodules", "-fno-implicit-modules", "-fno-implicit-module-maps", "-Xclang", "-fmodules-local-submodule-visibility"]
    for module, lines in maps.items():
        path = os.path.join(scratch, module)
        system = " [system]" if module == "others" else ""
        pathlib.Path(f"{path}.modulemap").write_text(f"module {module}{system} {{\n" + "\n".join(lines) + "\nexport *\n}\n", encoding="utf-8")
        making = ["-x", "c++", "-c", "-ferror-limit=0", "-Xclang", "-emit-module", f"-fmodule-name={module}"]
        made = run([*command, *flags, *making, f"{path}.modulemap", "-o", f"{path}.pcm"])
        if made.returncode:
            return made.stderr, []
        flags += [f"-fmodule-map-file={path}.modulemap", f"-fmodule-file={path}.pcm"]
    return "", flags


def read_one_by_one(headers, command):
    def read(header):
        # A file that includes it is compiled: as the main file, a header draws warnings of its own.
        made = run([*command, "-fsyntax-only", "-x", "c++", "-"], f"#include <{header}>\n")
        return f"{header} does not compile alone\n{made.stderr[:4000]}" if made.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(read, headers))


def main():
    path, include, compiler, *flags = sys.argv[1:]
    headers = pathlib.Path(path).read_text(encoding="utf-8").split()
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{include}", *flags]
    with tempfile.TemporaryDirectory() as scratch:
        if "clang" in os.path.basename(compiler):
            command.append("-Wreserved-identifier")
            said, _ = read_as_modules(headers, include, command, scratch)
        else:
            said = read_one_by_one(headers, command)
    print(said[:40000] + f"{len(headers)} headers, " + ("not all compile alone" if said else "all compile alone"))
    return 1 if said or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
