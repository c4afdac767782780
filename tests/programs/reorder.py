# SPDX-License-Identifier: Apache-2.0
"""reorder.py PROGRAMS SCRATCH: orders of samples that are as told, the same each time, never longer than as listed nor shorter than the bound; refusals."""
import json
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

programs = pathlib.Path(sys.argv[1]).resolve()
scratch = pathlib.Path(sys.argv[2]).resolve()
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
failed = checks = 0


def wanted(what, holds, said=""):
    global failed, checks
    checks += 1
    if not holds:
        failed += 1
        print(f"FAILED: {what}: {said}")


def reorder(*words):
    return subprocess.run([str(programs / "reorder"), *map(str, words)], capture_output=True, text=True, check=False, cwd=scratch, timeout=120)


draw = random.Random(5)
costs = [(f"s{k}", round(draw.lognormvariate(0, 0.6), 4), round(draw.lognormvariate(0, 0.6), 4)) for k in range(48)]
(scratch / "step.csv").write_text("sample,pictures,generator\n" + "".join(f"{name},{a},{b}\n" for name, a, b in costs))
(scratch / "plain.csv").write_text("encoder\n" + "".join(f"{a}\n" for _, a, _ in costs))
(scratch / "wrong.csv").write_text("sample,pictures\na,1\nb,two\n")
(scratch / "other.csv").write_text("sample,picturs\na,1\n")


def played(stages, microbatches):
    """1F1B by hand: seconds of a replica whose microbatches have these sums of the encoder's and the generator's costs and these samples."""
    times = [[(a if s == 0 else 0) + (b if s == stages - 1 else 0) + (n / (stages - 2) if 0 < s < stages - 1 else 0) for a, b, n in microbatches] for s in range(stages)]
    ends = {}
    count = len(microbatches)
    tasks = [[("F", m) for m in range(min(stages - 1 - s, count))] for s in range(stages)]
    for s in range(stages):
        warm = len(tasks[s])
        for m in range(count):
            if m + warm < count:
                tasks[s].append(("F", m + warm))
            tasks[s].append(("B", m))
    free, at = [0.0] * stages, [0] * stages
    while any(at[s] < len(tasks[s]) for s in range(stages)):
        for s in range(stages):
            if at[s] == len(tasks[s]):
                continue
            kind, m = tasks[s][at[s]]
            before = ("F", s - 1, m) if kind == "F" else (("B", s + 1, m) if s + 1 < stages else ("F", s, m))
            if not (kind == "F" and s == 0) and before not in ends:
                continue
            free[s] = max(free[s], ends.get(before, 0.0)) + times[s][m] * (1 if kind == "F" else 2)
            ends[(kind, s, m)] = free[s]
            at[s] += 1
    return max(free)


by_name = {name: (a, b) for name, a, b in costs}
for shape in [(4, 4, 12), (4, 2, 12), (6, 1, 16), (3, 8, 6)]:
    stages, replicas, microbatches = shape
    words = ["--headers", "step.csv", "--stages", stages, "--replicas", replicas, "--microbatches", microbatches, "--emit", "json"]
    said = reorder(*words)
    out = json.loads(said.stdout)
    wanted(f"{shape}: the same again", reorder(*words).stdout == said.stdout)
    wanted(f"{shape}: what was asked", (out["samples"], out["stages"], out["replicas"], out["microbatches"]) == (48, *shape), out)
    names = [name for replica in out["orders"] for microbatch in replica for name in microbatch]
    wanted(f"{shape}: each sample once", sorted(names) == sorted(by_name), names)
    wanted(f"{shape}: bounds", out["bound"] <= out["chosen"] <= min(out["listed"], out["random"]) * (1 + 1e-9), out)
    own = max(
        played(stages, [(sum(by_name[n][0] for n in m), sum(by_name[n][1] for n in m), len(m)) for m in replica])
        for replica in out["orders"]
    )
    wanted(f"{shape}: seconds are those of 1F1B", abs(own - out["chosen"]) < 1e-6 * own, (own, out["chosen"]))
    for order in ["none", "ranks", "slots"]:
        part = json.loads(reorder(*words, "--order", order).stdout)
        wanted(f"{shape}: {order}", part["chosen"] <= part["listed"] * (1 + 1e-9) and (order != "none" or part["chosen"] == part["listed"]), part)
out = json.loads(reorder("--headers", "plain.csv", "--stages", 2, "--microbatches", 16, "--chunks", 2, "--tries", 20, "--emit", "json").stdout)
wanted("interleaved", out["bound"] <= out["chosen"] <= out["listed"], out)
# Four steps of 16, where giants wait for the last.
giants = [(f"g{k}", round(draw.lognormvariate(0, 1.2), 4)) for k in range(64)]
(scratch / "steps.csv").write_text("sample,pictures\n" + "".join(f"{name},{a}\n" for name, a in giants))
words = ["--headers", "steps.csv", "--stages", 1, "--replicas", 8, "--microbatches", 2, "--defer", 4]
out = json.loads(reorder(*words, "--emit", "json").stdout)
own = {name: k // 16 for k, (name, _) in enumerate(giants)}
runs = {name: s for s, step in enumerate(out["steps"]) for replica in step for microbatch in replica for name in microbatch}
wanted("defer: each sample once, in one of the steps", sorted(runs) == sorted(own) and len(out["steps"]) == 4, out)
wanted("defer: steps as large as before", [list(runs.values()).count(s) for s in range(4)] == [16] * 4, runs)
late = [name for name in runs if runs[name] > own[name]]
wanted("defer: those who wait run in the last step", sorted(out["waits"]) == sorted(late) and late and {runs[name] for name in late} == {3}, out)
wanted("defer: they are the heaviest", min(dict(giants)[name] for name in late) >= max(dict(giants)[name] for name in runs if runs[name] < 3), late)
wanted("defer: bounds", out["bound"] <= out["chosen"] < 0.95 * out["none_waits"] and out["none_waits"] <= out["listed"], out)
seconds = sum(max(sum(3 * (dict(giants)[n] + 1) for m in replica for n in m) for replica in step) for step in out["steps"])
wanted("defer: seconds are those of the steps", abs(seconds - out["chosen"]) < 1e-4 * seconds, (seconds, out["chosen"]))
text = reorder(*words).stdout
wanted("defer: text", re.search(rf"\n{len(late)} samples wait; [\d.]+ s where none does: g\d+ .*\nstep 0, replica 0: g", text), text)
# Samples of unlike numbers of rows, packed into 8 microbatches by rows and pictures.
sizes = {f"p{k}": (round(draw.lognormvariate(0, 0.6), 4), draw.randint(50, 400)) for k in range(60)}
(scratch / "packed.csv").write_text("sample,pictures,tokens\n" + "".join(f"{name},{a},{b}\n" for name, (a, b) in sizes.items()))
words = ["--headers", "packed.csv", "--stages", 3, "--replicas", 2, "--microbatches", 4, "--rows", 1500, "--language", 0.01]
out = json.loads(reorder(*words, "--emit", "json").stdout)
microbatches = [m for replica in out["orders"] for m in replica]
names = [name for m in microbatches for name in m]
wanted("rows: each sample once, or left over", sorted(names + out["left_over"]) == sorted(sizes) and out["samples"] == 60, out)
rows, pictures = [sum(sizes[n][1] for n in m) for m in microbatches], [sum(sizes[n][0] for n in m) for m in microbatches]
wanted("rows: none has more", max(rows) == out["most_rows"] <= 1500 and len(microbatches) == 8, rows)
wanted("rows: what is left over has room nowhere", all(min(rows) + sizes[n][1] > 1500 for n in out["left_over"]), out)
wanted("rows: pictures are as even as told", abs(max(pictures) * 8 / sum(pictures) - out["uneven_pictures"]) < 1e-6 and out["uneven_pictures"] < 1.2, out)
wanted("rows: bounds", out["bound"] <= out["chosen"] <= out["listed"], out)
text = reorder(*words).stdout
wanted("rows: text", re.search(r"\nat most [\d.]+ rows in a microbatch, pictures of the heaviest [\d.]+ of the mean; \d+ samples left over", text) and "+p" in text, text)
text = reorder("--headers", "step.csv", "--stages", 4, "--replicas", 2, "--microbatches", 24).stdout
wanted("text", re.match(r"48 samples, 2 replicas of 4 stages, 24 microbatches: [\d.]+ s; by chance [\d.]+ s, as listed [\d.]+ s, at least [\d.]+ s\nreplica 0: s", text), text)
reorder("--headers", "step.csv", "--stages", 4, "--microbatches", 48, "--output", "order.txt")
wanted("a file", (scratch / "order.txt").read_text().startswith("48 samples"))
wanted("help", reorder("--help").returncode == 0)
for words, pattern in [
    ("--headers step.csv --stages 4 --replicas 5 --microbatches 8", r"48 samples, wanted a multiple of the 40 .*: 40 or 80"),
    ("--headers step.csv --stages 4 --replicas 5 --microbatches 8 --defer 2", r"48 samples, wanted a multiple of the 80 .* in all steps: 80\."),
    ("--headers step.csv --stages 4 --microbatches 8 --defer 99999", r"--defer wants at most 65536, got 99999"),
    ("--headers packed.csv --stages 4 --microbatches 8 --rows 40", r"--rows wants at least the \d+ rows of sample p0, got 40: it would be left over"),
    ("--headers packed.csv --stages 4 --microbatches 64 --rows 1500", r"packed.csv has 60 samples, wanted at least the 64 microbatches"),
    ("--headers packed.csv --stages 4 --microbatches 2 --rows 1500 --defer 2", r"--rows does not go with --defer"),
    ("--headers wrong.csv --stages 4 --microbatches 1", r'wrong.csv, line 3, column pictures: got "two", wanted a cost of 0 or more.*MT-J02'),
    ("--headers other.csv --stages 4 --microbatches 1", r'other.csv, line 1, column 2: got "picturs"; did you mean pictures.*MT-J01'),
    ("--headers absent.csv --stages 4 --microbatches 1", r"absent.csv"),
    ("--headers step.csv --microbatches 1", r"--stages.*MT-X04"),
    ("--headers step.csv --stages 5 --microbatches 8 --chunks 2", r"--chunks wants --microbatches to be a multiple of --stages, got 8 and 5"),
    ("--headers step.csv --stages 99999 --microbatches 8", r"--stages wants at most 65536, got 99999"),
]:
    said = reorder(*shlex.split(words))
    wanted(words, said.returncode == exit_codes.owed(said.stderr) and not said.stdout and re.search(pattern, said.stderr), said.stderr)
print(f"{checks} checks, {failed} failed")
sys.exit(1 if failed else 0)
