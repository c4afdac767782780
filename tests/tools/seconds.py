#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a whole run of tests/run.sh costs: the seconds of each file that is compiled, each program that is linked and each test.

    seconds.py [--write] BUDGET BUILD...

Reads .ninja_log and the results (*.xml beside it, named after the build) of each build folder, and compares them with the budget, a file of lines
`<seconds> <what>`. Machines differ, and one that compiles twice as fast need not run tests twice as fast: the entries of a build folder, and its tests, are
each scaled by their own median, weighted by seconds. What is left within a third of an entry is the weather of a machine and no growth. Status 1 when the
rest, new entries included and what became cheaper taken off, is more than 10 % of the budget, or 25 % on a processor other than the budget's, which its first line names.
--write makes the budget of what was measured; entries below a fifth of a second are summed up.
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
CASE = re.compile(r'<testcase name="([^"]*)"[^>]*? time="([0-9.]+)"')


def processor():
    info = pathlib.Path("/proc/cpuinfo")
    said = dict(re.findall(r"^([^\t:]+)\s*: (.*)$", info.read_text(encoding="utf-8"), re.MULTILINE)) if info.exists() else {}
    name = ", ".join([said.get("model name", "unknown"), *(f"{what} {said[what]}" for what in ("cpu family", "model") if what in said)])
    return f"# {os.cpu_count()} cores of {name}"


def built(folder):
    last = {}
    log = folder / ".ninja_log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        if not line.startswith("#"):
            start, end, _, output, _ = line.split("\t")
            last[output] = (int(end) - int(start)) / 1000
    for output, seconds in last.items():
        named = OUTPUT.search(output)
        yield f"{folder.name}: {named.group(1)} {pathlib.PurePath(named.group(2)).name}" if named else f"{folder.name}: {pathlib.PurePath(output).name}", seconds


def tested(folder):
    for results in sorted(folder.parent.glob(f"{folder.name}*.xml")):
        for name, seconds in CASE.findall(results.read_text(encoding="utf-8", errors="replace")):
            yield f"{results.stem}: {name}", float(seconds)


def measured(folders):
    out = {}
    for folder in folders:
        for entries in (built(folder), tested(folder)):
            for what, seconds in entries:
                what = what if seconds >= SMALL else f"{folder.name}: small"
                out[what] = out.get(what, 0) + seconds
    return out


def kind_of(what):
    """Compiled files have a target before their name, tests have not."""
    part, name = what.split(": ", 1)
    return part, " " in name


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
    write = "--write" in sys.argv
    path, *folders = [pathlib.Path(each) for each in sys.argv[1:] if each != "--write"]
    found = measured(folders)
    if write:
        lines = [f"{seconds:.1f} {what}\n" for what, seconds in sorted(found.items(), key=lambda at: (-at[1], at[0]))]
        path.write_text("".join([processor() + "\n", *lines]), encoding="utf-8")
        return 0
    of, *lines = path.read_text(encoding="utf-8").splitlines()
    budget = {what: float(seconds) for seconds, what in (line.split(" ", 1) for line in lines)}
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
    return 1 if whole > allowed else 0


if __name__ == "__main__":
    sys.exit(main())
