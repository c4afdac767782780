#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of several processes of MPI whose data come from two producers: the losses are those of the run that prepares its data itself, to the bit, and each process gets the pictures that its ranks look at.

    produced_ranks.py PROGRAMS SCRATCH
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

programs, here = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
shutil.rmtree(here, ignore_errors=True)
here.mkdir(parents=True)
os.chdir(here)
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what)


def start(*words):
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process):
    said, _ = process.communicate(timeout=300)
    check(process.returncode == 0, f"status {process.returncode}: {' '.join(process.args)}\n{said}")
    return said


def computed(process):
    """Seconds of a processor."""
    told = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def lines(name):
    return [json.loads(line) for line in open(name, encoding="utf-8")]


def losses(name):
    return [(line["step"], line["loss"], line["gradient_norm"]) for line in lines(name) if "loss" in line]


if shutil.which("mpirun") is None:
    print("mpirun is missing (Debian: openmpi-bin)")
    sys.exit(77)
os.environ.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

end(start(programs / "make_shapes", "--output", "shapes", "--count", 120, "--task", "captions", "--format", "ppm", "--quiet"))
steps = 8
run = ["--data", "shapes", "--model", "say-quick", "--batch", 8, "--threads", 1, "--seed", 3, "--steps", steps, "--no-report"]


def train(plan, metrics, *words):
    return end(start("mpirun", "-n", 2, programs / "train_vlm", *run, "--plan", plan, "--metrics", metrics, *words))


# Each takes a port that is free, and says which.
made, addresses = [], []
for _ in range(2):
    each = start(programs / "produce", "--data", "shapes", "--listen", "127.0.0.1:0")
    told = re.search(r"listens at (\S+)", each.stdout.readline())
    check(told is not None, "a producer does not say where it listens")
    made.append(each)
    addresses.append(told.group(1) if told else "127.0.0.1:1")


def bytes_of_pictures(metrics):
    by = lines(metrics)[-1]["producers"]
    return sum(each["picture_bytes"] for each in by), sum(each["steps"] for each in by)


per_step = {}
for plan, words in (("data-2", ()), ("apart", ()), ("data-2", ("--reorder", "all"))):
    name = plan + "".join(words).replace("--", "-")
    train(plan, name + ".jsonl", *words, "--producers", ",".join(addresses))
    check(len(losses(name + ".jsonl")) == steps, f"{name}: not one line for each step")
    if not words:
        train(plan, name + "-plain.jsonl")
        check(losses(name + ".jsonl") == losses(name + "-plain.jsonl"), f"other losses by producers, {name}")
    else:
        # Orders follow the clock, and sums the order.
        for (_, got, _), (_, wanted, _) in zip(losses(name + ".jsonl"), losses(plan + "-plain.jsonl")):
            check(abs(got - wanted) <= 1e-4 * abs(wanted), f"{name}: loss {got}, wanted {wanted}")
    got, count = bytes_of_pictures(name + ".jsonl")
    check(count >= steps and got > 0, f"{name}: {count} steps, {got} bytes of pictures")
    per_step[name] = got / count

print("bytes of pictures a step, for the first process:", per_step)
# A sample may have several pictures, so halves of a step are about as large.
# A process with an eye alone looks at all pictures.
half, ordered, whole = per_step["data-2"], per_step["data-2-reorderall"], per_step["apart"]
check(0.3 < half / whole < 0.7, "a process that looks at half of the samples gets other than half of the pictures")
check(0.3 < ordered / whole < 0.7, "where samples are put in order, it gets other than half of them")

# A producer that nobody asks sleeps, also once ranks have left it.
before = [computed(each) for each in made]
time.sleep(0.4)
idle = [computed(each) - was for each, was in zip(made, before)]
check(all(each <= 0.03 for each in idle), f"producers that nobody asks compute {idle} of 0.4 seconds")
for each in made:
    each.send_signal(signal.SIGTERM)
    end(each)
print("produced ranks:", "all is well" if failures == 0 else f"{failures} failures")
sys.exit(failures != 0)
