#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles (syntax only) every block of README.md and docs/ that opens with ```cpp compile, and the example of each header that has one.

    docs_compile.py --compiler C++ --include DIR [--definitions A;B] REPOSITORY

Each block is one file. A block without an include of ours gets `#include <motet/motet.hpp>` in front. What it says of the standard library must come
from headers that the standard says have it. Clang reads what the blocks include once, as modules, and then all blocks in one process, each as a submodule,
which sees what it includes and nothing of other blocks: what they have in common is instantiated once. Where that fails, each is read by itself, which
tells who is wrong; another compiler does so always.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import headers_alone
import reference_pages
import std_includes

FRONT = "#include <motet/motet.hpp>\n"
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.M)
BLOCK = re.compile(r"^```cpp compile[^\n]*\n(.*?)^```", re.M | re.S)


def brought(text, include, seen=None):
    """Headers of others that this text includes, itself or by ours."""
    seen = set() if seen is None else seen
    out = set()
    for name in INCLUDE.findall(text):
        header = include / name
        if not header.is_file():
            out.add(name)
        elif header not in seen:
            seen.add(header)
            out |= brought(header.read_text(encoding="utf-8"), include, seen)
    return out


def blocks(repository):
    """(file, line, what stands in front, text) of each block of the docs and each example of a header."""
    for page in [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        for block in BLOCK.finditer(text):
            body = block.group(1)
            yield page, text.count("\n", 0, block.start()) + 2, "" if "#include <motet/" in body else FRONT, body
    for header in reference_pages.headers(repository):
        found = reference_pages.example(header.read_text(encoding="utf-8"))
        if found:
            name = header.relative_to(repository / "include").as_posix()
            yield header, found[1], f"#include <{name}>\nusing namespace motet;\n", found[0]


def together(sources):
    """All blocks as one text, each in a submodule and a namespace of its own, and the map of those submodules."""
    text, submodules = [], []
    for k, (_, source) in enumerate(sources):
        block = source.read_text(encoding="utf-8")
        body = INCLUDE.sub("", block)
        if "int main(" in body:  # which may end without a return, and is another function in a namespace
            body = f'#pragma clang diagnostic push\n#pragma clang diagnostic ignored "-Wreturn-type"\n{body}\n#pragma clang diagnostic pop\n'
        includes = "".join(f"#include <{name}>\n" for name in INCLUDE.findall(block))
        text.append(f"#pragma clang module begin blocks.block{k}\n{includes}namespace block{k} {{\n{body}\n}}\n#pragma clang module end\n")
        submodules.append(f"block{k}")
    # What is instantiated at the end must see what it is made of.
    text += [f"#pragma clang module import {name}\n" for name in ["motet", "others", *(f"blocks.{each}" for each in submodules)]]
    return "".join(text), "module blocks {\n" + "".join(f"module {each} {{ export * }}\n" for each in submodules) + "}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--definitions", default="")
    parser.add_argument("repository")
    options = parser.parse_args()
    repository = pathlib.Path(options.repository)
    include = pathlib.Path(options.include[0])
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"] + [f"-I{folder}" for folder in options.include] + [f"-D{name}" for name in options.definitions.split(";") if name]
    sources, bare = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for page, line, front, body in blocks(repository):
            source = pathlib.Path(scratch, f"block{len(sources)}.cpp")
            source.write_text(f'{front}#line {line} "{page}"\n{body}')
            sources.append((f"{page}:{line}", source))
            bare += [f"{page}:{line}: says {name}, and brings no <{header}>" for name, header in std_includes.missing(body, brought(front + body, include))]

        alone = sources
        if "clang" in os.path.basename(options.compiler):
            named = set().union(*(INCLUDE.findall(source.read_text(encoding="utf-8")) for _, source in sources))
            everything = "".join(f"#include <{name}>\n" for name in sorted(named))
            command = [options.compiler, *(flag for flag in flags if flag != "-fsyntax-only")]
            # What is read depends on what was found here, so the preprocessor tells it.
            read = headers_alone.run([*command, "-M", "-x", "c++", "-"], everything)
            ours = re.findall(rf"{re.escape(str(include))}/(motet/[\w/]+\.hpp)", read.stdout)
            said, modules = headers_alone.read_as_modules(sorted(set(ours)), str(include), command, scratch, named)
            if read.returncode or said:
                print(f"what the blocks include does not compile\n{read.stderr}{said}")
                return 1
            flags += modules
            text, submodules = together(sources)
            whole, names = pathlib.Path(scratch, "blocks.cpp"), pathlib.Path(scratch, "blocks.modulemap")
            whole.write_text(text, encoding="utf-8")
            names.write_text(submodules, encoding="utf-8")
            read = headers_alone.run([options.compiler, *flags, f"-fmodule-map-file={names}", "-fmodule-name=blocks", str(whole)])
            alone = sources if read.returncode else []

        def compile_block(entry):
            return subprocess.run([options.compiler, *flags, str(entry[1])], capture_output=True, text=True, check=False)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(compile_block, alone))
    failed = 0
    for (place, _), result in zip(alone, results):
        if result.returncode:
            failed += 1
            print(f"{place}: the block does not compile\n{result.stderr}")
    print("".join(line + "\n" for line in bare) + f"{len(sources)} blocks, {failed} do not compile, {len(bare)} names come from nowhere")
    return 1 if failed or bare else 0


if __name__ == "__main__":
    sys.exit(main())
