#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a whole run of tests/run.sh costs: the seconds of a core of each file that is compiled and each program that is linked, and of each test by the clock.

    seconds.py [--write] BUDGET BUILD...
    seconds.py --phases FILE BUILD

Reads what core_seconds.sh wrote and the results (*.xml beside it, named after the build) of each build folder, and compares them with the budget, a file of lines
`<seconds> <what>`. Machines differ, and one that compiles twice as fast need not run tests twice as fast: the entries of a build folder, and its tests, are
each scaled by their own median, weighted by seconds. What is left within a third of an entry is the weather of a machine and no growth. Status 1 when the
rest, new entries included and what became cheaper taken off, is more than 10 % of the budget, or 25 % on a processor other than the budget's, which its first line names.
A part of the budget, as release or cuda is one, counts where that part was built. Status 1 as well when the budget has a name that is no more; where other
libraries were found than the second line names, some may be missing, so there they are not asked for.
--write makes the budget of what was measured; entries below a fifth of a second are summed up.

--phases prints where the time of a run went, for whoever wants it shorter: of each phase from when to when it went, as some go beside others, what its
processes computed, and what took longest; and of all what share of the processors' time nothing did. FILE has a line for each phase, which tests/run.sh writes: `begin end computed build|tests name
parts...`, times in seconds, parts being folders of BUILD.
"""
import os
import pathlib
import re
import sys

SMALL = 0.2
ALLOWED = 1.10
ALLOWED_ELSEWHERE = 1.25
WEATHER = 1 / 3  # of an entry's seconds
COMPARED = 2.0  # seconds in the budget from which an entry tells how fast a machine is
ENOUGH = 5  # entries of a kind that tell how fast a machine is at it
OUTPUT = re.compile(r"(?:^|/)(?:CMakeFiles/)?([^/]+)\.dir/(.+)\.o$")
TIMES = re.compile(r"(\d+)m([\d.]+)s")
LIBRARY = re.compile(r"-DMOTET_HAS_([A-Z]+)=1")
CASE = re.compile(r'<testcase name="([^"]*)"[^>]*? time="([0-9.]+)"')


def processor():
    info = pathlib.Path("/proc/cpuinfo")
    said = dict(re.findall(r"^([^\t:]+)\s*: (.*)$", info.read_text(encoding="utf-8"), re.MULTILINE)) if info.exists() else {}
    name = ", ".join([said.get("model name", "unknown"), *(f"{what} {said[what]}" for what in ("cpu family", "model") if what in said)])
    return f"# {os.cpu_count()} cores of {name}"


def built(folder, begin=0, end=float("inf")):
    """What was made, and the seconds of it; of that which is as old as this, by the clock."""
    for told in sorted(folder.rglob("*.seconds")):
        if begin <= told.stat().st_mtime <= end:
            children = told.read_text(encoding="utf-8").splitlines()[1]
            seconds = sum(60 * float(minutes) + float(rest) for minutes, rest in TIMES.findall(children))
            output = told.relative_to(folder).with_suffix("")
            named = OUTPUT.search(output.as_posix())
            yield f"{folder.name}: {named.group(1)} {pathlib.PurePath(named.group(2)).name}" if named else f"{folder.name}: {output.name}", seconds


def tested(folder):
    for results in sorted(folder.parent.glob(f"{folder.name}*.xml")):
        for name, seconds in CASE.findall(results.read_text(encoding="utf-8", errors="replace")):
            yield f"{results.stem}: {name}", float(seconds)


def entries(folders):
    for folder in folders:
        yield from built(folder)
        yield from tested(folder)


def measured(folders):
    out = {}
    for what, seconds in entries(folders):
        what = what if seconds >= SMALL else small(part_of(what))
        out[what] = out.get(what, 0) + seconds
    return out


def small(part):
    return f"{part}: small"


def part_of(what):
    return what.split(":", 1)[0]


def libraries(folders):
    """What decides which files and tests there are, as the budget's second line has it."""
    found = set()
    for folder in folders:
        ninja = folder / "build.ninja"
        for line in ninja.read_text(encoding="utf-8").splitlines() if ninja.exists() else []:
            if line.startswith("  DEFINES = "):
                found |= set(LIBRARY.findall(line))
        cache = folder / "CMakeCache.txt"
        if cache.exists() and re.search(r"^MOTET_GPU_TESTS:[A-Z]+=ON$", cache.read_text(encoding="utf-8"), re.MULTILINE):
            found.add("GPU")  # there each test of one is a program
    return "# with " + " ".join(sorted(found) or ["nothing"])


def gone(folders, budget):
    """Names of the budget that are no more; none of a part that was not built."""
    there = {what for what, _ in entries(folders)}
    parts = {part_of(what) for what in there}
    return sorted(what for what in budget if part_of(what) in parts and what not in there and what != small(part_of(what)))


def kind_of(what):
    """Compiled files have a target before their name, tests have not."""
    part, name = what.split(": ", 1)
    return part, " " in name


def phases(lines, build):
    """Of each phase when it began and ended, seconds computed, its name, and the longest five of (seconds, name)."""
    for line in lines:
        begin, end, computed, kind, name, *parts = line.split()
        found = []
        for part in parts:
            found += built(build / part, float(begin) - 1, float(end) + 1) if kind == "build" else tested(build / part)
        longest = sorted(((seconds, what.split(": ", 1)[1]) for what, seconds in found), reverse=True)[:5]
        yield float(begin), float(end), float(computed), f"{name} {kind}", longest


def show_phases(path, build):
    cores = os.cpu_count()
    rows = list(phases(path.read_text(encoding="utf-8").splitlines(), build))
    first = min(row[0] for row in rows)
    print(f"{'':24}{'from':>7}{'to':>7}{'of cores':>10}  longest")
    for begin, end, computed, name, longest in rows:
        print(f"{name:24}{begin - first:7.0f}{end - first:7.0f}{computed:10.0f}" + "".join(f"  {seconds:.0f} {what}" for seconds, what in longest[:1]))
        for seconds, what in longest[1:]:
            print(f"{'':50}{seconds:.0f} {what}")
    took, computed = max(row[1] for row in rows) - first, sum(row[2] for row in rows)
    print(f"{'all of these':24}{0:7.0f}{took:7.0f}{computed:10.0f}  {100 * max(0, 1 - computed / (took * cores) if took else 0):.0f} % of {cores} cores idle")
    return 0


def median(pairs):
    """Of (value, weight)."""
    half = sum(weight for _, weight in pairs) / 2
    for value, weight in sorted(pairs):
        half -= weight
        if half <= 0:
            return value


def growth(found, budget):
    """The whole against the budget, the machine's time against the budget's, and what each entry grew by, in seconds of the budget's machine."""
    shared = {}
    for what in found:
        if budget.get(what, 0) >= COMPARED:
            shared.setdefault(kind_of(what), []).append((found[what] / budget[what], budget[what]))
    if not shared:
        return None, None, {}
    machine = median([each for pairs in shared.values() for each in pairs])
    grown = {}
    for what in found.keys() | budget.keys():
        pairs = shared.get(kind_of(what), [])
        before = budget.get(what, 0)
        change = found.get(what, 0) / (median(pairs) if len(pairs) >= ENOUGH else machine) - before
        weather = before * WEATHER
        grown[what] = 0 if abs(change) <= weather else change - weather if change > 0 else change + weather
    return 1 + sum(grown.values()) / sum(budget.values()), machine, grown


def main():
    if sys.argv[1:2] == ["--phases"]:
        return show_phases(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    write = "--write" in sys.argv
    path, *folders = [pathlib.Path(each) for each in sys.argv[1:] if each != "--write"]
    found = measured(folders)
    if write:
        lines = [f"{seconds:.1f} {what}\n" for what, seconds in sorted(found.items(), key=lambda at: (-at[1], at[0]))]
        path.write_text("".join([processor() + "\n", libraries(folders) + "\n", *lines]), encoding="utf-8")
        return 0
    of, made_with, *lines = path.read_text(encoding="utf-8").splitlines()
    budget = {what: float(seconds) for seconds, what in (line.split(" ", 1) for line in lines)}
    parts = {part_of(what) for what in found}
    budget = {what: seconds for what, seconds in budget.items() if part_of(what) in parts}
    whole, machine, grown = growth(found, budget)
    if whole is None:
        print("nothing of the budget was measured")
        return 1
    allowed = ALLOWED if of == processor() else ALLOWED_ELSEWHERE
    print(
        f"{sum(found.values()):.0f} s of one core, budget {sum(budget.values()):.0f} s; this machine takes {machine:.2f} times as long: "
        f"{100 * whole:.0f} % of it, {100 * allowed:.0f} % allowed"
    )
    if whole > 1 + (allowed - 1) / 2:
        print("What grew most, in seconds of the budget's machine; mend it, or say why and change the budget by seconds.py --write:")
        for more, what in sorted(((more, what) for what, more in grown.items()), reverse=True)[:12]:
            print(f"  {more:+7.1f} {what}" + ("" if what in budget else "  (new)"))
    stale = gone(folders, budget)
    if stale and libraries(folders) != made_with:
        print(f"{len(stale)} names of the budget are not here, which was made {made_with[2:]}; here it is {libraries(folders)[2:]}")
        stale = []
    if stale:
        print("Names of the budget that are no more; seconds.py --write makes it anew, or these lines go:")
        print("".join(f"  {what}\n" for what in stale), end="")
    return 1 if whole > allowed or stale else 0


if __name__ == "__main__":
    sys.exit(main())
