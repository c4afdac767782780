#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Old beside new: two JSON files of one benchmark, as --benchmark_out writes them, or two programs that take turns.

  python3 bench/compare.py OLD.json NEW.json [--at-least 1.00]
  python3 bench/compare.py --turns 5 OLD_PROGRAM NEW_PROGRAM [--keep DIR] [--at-least 1.00] [flags of both programs...]

For each row: the time of old over the time of new, as the median of the pairs (repetition by repetition, turn by turn), with the least and the most. Above 1 new is faster. Where a row has a
peer, also what its `ratio` has become: ours over the peer was measured within one run, so a machine that is slower today changes both alike. Ends with the medians over all rows, and with status 1
when that of the times is below --at-least. Files of runs that were not taken in turns compare two moments of a machine as well: believe the second column there."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def rows_of(files):
    """What was measured under each name, in the order in which it was: [(seconds, ratio or None)]."""
    rows = {}
    for file in files:
        for row in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["benchmarks"]:
            if row.get("run_type", "iteration") != "iteration":
                continue  # means and medians of what stands there, too
            if row.get("error_occurred"):
                sys.exit(f"{file}: {row['name']} failed: {row.get('error_message')}")
            seconds = row["real_time"] * SECONDS[row["time_unit"]]
            rows.setdefault(row["name"].replace("/manual_time", ""), []).append((seconds, row.get("ratio")))
    return rows


def in_turns(programs, turns, keep, flags):
    """Runs both programs so many times, each first in every other turn, and says where their files are."""
    files = [[], []]
    for turn in range(turns):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            file = keep / f"{('old', 'new')[which]}-{turn}.json"
            done = subprocess.run([programs[which], f"--benchmark_out={file}", "--benchmark_out_format=json", *flags], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode != 0 or not file.exists():
                sys.exit(f"{programs[which]} ended with status {done.returncode}: {done.stderr}")
            files[which].append(file)
    return files


def spread(values):
    return f"{statistics.median(values):6.3f}  {min(values):6.3f} to {max(values):6.3f}" if values else ""


def in_words(seconds):
    return next(f"{seconds / scale:.4g} {unit}" for unit, scale in reversed(SECONDS.items()) if seconds >= scale or unit == "ns")


def compare(old, new):
    """Prints the table; returns the medians of the rows: old time / new time, and new ratio / old ratio."""
    common = [name for name in old if name in new]
    width = max([len(name) for name in common], default=4)
    print(f"{'':{width}}  pairs  {'old':>10}  {'new':>10}  old / new             beside the peer")
    faster, beside = [], []
    for name in common:
        pairs = list(zip(old[name], new[name]))
        times = [was[0] / now[0] for was, now in pairs]
        ratios = [now[1] / was[1] for was, now in pairs if was[1] and now[1]]
        print(f"{name:{width}}  {len(pairs):5}  {in_words(statistics.median(p[0][0] for p in pairs)):>10}  "
              f"{in_words(statistics.median(p[1][0] for p in pairs)):>10}  {spread(times)}  {spread(ratios)}".rstrip())
        faster.append(statistics.median(times))
        if ratios:
            beside.append(statistics.median(ratios))
    for name in sorted(old.keys() ^ new.keys()):
        print(f"{name}: only {'old' if name in old else 'new'}")
    return faster, beside


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--turns", type=int, default=0, help="OLD and NEW are programs: run each so many times, in turns")
    parser.add_argument("--keep", type=pathlib.Path, help="the folder for the files of --turns")
    parser.add_argument("--at-least", type=float, default=0, help="fail when the median over the rows is below")
    asked, flags = parser.parse_known_args()
    if flags and not asked.turns:
        parser.error(f"only programs that take --turns have flags: {' '.join(flags)}")
    with tempfile.TemporaryDirectory() as scratch:
        files = [[asked.old], [asked.new]]
        if asked.turns:
            keep = asked.keep or pathlib.Path(scratch)
            keep.mkdir(parents=True, exist_ok=True)
            files = in_turns((asked.old, asked.new), asked.turns, keep, flags)
        old, new = rows_of(files[0]), rows_of(files[1])
    faster, beside = compare(old, new)
    if not faster:
        print("nothing in common", file=sys.stderr)
        return 2
    print(f"median of {len(faster)} rows: old / new {spread(faster)}")
    if beside:
        print(f"median of {len(beside)} rows with a peer: {spread(beside)}")
    return 1 if statistics.median(faster) < asked.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
