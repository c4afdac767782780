#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the tree: who includes whom and brings what it says, that a room's details are its own, that each header has its unit test, how long headers are, and that
kernels' instructions for one kind of memory stand where the emulation of a GPU is asked.

    check_floors.py [--docs=notice|error] REPOSITORY

Prints one line for each finding and ends with status 1 if one of them is an error.
"""
import functools
import pathlib
import re
import sys

import std_includes

# A folder includes its own floor and lower ones.
FLOORS = {"meta": 0, "tensor": 1, "format": 1, "nn": 2, "model": 3, "strategy": 4, "schedule": 5, "plan": 6, "jobs": 7, "backend": 7, "data": 8, "runtime": 9, "tools": 9, "front": 10, "run": 11, "": 12}
# Rooms of a floor, or of a back end, the lowest first: one includes itself and those before it. "" is the place of what lies in no room.
BACK_END = ["device", "kernels", "rows", "exchange", "products", "attention", "losses", "experts", "parameters", ""]
ROOMS = {
    "data": ["unicode", "", "words", "pictures", "sound", "shards", "samples", "steps", "make", "produce"],
    "format": ["", "text", "files", "tensors", "checkpoint", "hf"],
    "nn": ["core", "layers", "compose", "towers"],
    "schedule": ["core", "write", "check", "simulate", "place", "draw", "csv"],
    "plan": ["order", "describe", "prove", "cost", "search", "distmm", "disttrain", "optimus", "cells", "quotas", "files"],
    "jobs": ["", "files", "world", "play", "policies", "emit", "watch"],
    "tools": ["", "report", "process", "held_out"],
    "front": ["trained", "ranks", "", "feed"],
    "runtime": ["", "state", "ranks", "stage", "feeds", "gradients", "train", "save"],
    "backend": ["core", "groups", "exchange"],
    "backend/cpu": BACK_END,
    "backend/cuda": BACK_END,
    "backend/transport": ["core", "local", "meet", "mpi", "gpu", "nccl", "shared_gpu"],
}
# Includes of lower floors, or of their own, that the design forbids all the same.
FORBIDDEN = {
    "jobs": {"backend", "backend/*", "nn", "model"},
    "backend": {"jobs"},
    "tensor": {"format"},
    "schedule": {"nn", "model", "tensor", "format"},
    "data": {"backend/*"},
    "runtime": {"backend/*", "tools"},
    "tools": {"backend/*", "runtime"},
}
HEAVY = {"iostream", "regex", "functional", "thread"}
HEAVY_BELOW = 4  # floors 0-3
HEADER_LINES = 440
# Tables are tested by the page made from them; a header that only gathers others has nothing of its own.
# A file .inc is the body of the header that includes it, perhaps several times.
NO_UNIT_TEST = re.compile(r"(^|/)(messages|fwd)\.hpp$|^(motet|plan|cuda|jobs)\.hpp$|\.inc$")
# Front headers that bring whole floors. motet.hpp brings what a program needs that trains, and no more.
FRONTS = {"jobs.hpp": {"jobs"}, "plan.hpp": {"strategy", "schedule", "plan"}}
# Headers that cannot be read without CUDA's. cuda.hpp brings them all; the other fronts must not.
CUDA = re.compile(r"^cuda\.hpp$|^backend/cuda/|^backend/transport/(gpu|nccl|shared_gpu)|^front/cuda_")
CUDA_INCLUDE = re.compile(r"^(cuda|cublas|cudnn|nccl|cub/|thrust/)")
# What a kernel says to reach memory of one kind alone, where a plain access asks the address: inline assembly with an address, and intrinsics.
NAMES_MEMORY = re.compile(r'\basm\b[^;]*?"[^"]*\[ *%[^"]*"|\b__ld(?:g|ca|cg|cs|lu|cv)\b|\b__st(?:wb|cg|cs|wt)\b|\b\w*memcpy_async\b'
                          r"|\b__is(?:Global|Shared|Local|Constant)\b|\b__cvta_generic_to_(?:global|local|constant)\b")
ASKS_EMULATION = "must_lie_in<"

# A namespace, and what is declared at the beginning of a line in it.
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]+) \{$")
DECLARES = re.compile(r"^(?:template\b.*>\s*)?(?:(?:struct|class|enum class|enum|concept)\s+(?:alignas\(.*\)\s*)?(\w+)|using\s+(\w+)\s*="
                      r"|(?!return\b|template\b|using\b|namespace\b|struct\b|class\b|enum\b|concept\b|static_assert|friend\b|extern\b|typedef\b)"
                      r"[\w:<>,&*\s\[\].()]*?[\w>&*\]]\s+[&*]*(\w+)\s*[(={;\[])")
SAYS_PRIVATE = re.compile(r"\bdetail::(?:\w+::)*?(\w+)")
CALLS = re.compile(r"(?<![\w.:>])(\w+)(?=\s*[(<{]|::)")
# What a line declares inside of functions and classes: a word that follows a type.
HIDES = re.compile(r"(?<!\breturn)(?<!\belse)(?<=[\w>&*\]])\s+[&*]*(\w+)\s*(?=[({=;,)])")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def folder(header):
    """First folder of a header's path below include/motet; empty for the headers on top."""
    return header.split("/")[0] if "/" in header else ""


def house(header):
    """The folder of ROOMS that a header is in; None where there are no rooms."""
    own = f"backend/{sibling(header)}" if sibling(header) else folder(header)
    return own if own in ROOMS else None


def room(header):
    """The place of a header's room in its house; -1 where it is in none of them. A room may have parts: kernels/losses is in kernels."""
    own = house(header)
    name = header[len(own) + 1:].rpartition("/")[0].split("/")[0]
    return ROOMS[own].index(name) if name in ROOMS[own] else -1


def sibling(header):
    """The back end a header belongs to: backend/cpu/rows/norm.hpp -> cpu; backend/groups/concepts.hpp belongs to all."""
    parts = header.split("/")
    return parts[1] if parts[0] == "backend" and len(parts) > 2 and parts[1] not in ROOMS["backend"] else None


def includes_of(root, header, text):
    """Headers of ours and names of others, in order."""
    ours, others = [], []
    for quote, name in INCLUDE.findall(text):
        if name.startswith("motet/"):
            ours.append(name[len("motet/"):])
        elif quote == '"' and (root / header).parent.joinpath(name).exists():
            ours.append((root / header).parent.joinpath(name).resolve().relative_to(root.resolve()).as_posix())
        else:
            others.append(name)
    return ours, others


def in_namespaces(text):
    """Number, namespaces (outermost first) and text of each line that stands in some; comments and strings are left out."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", "", text))
    open_ones, depth = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        opened = NAMESPACE.match(line)
        if opened:
            open_ones.append((depth, opened.group(1).split("::")))
        elif open_ones:
            yield number, tuple(name for _, names in open_ones for name in names), line
        depth += line.count("{") - line.count("}")
        while open_ones and depth <= open_ones[-1][0]:
            open_ones.pop()


@functools.cache
def private_names(text):
    """Names that a header declares in a namespace `detail`, each with its namespaces."""
    found = ((spaces, DECLARES.match(line)) for _, spaces, line in in_namespaces(text) if "detail" in spaces and line[:1] not in " #}")
    return {(next(filter(None, said.groups())), spaces) for spaces, said in found if said}


def used_from_others(header, graph, texts):
    """Line, name and header of each name of a `detail` that this header uses and that only headers of other rooms declare."""
    bodies = {at for at in texts if header.endswith(".inc") and f"<motet/{header}>" in texts[at]}  # whose body it is
    rooms = {at.rpartition("/")[0] for at in {header} | bodies}
    theirs, ours = {}, set()
    for at in set().union(*(reached_from(graph, each) for each in {header} | bodies)):
        for name, spaces in private_names(texts.get(at, "")):
            if at.rpartition("/")[0] in rooms:
                ours.add(name)
            else:
                theirs.setdefault(name, {})[spaces] = at
    hidden = ours | set(HIDES.findall(texts[header]))
    for number, spaces, line in in_namespaces(texts[header]):
        for name in SAYS_PRIVATE.findall(line):
            if name in theirs and name not in ours:
                yield number, name, min(theirs[name].values())
        for name in CALLS.findall(line) if "detail" in spaces else []:
            yield from ((number, name, at) for there, at in theirs.get(name, {}).items() if there == spaces[:len(there)] and name not in hidden)


def functions_of(text):
    """Pairs of name and text of what stands in the namespaces of a header: functions with all their overloads, classes."""
    found, own, name = [], [], None
    for line in text.splitlines():
        if line.lstrip().startswith("//"):
            continue
        own.append(line)
        said = re.search(r"([\w~]+)\s*\(", re.sub(r"^template\b.*|\b(alignas|__launch_bounds__|requires|decltype)\s*\(", "", line))
        if name is None and said and line[:1] not in " #}":
            name = said.group(1)
        if line.startswith("}") or (line[:1] not in " #" and line.endswith("}")):
            found.append((name, "\n".join(own)))
            own, name = [], None
    return found


def without_question(text):
    """Names of functions that say an instruction for one kind of memory, where the emulation is not asked under that name."""
    all_of = functions_of(text)
    asked = {name for name, body in all_of if ASKS_EMULATION in body}
    return sorted({str(name) for name, body in all_of if NAMES_MEMORY.search(body)} - {str(name) for name in asked})


def find_cycle(graph):
    state, path = {}, []

    def visit(node):
        state[node] = 1
        path.append(node)
        for target in graph.get(node, []):
            if state.get(target) == 1:
                return path[path.index(target):] + [target]
            if target not in state:
                found = visit(target)
                if found:
                    return found
        path.pop()
        state[node] = 2
        return None

    for node in graph:
        if node not in state:
            found = visit(node)
            if found:
                return found
    return None


def reached_from(graph, header):
    """This header and all of ours that it brings."""
    reached, waiting = set(), [header]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += graph.get(at, [])
    return reached


def check(repository, docs="notice"):
    """Returns (errors, notices), each a list of lines."""
    errors, notices = [], []
    root = pathlib.Path(repository) / "include" / "motet"
    units = pathlib.Path(repository) / "tests" / "unit"
    pages = pathlib.Path(repository) / "docs"
    headers = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.suffix in (".hpp", ".cuh", ".inc"))
    if not headers:
        return [f"no headers under {root}"], []
    graph, texts, standard = {}, {}, {}
    for header in headers:
        text = (root / header).read_text(encoding="utf-8")
        own = folder(header)
        if own not in FLOORS:
            errors.append(f"{header}: folder {own} has no floor; add it to FLOORS")
            continue
        if house(header) and room(header) == -1:
            errors.append(f"{header}: is in no room of {house(header)}/, which are {', '.join(filter(None, ROOMS[house(header)]))}")
            continue
        ours, others = includes_of(root, header, text)
        graph[header], texts[header], standard[header] = ours, text, set(others)
        for target in ours:
            other = folder(target)
            if not (root / target).exists():
                errors.append(f"{header}: includes motet/{target}, which does not exist")
            elif FLOORS.get(other, 99) > FLOORS[own]:
                errors.append(f"{header} (floor {FLOORS[own]}): includes motet/{target} (floor {FLOORS.get(other, '?')}), which is higher")
            elif house(header) and house(header) == house(target) and room(target) > room(header):
                errors.append(f"{header}: includes motet/{target}, whose room comes later")
            elif other in FORBIDDEN.get(own, set()) or (sibling(target) and "backend/*" in FORBIDDEN.get(own, set())):
                errors.append(f"{header}: {own}/ may not include motet/{target}")
            elif sibling(header) == "transport" and CUDA.search(header) and sibling(target) == "cuda":
                pass  # what moves memory of GPUs knows their streams
            elif sibling(header) and sibling(target) and sibling(header) != sibling(target):
                errors.append(f"{header}: includes its sibling motet/{target}; back ends do not know each other")
            elif own == "backend" and other == "backend" and not sibling(header) and sibling(target):
                errors.append(f"{header}: what all back ends share may not include one of them, motet/{target}")
        for name in others:
            if FLOORS[own] < HEAVY_BELOW and name in HEAVY:
                errors.append(f"{header}: <{name}> is too heavy for floor {FLOORS[own]}")
            if CUDA_INCLUDE.match(name) and not CUDA.search(header):
                errors.append(f"{header}: <{name}> is there only with CUDA; headers of CUDA are those that match {CUDA.pattern}")
            if name.startswith("range/"):
                errors.append(f"{header}: no range-v3, which who only says -I include may lack: <algorithm> names loops, too")
        if "#pragma once" not in text and not header.endswith(".inc"):
            errors.append(f"{header}: no #pragma once")
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            errors.append(f"{header}: the first line is not the SPDX line")
        for name in without_question(text) if sibling(header) != "cpu" else []:
            errors.append(f"{header}: {name} says an instruction for one kind of memory; no function of that name here asks {ASKS_EMULATION}...>(place, bytes)")
        lines = text.count("\n")
        if lines > HEADER_LINES:
            errors.append(f"{header}: {lines} lines; split it (at most {HEADER_LINES})")
        stem = header.rsplit(".", 1)[0]
        if not NO_UNIT_TEST.search(header) and not any((units / (stem + suffix)).exists() for suffix in (".cpp", ".cu")):
            errors.append(f"{header}: has no unit test tests/unit/{stem}.cpp")
        if not NO_UNIT_TEST.search(header) and not any(pages.rglob(stem.split("/")[-1] + ".md")) and docs != "off":
            (errors if docs == "error" else notices).append(f"{header}: has no page {pages.name}/**/{stem.split('/')[-1]}.md")
    everywhere = set().union(*map(private_names, texts.values()))
    for program in (path for at in ("examples", "bench") for path in sorted((root.parents[1] / at).rglob("*.[ch]*")) if path.is_file()):
        text = program.read_text(encoding="utf-8")
        own = {name for name, _ in private_names(text)}
        for name in sorted({name for name, _ in everywhere} & set(SAYS_PRIVATE.findall(text)) - own):
            errors.append(f"{program.relative_to(root.parents[1]).as_posix()}: uses {name}, which is a detail of the library")
    for unit in sorted(units.rglob("*.cpp")) if units.exists() else []:
        stem = unit.relative_to(units).with_suffix("").as_posix()
        if not (root / (stem + ".hpp")).exists() and not (root / (stem + ".cuh")).exists() and folder(stem) in FLOORS:
            notices.append(f"tests/unit/{stem}.cpp: tests no header of that name")
    for header in graph:
        brought = set().union(*(standard.get(each, ()) for each in reached_from(graph, header)))
        # The body of a header includes nothing: that does it for it.
        for name, wanted in std_includes.missing(texts[header], brought) if not header.endswith(".inc") else []:
            errors.append(f"{header}: says {name}, and brings no <{wanted}>")
        for number, name, at in used_from_others(header, graph, texts):
            errors.append(f"{header}:{number}: uses {name}, which is a detail of {at.rpartition('/')[0]}/ ({at}); a name that others need has its place outside of detail")
    cycle = find_cycle(graph)
    if cycle:
        errors.append("include cycle: " + " -> ".join(cycle))
    for front in ("motet.hpp", "cuda.hpp", *FRONTS):
        if front not in graph:
            continue
        reached = reached_from(graph, front)
        for header in headers:
            wanted = bool(CUDA.search(header)) if front == "cuda.hpp" else folder(header) in FRONTS.get(front, ())
            if wanted and header.endswith(".hpp") and header not in reached:
                errors.append(f"{header}: {front} does not bring it")
            if header in reached and CUDA.search(header) and front != "cuda.hpp":
                errors.append(f"{header}: {front} brings it, and so asks for CUDA")
    # Equal file names make a port a diff.
    stems = {}
    for header in headers:
        if sibling(header):
            stems.setdefault(sibling(header), set()).add(header.split("/", 2)[2].rsplit(".", 1)[0])
    for name, own in sorted(stems.items()):
        for other, theirs in sorted(stems.items()):
            missing = sorted(theirs - own)
            if name != other and missing:
                notices.append(f"backend/{name}: has no {', '.join(missing)} (backend/{other} has)")
    return errors, notices


def main(arguments):
    docs = "notice"
    for argument in list(arguments):
        if argument.startswith("--docs="):
            docs = argument.split("=")[1]
            arguments.remove(argument)
    if len(arguments) != 1 or docs not in ("off", "notice", "error"):
        print(__doc__)
        return 2
    errors, notices = check(arguments[0], docs)
    for line in notices:
        print("notice:", line)
    for line in errors:
        print("error:", line)
    print(f"{len(errors)} errors, {len(notices)} notices")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
