#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference pages, one for each public header, made from the header's own comments and declarations, so that they cannot drift.

    reference_pages.py REPOSITORY            compares docs/reference with the headers, exits 1 on any difference
    reference_pages.py --write REPOSITORY    writes docs/reference
"""
import argparse
import pathlib
import re
import sys

SKIP = re.compile(r"^\s*(#|namespace\b|}\s*//\s*namespace|using namespace|//\s*SPDX|extern \"C\")")
FLOORS = {"meta": 0, "tensor": 1, "format": 1, "nn": 2, "model": 3, "strategy": 4, "schedule": 5, "plan": 6, "backend": 7, "data": 8, "runtime": 9, "tools": 9}


def depth_change(line):
    code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|//.*', "", line)
    return code.count("{") - code.count("}"), code.count("(") - code.count(")")


def signature(lines):
    """A declaration without the bodies of its functions."""
    text = "\n".join(lines).rstrip()
    first = re.search(r"\b(struct|class|enum|concept)\b[^;(]*\{", text)
    if first or text.endswith("};"):
        return text if len(lines) <= 12 else members(lines)
    cut = body_start(text)
    return text if cut is None else text[:cut].rstrip().rstrip(":").rstrip() + ";"


def body_start(text):
    depth = 0
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "{" and depth == 0:
            before = text[:at].rstrip()
            # Initialisers of variables belong to the declaration; bodies of functions do not.
            return at if before.endswith((")", "const", "noexcept", "override")) or re.search(r"\)\s*(const)?\s*(requires[^;]*|:[^;]*|->[^;]*)$", before) else None
    return None


def without_initialisers(text):
    return re.sub(r"\)\s*:\s+\w+[({].*$", ")", text.rstrip(), flags=re.S)


def members(lines):
    """The public face of a long class: comments and declarations, bodies left out."""
    out, depth, hidden, i = [lines[0]], 0, False, 1
    for k, line in enumerate(lines):
        if "{" in line:
            out = lines[: k + 1]
            i = k + 1
            break
    indent = None
    while i < len(lines):
        line = lines[i]
        stripped = line.strip()
        if stripped in ("public:", "private:", "protected:"):
            hidden = stripped != "public:"
            i += 1
            continue
        if stripped.startswith("};") and (indent is None or len(line) - len(line.lstrip()) < indent):
            break
        if stripped and indent is None:
            indent = len(line) - len(line.lstrip())
        piece = [line]
        if not stripped.startswith("//") and stripped:
            depth, parens = depth_change(line)
            while (depth > 0 or parens > 0 or not re.search(r"[;}]\s*(//.*)?$", piece[-1])) and i + 1 < len(lines):
                i += 1
                piece.append(lines[i])
                a, b = depth_change(lines[i])
                depth, parens = depth + a, parens + b
        if not hidden:
            text = "\n".join(piece)
            cut = body_start(text)
            if cut is not None and ("\n" in text or len(text) > 100):
                text = without_initialisers(text[:cut]) + ";"
            out.append(text)
        i += 1
    result = re.sub(r"\n\s*\n+", "\n", "\n".join(out)).rstrip()
    return result + "\n};"


def entries(text):
    """(comment, declaration lines) for everything at namespace scope outside `detail`."""
    lines, found, comment, i = text.split("\n"), [], [], 0
    detail = 0
    while i < len(lines):
        line = lines[i]
        if re.match(r"^namespace detail\b.*\{", line):
            depth = depth_change(line)[0]
            while depth > 0 and i + 1 < len(lines):
                i += 1
                depth += depth_change(lines[i])[0]
            comment, i = [], i + 1
            continue
        if line.startswith("#"):
            while line.endswith("\\") and i + 1 < len(lines):
                i += 1
                line = lines[i]
            comment, i = [], i + 1
            continue
        if SKIP.match(line) or (not line.strip()):
            if comment and not line.strip():
                found.append((comment, []))
            comment, i = [], i + 1
            continue
        if line.startswith("//"):
            comment.append(re.sub(r"^// ?", "", line))
            i += 1
            continue
        if line.startswith("}"):
            comment, i = [], i + 1
            continue
        piece = [line]
        depth, parens = depth_change(line)
        while (depth > 0 or parens > 0 or not re.search(r"[;}]\s*(//.*)?$", piece[-1])) and i + 1 < len(lines):
            i += 1
            piece.append(lines[i])
            a, b = depth_change(lines[i])
            depth, parens = depth + a, parens + b
        if detail == 0:
            found.append((comment, piece))
        comment, i = [], i + 1
    if comment:
        found.append((comment, []))
    return found


def prose(comment):
    """Comment lines as Markdown: indented and tabulated lines stay as they are."""
    out, block = [], []
    for line in comment:
        if line.startswith("  ") or re.search(r"\S {3,}\S", line):
            block.append(line)
        else:
            if block:
                out += ["```text", *block, "```"]
                block = []
            out.append(line)
    if block:
        out += ["```text", *block, "```"]
    return "\n".join(out)


def page(repository, header):
    name = header.relative_to(repository / "include")
    floor = name.parts[1] if len(name.parts) > 2 else ""
    title = "/".join(name.with_suffix("").parts[1:])
    test = repository / "tests" / "unit" / pathlib.Path(*name.parts[1:]).with_suffix(".cpp")
    out = [f"# {title}", "", f"`#include <{name}>`" + (f" · floor {FLOORS[floor]}" if floor in FLOORS else ""), ""]
    for comment, lines in entries(header.read_text()):
        if comment:
            out += [prose(comment), ""]
        if lines:
            out += ["```cpp", signature(lines), "```", ""]
    depth = len(name.parts)
    guide = repository / "docs" / floor / f"{name.stem}.md"  # whatever room the header is in
    if floor and guide.exists():
        out += [f"Guide: [{guide.relative_to(repository)}]({'../' * (depth - 1)}{guide.relative_to(repository / 'docs')})", ""]
    if test.exists():
        out += [f"Test: [{test.relative_to(repository)}]({'../' * depth}{test.relative_to(repository)})", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("repository")
    options = parser.parse_args()
    repository = pathlib.Path(options.repository).resolve()
    base = repository / "docs" / "reference"
    wanted, index = {}, ["# Reference", "", "One page for each public header, made from the header itself by `tests/tools/reference_pages.py --write .`.", ""]
    last = None
    for header in sorted((repository / "include" / "motet").rglob("*.hpp"), key=lambda at: (at.parent, at)):
        relative = header.relative_to(repository / "include" / "motet").with_suffix(".md")
        wanted[base / relative] = page(repository, header)
        folder = relative.parent.as_posix()
        if folder != last:
            index += ["", f"## {folder if folder != '.' else 'motet'}", ""]
            last = folder
        index.append(f"- [{relative.with_suffix('').name}]({relative.as_posix()})")
    wanted[base / "index.md"] = "\n".join(index) + "\n"
    if not wanted:
        sys.exit("reference_pages: no header found")
    stale = [path for path in base.rglob("*.md") if path not in wanted]
    wrong = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if options.write:
        for path in stale:
            path.unlink()
        for path in wrong:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        print(f"{len(wanted)} pages, {len(wrong)} written, {len(stale)} removed")
        return 0
    for path in wrong + stale:
        print(f"differs from its header: {path.relative_to(repository)} (run tests/tools/reference_pages.py --write .)", file=sys.stderr)
    print(f"{len(wanted)} reference pages, {len(wrong) + len(stale)} differ")
    return 1 if wrong or stale else 0


if __name__ == "__main__":
    sys.exit(main())
