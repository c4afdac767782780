#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an order of samples gains on a clock, beside what the simulation says: train_vlm with --reorder none and all steps over the same skewed batches
in turns, one step of each. Some samples have two pictures, the others none; the eye, its glue and the language model are on the ranks of --plan.
  python3 bench/reorder.py build/release/bin/train_vlm
Each rank is one thread with a core of its own: four replicas where there are four cores, else two. With --plan data-4 --ranks 4 on two cores threads take
turns, and the clock shows the sum of all work, which no order changes: then `busiest` is compared with the simulation instead (`by`). Both programs are
started up to --repeats times, as long as --seconds allow, and see the same batches each time. Ends with one JSON line, and the same in words on standard
error: of each batch the least time counts, since others on the machine only add to it; `measured` is the sum of these as listed over that in order,
`simulated` what the program says of its own orders, `off` how far the first is from the second, and `holds` whether that is within --most; `pairs` are the
quartiles of neighbouring steps. Where others take the processors (`load`), `busiest` is the same ratio of the processor seconds of the busiest rank, which
is what replicas wait for (of a pipeline it says nothing)."""
import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
from alternate import Paced, machine_name


learning = 8


class Ranked(Paced):
    """Knows what each step took the busiest of its threads, in processor seconds: no other does as much as the busiest rank."""

    def used(self):
        spent = {}
        for thread in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                spent[thread.name] = int((thread / "schedstat").read_text().split()[0]) * 1e-9
            except OSError:  # it ended meanwhile
                pass
        return spent

    def step(self):
        before = self.used()
        seconds = super().step()
        return seconds, max(now - before.get(thread, 0.0) for thread, now in self.used().items())


def write_samples(folder, count, share, side):
    """`share` of the samples are told about two pictures, the others are words alone."""
    draws = random.Random(1)
    for k in range(8):
        pixels = bytes(draws.randrange(256) for _ in range(3 * side * side))
        (folder / f"{k}.ppm").write_bytes(b"P6\n%d %d\n255\n" % (side, side) + pixels)
    words = ["red", "blue", "green", "small", "large", "circle", "square", "left", "right", "above"]
    lines = []
    for k in range(count):
        shown = draws.random() < share
        said = " ".join(draws.choice(words) for _ in range(8 if shown else draws.randrange(4, 40)))
        sample = {"id": str(k), "conversations": [{"from": "human", "value": "<image><image> what?" if shown else "say"}, {"from": "gpt", "value": said}]}
        if shown:
            sample["image"] = [f"{draws.randrange(8)}.ppm", f"{draws.randrange(8)}.ppm"]
        lines.append(json.dumps(sample))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def step_in_turns(listed, ordered, steps, until):
    pairs = []
    for turn in range(steps):
        if time.monotonic() > until:
            break
        if turn % 2 == 0:
            a, b = listed.step(), ordered.step()
        else:
            b, a = ordered.step(), listed.step()
        pairs.append((a, b))
    return pairs


def main():
    began = time.monotonic()
    cores = 4 if len(os.sched_getaffinity(0)) >= 4 else 2
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="train_vlm, with the model say-quick")
    parser.add_argument("--plan", default=f"data-{cores}")
    parser.add_argument("--ranks", type=int, default=cores, help="of the plan")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.3, help="of samples that have pictures")
    parser.add_argument("--order", default="all", choices=["ranks", "slots", "all", "modules"])
    parser.add_argument("--seconds", type=float, default=200, help="in which all is measured")
    parser.add_argument("--most", type=float, default=0.05, help="that the clock may be off the simulation")
    given = parser.parse_args()
    if given.steps <= learning:
        sys.exit(f"reorder: --steps {given.steps}, wanted more than {learning}: costs are measured in the first ones")
    until, load = began + given.seconds, os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        write_samples(folder, 16 * given.batch, given.share, 64)
        command = [given.program, "--data", made, "--model", "say-quick", "--batch", str(given.batch), "--threads", "1", "--plan", given.plan, "--paced"]
        rounds, told = [], []
        for _ in range(given.repeats):
            listed, ordered = Ranked(command), Ranked([*command, "--reorder", given.order])
            pairs = step_in_turns(listed, ordered, given.steps, until)
            listed.finish()
            said = ordered.finish()
            # Part of a round counts where there is no other.
            if len(pairs) == given.steps or (not rounds and len(pairs) > learning):
                told.append(said)
                # Costs are measured in the first steps.
                rounds.append(pairs[learning:])
            if time.monotonic() > until:
                break
        if not rounds:
            sys.exit(f"reorder: {len(pairs)} pairs of steps in {given.seconds:g} s, wanted more than {learning}: --seconds or a smaller --batch")

    def gain(clock):
        least = [[min(each[k][clock] for each in of_batch) for k in (0, 1)] for of_batch in zip(*rounds)]
        return sum(a for a, _ in least) / sum(b for _, b in least)

    ratios = [a[0] / b[0] for pairs in rounds for a, b in pairs]

    def mean(name):
        return statistics.fmean(each[name] for each in told)

    measured, busiest, simulated = gain(0), gain(1), mean("reordered")
    # Where ranks take turns on a core the clock shows no order.
    by_clock = given.ranks <= len(os.sched_getaffinity(0))
    off = (measured if by_clock else busiest) / simulated - 1
    print(json.dumps({
        "plan": given.plan, "batch": given.batch, "steps": len(rounds[0]), "repeats": len(rounds), "order": given.order, "load": round(load, 2),
        "measured": round(measured, 3), "simulated": round(simulated, 3), "by": "clock" if by_clock else "busiest",
        "off": round(off, 3), "holds": abs(off) <= given.most,
        "pairs": [round(each, 3) for each in statistics.quantiles(ratios, n=4)], "busiest": round(busiest, 3),
        "step_seconds": round(statistics.median(b[0] for pairs in rounds for _, b in pairs), 4), "search_seconds": round(mean("reorder_seconds"), 5),
        "wait_seconds": round(mean("reorder_wait"), 6), "machine": machine_name("cpu")}))
    said = f"a step as listed takes {measured:.3f} times as long as in order by the clock"
    if not by_clock:
        said = f"ranks take turns; the busiest of {given.ranks} computes {busiest:.3f} times as long in a step as listed as in order"
    print(f"{given.plan}: {said}, {simulated:.3f} times by the simulation; off by {100 * off:+.1f} %, wanted {100 * given.most:g} % at most", file=sys.stderr)


if __name__ == "__main__":
    main()
