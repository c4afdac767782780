#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a whole run of tests/run.sh costs: the seconds of each file that is compiled, each program that is linked and each test.

    seconds.py [--write] BUDGET BUILD...

Reads .ninja_log and the results (*.xml beside it, named after the build) of each build folder, and compares them with the budget, a file of lines
`<seconds> <what>`. Machines differ, so the budget is scaled by the median, weighted by seconds, of what entries took against it. Status 1 when the whole,
new entries included, takes more than 10 % above the scaled budget. --write makes the budget of what was measured; entries below a fifth of a second are
summed up.
"""
import pathlib
import re
import sys

SMALL = 0.2
ALLOWED = 1.10
COMPARED = 2.0  # seconds in the budget from which an entry tells how fast a machine is
OUTPUT = re.compile(r"(?:^|/)(?:CMakeFiles/)?([^/]+)\.dir/(.+)\.o$")
CASE = re.compile(r'<testcase name="([^"]*)"[^>]*? time="([0-9.]+)"')


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


def growth(found, budget):
    """The whole against the budget, and the machine's time against the budget's."""
    shared = sorted((found[what] / budget[what], budget[what]) for what in found if budget.get(what, 0) >= COMPARED)
    if not shared:
        return None, None
    half = sum(weight for _, weight in shared) / 2
    for machine, weight in shared:
        half -= weight
        if half <= 0:
            break
    return sum(found.values()) / (machine * sum(budget.values())), machine


def main():
    write = "--write" in sys.argv
    path, *folders = [pathlib.Path(each) for each in sys.argv[1:] if each != "--write"]
    found = measured(folders)
    if write:
        path.write_text("".join(f"{seconds:.1f} {what}\n" for what, seconds in sorted(found.items(), key=lambda at: (-at[1], at[0]))), encoding="utf-8")
        return 0
    budget = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        seconds, what = line.split(" ", 1)
        budget[what] = float(seconds)
    whole, machine = growth(found, budget)
    if whole is None:
        print("nothing of the budget was measured")
        return 1
    print(f"{sum(found.values()):.0f} s of one core, budget {sum(budget.values()):.0f} s; this machine takes {machine:.2f} times as long: {100 * whole:.0f} % of it")
    grown = sorted(((found[what] / machine - budget.get(what, 0), what) for what in found), reverse=True)
    if whole > ALLOWED:
        print("What grew most, in seconds of the budget's machine; mend it, or say why and change the budget by seconds.py --write:")
        for more, what in grown[:12]:
            print(f"  {more:+7.1f} {what}" + ("" if what in budget else "  (new)"))
    return 1 if whole > ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
