#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs whose data come from producers, which are killed at drawn moments, join late, or are others after a resume: the losses are those of the run without, to the bit.

    producers.py PROGRAMS SCRATCH
"""
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

programs, here = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
shutil.rmtree(here, ignore_errors=True)
here.mkdir(parents=True)
os.chdir(here)
draws = random.Random(17)
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what)


def start(name, *words, **more):
    return subprocess.Popen([str(programs / name), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def end(process, wanted=0):
    said, _ = process.communicate(timeout=120)
    check(process.returncode == wanted, f"status {process.returncode} instead of {wanted}: {' '.join(process.args)}\n{said}")
    return said


def losses(name):
    lines = [json.loads(line) for line in open(name, encoding="utf-8")]
    return [(line["step"], line["loss"], line["gradient_norm"]) for line in lines if "loss" in line]


def children(of):
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((each / "stat").read_text().rsplit(")", 1)[1].split()[1]) == of and b"--produce" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
        except OSError:
            pass
    return sorted(found)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


end(start("make_shapes", "--output", "shapes", "--count", 240, "--task", "captions", "--format", "ppm", "--quiet"))
end(start("make_shapes", "--output", "others", "--count", 260, "--task", "captions", "--format", "ppm", "--quiet"))
steps = 40
run = ["--data", "shapes", "--model", "say-quick", "--batch", 8, "--rows", 500, "--threads", 1, "--seed", 3, "--no-report"]


def train(metrics, *words):
    return start("train_vlm", *run, "--metrics", metrics, *words)


end(train("none.jsonl", "--steps", steps))
wanted = losses("none.jsonl")
check(len(wanted) == steps, "not one line for each step")

# ---- producers that this run starts, of which one is killed again and again ----
training = train("killed.jsonl", "--steps", steps, "--producers", 2, "--checkpoint", "saved", "--save-every", 15, "--keep", 0)
killed = 0
while training.poll() is None:
    time.sleep(draws.uniform(0.05, 0.4))
    alive = children(training.pid)
    if alive and training.poll() is None:
        kill(draws.choice(alive))
        killed += 1
said = end(training)
check(losses("killed.jsonl") == wanted, f"other losses after {killed} kills of producers\n{said}")
check(killed >= 3, f"{killed} kills")
check("is lost, its steps are asked for elsewhere" in said, f"nothing is said of the producers that were killed\n{said}")
check("data by producers: 2 on this machine" in said and " queue " in said, f"producers are not told\n{said}")
made = [json.loads(line) for line in open("killed.jsonl", encoding="utf-8")][-1]["producers"]
check(len(made) == 2 and sum(each["steps"] for each in made) >= steps, f"who made how much: {made}")
check('"queue"' in open("killed.jsonl", encoding="utf-8").read(), "the queue is not written")
gone = [each for each in children(training.pid)]
check(not gone, f"producers outlive their run: {gone}")

# A run that is killed takes its producers along.
training = train("dead.jsonl", "--steps", 100000, "--producers", 2)
while len(children(training.pid)) < 2 and training.poll() is None:
    time.sleep(0.05)
left = children(training.pid)
kill(training.pid)
training.wait()
until = time.time() + 10
while time.time() < until and any(pathlib.Path(f"/proc/{each}").exists() and "Z" not in pathlib.Path(f"/proc/{each}/stat").read_text().split()[2] for each in left):
    time.sleep(0.1)
check(not any(pathlib.Path(f"/proc/{each}/cmdline").exists() and pathlib.Path(f"/proc/{each}/cmdline").read_bytes() for each in left), "producers outlive a run that was killed")

# ---- producers apart: one joins late, and then the first one is killed ----
def produce(port=0, data="shapes"):
    """A producer and where it listens: anywhere that is free, unless that was told to somebody before."""
    made = start("produce", "--data", data, "--listen", f"127.0.0.1:{port}")
    said = made.stdout.readline()
    check("listens at 127.0.0.1:" in said, f"a producer does not listen: {said}")
    return made, said.split()[-1]


first, there = produce()
later = free_port()
addresses = f"{there},127.0.0.1:{later}"
training = train("late.jsonl", "--steps", steps, "--producers", addresses)
lines = []
second = None
for line in training.stdout:
    lines.append(line)
    if line.startswith(f"step 10/{steps}"):
        second, _ = produce(later)
    if "joins" in line:
        kill(first.pid)
training.wait(timeout=100)
said = "".join(lines)
check(training.returncode == 0, f"status {training.returncode} of a run with producers apart\n{said}")
check(losses("late.jsonl") == wanted, f"other losses with a producer that joined\n{said}")
check("joins" in said and "is lost" in said, f"who joined and who was lost is not told\n{said}")
first.wait()

# ---- gone on with, and by another number ----
shutil.copytree("saved/step-000015", "from/step-000015")
end(train("rest.jsonl", "--steps", steps, "--checkpoint", "from", "--resume", "--producers", f"127.0.0.1:{later}"))
check(losses("rest.jsonl") == wanted[15:], "a run gone on with by another producer has other losses")
second.send_signal(signal.SIGTERM)
end(second)

# ---- samples that wait, in the steps of producers apart, of which one is killed within a window ----
waits = ["--data", "shapes", "--model", "say-quick", "--batch", 8, "--threads", 1, "--seed", 3, "--no-report", "--line-every", 1, "--plan", "data-2", "--defer", 3, "--steps", 24]
end(start("train_vlm", *waits, "--metrics", "waits.jsonl"))
first, there = produce()
second, other = produce()
training = start("train_vlm", *waits, "--metrics", "waited.jsonl", "--producers", f"{there},{other}")
lines = []
for line in training.stdout:
    lines.append(line)
    if line.startswith("step 4/24"):
        kill(first.pid)
training.wait(timeout=100)
said = "".join(lines)
check(training.returncode == 0 and "is lost" in said, f"status {training.returncode} of a run in which samples wait and a producer is killed\n{said}")
check(len(losses("waits.jsonl")) == 24 and losses("waited.jsonl") == losses("waits.jsonl"), f"other losses where samples wait and a producer is killed\n{said}")
first.wait()
second.send_signal(signal.SIGTERM)
end(second)

# ---- pairs ----
pairs = ["--data", "shapes", "--model", "quick", "--batch", 16, "--steps", 8, "--threads", 1, "--no-report"]
end(start("train_clip", *pairs, "--metrics", "pairs.jsonl"))
end(start("train_clip", *pairs, "--metrics", "produced.jsonl", "--producers", 2))
check(losses("produced.jsonl") == losses("pairs.jsonl"), "other losses of pairs")

# ---- what is refused ----
other, there = produce(data="others")
said = end(train("no.jsonl", "--steps", 2, "--producers", there), 3)
check("MT-D22" in said and "has another samples: got" in said, f"a producer of other data is not refused\n{said}")
other.kill()
other.wait()
for words, status, what in (("0", 2, "--producers 0, wanted 1"), ("here", 3, "wanted HOST:PORT")):
    said = end(train("no.jsonl", "--steps", 2, "--producers", words), status)
    check(what in said, f"--producers {words}: {said}")
said = end(start("produce"), 2)
check("--data" in said, said)
said = end(start("train_clip", "--data", "random", "--model", "quick", "--steps", 1, "--producers", 1), 2)
check("which nobody prepares" in said, said)

print("producers:", "all is well" if failures == 0 else f"{failures} failures")
sys.exit(failures != 0)
