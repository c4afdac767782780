#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What filling gaps and lanes of their own gain on a clock, beside what the simulation says: train_vlm by several plans over the same samples in turns,
one step of each. The plans have the same stages on the same two ranks of one thread each.
  python3 bench/filled_run.py build/release/bin/train_vlm                                  filled and filled-lane beside the plan without either
  python3 bench/filled_run.py build/release/bin/train_vlm --against OTHER/bin/train_vlm    every plan of --plans by two builds: what one lane pays for several
  python3 bench/filled_run.py build/release/bin/train_vlm --record docs/schedule/filled_run.svg    and a step of the filled plan, as simulated and as run
Ends with a line of words and one of JSON. `measured` is the median over rounds of a plan's step over that of the first plan in the same round, with
quartiles; `simulated` the same ratio of steps that are simulated with the times that the stages took in each plan's own last steps; `points` their
difference in hundredths. Where others take the processors, ranks that should compute at once take turns: only a quiet machine with two of them tells."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
from alternate import Paced, machine_name


def quartiles(ratios):
    return statistics.quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios


def turns(runs, rounds, seconds):
    """The seconds of each run's steps, round by round; each round begins with another run, as who comes first may find colder caches."""
    took = [[] for _ in runs]
    until = time.monotonic() + seconds
    for round_ in range(rounds):
        for k in range(len(runs)):
            which = (k + round_) % len(runs)
            took[which].append(runs[which].step())
        if time.monotonic() > until:
            break
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="train_vlm with the model that --model names")
    parser.add_argument("--model", default="say-small")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--plans", default="beside,filled,filled-lane", help="the first is what the others are compared with")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=180, help="after which no round begins")
    parser.add_argument("--data", default="random")
    parser.add_argument("--against", help="another build of the program, for the same plans")
    parser.add_argument("--record", help="FILE.svg: a step of the second plan")
    given = parser.parse_args()
    plans = given.plans.split(",")

    def command(program, plan):
        return [program, "--data", given.data, "--model", given.model, "--batch", str(given.batch), "--threads", "1", "--plan", plan]

    which = [(program, plan) for plan in plans for program in ([given.against] if given.against else []) + [given.program]]
    runs = [Paced([*command(*each), "--paced"]) for each in which]
    took = turns(runs, given.rounds, given.seconds)
    told = [each.finish() for each in runs]
    rows = []
    for k, (program, plan) in enumerate(which):
        base = k - 1 if given.against else 0
        if k == base or (given.against and k % 2 == 0):
            continue
        low, middle, high = quartiles([own / other for own, other in zip(took[k], took[base])])
        row = {"plan": plan, "seconds": round(statistics.median(took[k]), 6), "over": "the other build" if given.against else plans[0],
               "over_seconds": round(statistics.median(took[base]), 6), "measured": round(middle, 4), "quartiles": [round(low, 4), round(high, 4)]}
        if not given.against:
            simulated = told[k]["simulated_seconds"] / told[base]["simulated_seconds"]
            row |= {"simulated": round(simulated, 4), "simulated_seconds": round(told[k]["simulated_seconds"], 6), "points": round(100 * (middle - simulated), 2)}
        rows.append(row)
    if given.record:
        # A file of few steps, of which the last is drawn.
        subprocess.run([*command(given.program, plans[1]), "--steps", "4", "--no-report", "--record", given.record], check=True, stdout=subprocess.DEVNULL)
    print("; ".join(f"{row['plan']} {row['measured']:.3f} of {row['over']}" + (f", simulated {row['simulated']:.3f}, {row['points']:+.1f} points" if "points" in row else "")
                    for row in rows))
    print(json.dumps({"bench": "filled_run", "model": given.model, "batch": given.batch, "rounds": len(took[0]), "plans": rows, "machine": machine_name("cpu")}))


main()
