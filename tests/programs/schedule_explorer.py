# SPDX-License-Identifier: Apache-2.0
"""schedule_explorer.py PROGRAMS SCRATCH: published numbers, files of torch, every format, every refusal, and the commands of its page."""
import json
import math
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

explorer = pathlib.Path(sys.argv[1]).resolve() / "schedule_explorer"
scratch = pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(os.environ["MOTET_SOURCE"])
fixtures = source / "tests" / "data" / "schedules"
scratch.mkdir(parents=True, exist_ok=True)
failed = checks = 0


def wanted(what, holds, said=""):
    global failed, checks
    checks += 1
    if not holds:
        failed += 1
        print(f"FAILED: {what}: {said}")


def explore(*words):
    said = subprocess.run([str(explorer), *map(str, words)], capture_output=True, text=True, check=False, cwd=scratch, timeout=300)
    said.stderr = without_progress(said.stderr)
    return said


def without_progress(text):
    """What it says that takes more than two seconds."""
    return re.sub(r"^schedule_explorer: \d+ s, .*\n", "", text, flags=re.M)


def summary(*words):
    said = explore(*words)
    try:
        out = json.loads(said.stdout)
    except ValueError:
        out = {}
    wanted(" ".join(map(str, words)), said.returncode == 0 and said.stderr == "" and out.get("legal") is True, said.stdout[:300] + said.stderr)
    return out


def near(what, got, want):
    got, want = (x if isinstance(x, list) else [x] for x in (got, want))
    wanted(what, len(got) == len(want) and all(abs(a - b) < 1e-9 * max(1, abs(b)) for a, b in zip(got, want)), f"got {got}, wanted {want}")


# ---- bubbles and peaks of the usual schedules: P, m, times; bubble of each; peaks of the first device
SCHEDULES = ["gpipe", "1f1b", 2, 4, "zb_h1", "zb_h2"]  # a number: interleaved, with so many chunks
TABLE = [
    (4, 8, (1, 1, 1), [9, 9, 4.5, 2.25, 3, 0], [8, 4, 5.5, 4.75, 4, 7]),
    (8, 24, (1, 1, 1), [21, 21, 10.5, 5.25, 7, 0], [24, 8, 11.5, 9.75, 8, 15]),
    (4, 12, (1, 1.2, 0.8), [9, 9, 4.5, 2.25, 4.2, 1.8], [12, 4, 5.5, 4.75, 4, 7]),
]
for stages, microbatches, (f, b, w), bubbles, peaks in TABLE:
    for name, bubble, peak in zip(SCHEDULES, bubbles, peaks):
        schedule = ["--schedule", "interleaved", "--chunks", name] if isinstance(name, int) else ["--schedule", name]
        found = summary(*schedule, "--stages", stages, "--microbatches", microbatches, "--forward", f, "--backward", b, "--weight", w)
        what = f"{name} {stages}x{microbatches} {f}:{b}:{w}"
        busy = microbatches * (f + b + w)
        if name == "zb_h2":
            near(f"{what}: idle inside", found["idle_inside"][0], bubble)
        else:
            near(f"{what}: makespan", found["makespan"], busy + bubble)
            near(f"{what}: bubble", found["bubble"], [bubble] * stages)
            near(f"{what}: rate", found["bubble_rate"], bubble / (busy + bubble))
        near(f"{what}: peak", max(found["peak_live"]), peak)
        chunks = name if isinstance(name, int) else 1
        near(f"{what}: peak in chunks", max(found["peak_live_chunks"]), chunks * max(found["peak_live"]))
found = summary("--schedule", "zb_v", "--stages", 4, "--microbatches", 12)
near("zb_v leaves no device idle", found["idle_inside"], [0] * 4)
near("zb_v: peak", max(found["peak_live"]), 4)
near("1F1B by default", summary()["peak_live"], [4, 3, 2, 1])
near("1F1B under its other name", summary("--schedule", "one_f_one_b")["makespan"], 33)
near("zb_auto within 1F1B's memory", max(summary("--schedule", "zb_auto", "--memory", 4)["peak_live"]), 4)

# ---- batch_sync: Figure 6 of DistMM and its variants
SYNC = ["--schedule", "batch_sync", "--stages", 4, "--group", 4, "--backward", 1, "--weight", 1, "--sync", 1]
found = summary(*SYNC, "--microbatches", 16)
near("Figure 6", found["makespan"], 61)
near("Figure 6: syncs", found["syncs"], [8, 21, 34, 47])
near("Figure 6: peaks", found["peak_live"], [7, 6, 5, 4])
for stash, makespan, peaks in ((4, 35, [7, 6, 5, 4]), (2, 39, [6, 5, 4, 3]), (0, 43, [4, 3, 2, 1])):
    found = summary(*SYNC, "--microbatches", 8, "--stash", stash)
    near(f"stash {stash}", found["makespan"], makespan)
    near(f"stash {stash}: peaks", found["peak_live"], peaks)
for sync, makespan in ((1, 57), (2, 58), (3, 60)):
    near(f"hidden sync {sync}", summary(*SYNC[:-1], sync, "--microbatches", 16, "--hide", 1)["makespan"], makespan)

draws = random.Random(7)
for _ in range(40):
    joins, sync = draws.randint(1, 4), draws.choice([0, 0.5, 1, 3])
    towers = [(draws.randint(1, 6), draws.randint(1, 6), draws.choice([1, 2, 0.5]), draws.choice([1, 2, 3.5])) for _ in range(draws.randint(1, 3))]
    text = ";".join(f"{p},{joins * g},{g},{f},{b}" for p, g, f, b in towers)
    formula = max((p - 1 + g) * f for p, g, f, b in towers) + (joins - 1) * max(g * (f + b) for p, g, f, b in towers)
    formula += joins * sync + max((g + p - 1) * b for p, g, f, b in towers)
    near(f"towers {text} with a loss of {sync}", summary("--towers", text, "--sync", sync)["makespan"], formula)

# ---- messages on their way: down the pipeline and back up
near("transfer", summary("--stages", 4, "--microbatches", 1, "--transfer", 0.5)["makespan"], 12 + 6 * 0.5)
near("transfer is waited for", summary("--stages", 2, "--microbatches", 1, "--transfer", 0.5)["idle"]["transfer"], [0.5, 0])

# ---- files of torch
SAME = {"gpipe_3x4x1": "gpipe --stages 3 --microbatches 4", "1f1b_4x8x1": "1f1b --stages 4 --microbatches 8"}
SAME |= {"interleaved_2x4x4": "interleaved --stages 2 --microbatches 4 --chunks 4"}
for stem, ours in SAME.items():
    imported, built = summary("--import", fixtures / f"{stem}.csv"), summary("--schedule", *ours.split())
    wanted(f"{stem} is ours", {**imported, "schedule": ""} == {**built, "schedule": ""}, f"{imported} {built}")
    comms = summary("--import", fixtures / f"{stem}_comms.csv")
    wanted(f"{stem} with communication", all(comms[k] == built[k] for k in ("makespan", "bubble", "peak_live")), f"{comms} {built}")
count = 0
for path in sorted(fixtures.glob("*.csv")):
    count += 1
    before = summary("--import", path)
    wanted(f"{path.name} written", explore("--import", path, "--format", "csv", "--output", "again.csv").returncode == 0)
    after = summary("--import", "again.csv")
    wanted(f"{path.name} read again", {**before, "schedule": ""} == {**after, "schedule": ""}, f"{before} {after}")
wanted("fixtures", count == 14, count)
dual = fixtures / "dualpipe_v_4x10x2.csv"
apart, together = summary("--import", dual), summary("--import", dual, "--overlap", 2)
wanted("pairs overlap", together["makespan"] < apart["makespan"], (together["makespan"], apart["makespan"]))
near("--overlap as long as the parts", summary("--import", dual, "--overlap", 3)["makespan"], apart["makespan"])
near("DualPipeV keeps P + 1 at most", max(apart["peak_live"]), 4.5)
ours = explore("--schedule", "dualpipe_v", "--stages", 4, "--microbatches", 10, "--format", "csv")
wanted("dualpipe_v of ours is torch's", ours.stdout.split() == dual.read_text().split(), ours.stdout[:200])
near("dualpipe_v of ours", summary("--schedule", "dualpipe_v", "--stages", 4, "--microbatches", 10)["makespan"], apart["makespan"])
headed = ["--schedule", "batch_sync", "--stages", 2, "--microbatches", 4, "--group", 2, "--stash", 1, "--hide", 1, "--sync", 1]
explore(*headed, "--format", "csv", "--output", "headed.csv")
wanted("a header where torch has no words", (scratch / "headed.csv").read_text().startswith("motet,1,computations\n"))
near("batch_sync from its file", summary("--import", "headed.csv", "--sync", 1)["makespan"], summary(*headed)["makespan"])

# ---- what is wrong with a file: the place, and status 3
comms = (fixtures / "1f1b_4x8x1_comms.csv").read_text()
bare = (fixtures / "1f1b_4x8x1.csv").read_text()
BROKEN = [
    (comms.replace("2RECV_F4,", ""), r"row 3.*rank 2.*stage 2, microbatch 4.*MT-P30"),
    (bare.replace("1B3", "1X3"), r'row 2, column 10: got "1X3", wanted a stage, an operation and a microbatch.*MT-P50'),
    (bare.replace(",2B6,2B7", ""), r"row 3: stage 2 has no .* of microbatch 6.*MT-P54"),
    (bare.replace("3F0", "2F0"), r"row 4, column 1: stage 2 lies in row 3.*MT-P53"),
    (bare.replace("0F7", "0F99999999"), r"row 1, column \d+.*0F99999999.*MT-P51"),
    (bare.replace("0F0,0F1,0F2,0F3,0B0", "0F0,0F1,0F2,0B0,0F3").replace("1B0,1F3", "1F3,1B0"), r"wait for each other for ever.*waits for"),
    ("", r"the file is empty.*MT-P52"),
    ("\x89PNG\r\n\x1a\n", r"row 1, column 1.*MT-P50"),
]
for text, pattern in BROKEN:
    (scratch / "broken.csv").write_bytes(text.encode("latin-1"))
    said = explore("--import", "broken.csv")
    holds = said.returncode == 3 and re.search(pattern, said.stderr, re.S) and said.stderr.startswith(("broken.csv", "motet"))
    out = json.loads(said.stdout or "{}")
    holds = holds and out.get("legal") is False and re.search(pattern, out.get("why", ""), re.S)
    wanted(f"broken file: {pattern}", holds, said.stdout[:300] + said.stderr)
    said = explore("--import", "broken.csv", "--format", "svg")
    wanted(f"no picture of it: {pattern}", said.returncode == 3 and said.stdout == "", said.stdout[:300])
wanted("an absent file", explore("--import", "absent.csv").returncode == 3 and "MT-F04" in explore("--import", "absent.csv").stderr)

# ---- what is wrong with a command line: one sentence with the flag, what was got and what is wanted, and the status of the table
REFUSED = [
    ("--schedule 2f2b", r'--schedule wants one of gpipe, 1f1b.*got "2f2b"'),
    ("--stages 0", r"--stages wants at least 1, got 0"),
    ("--stages x", r'--stages wants a whole number, got "x"'),
    ("--stages 4000000000", r"--stages wants at most \d+, got 4000000000"),
    ("--stages 100000 --microbatches 100000", r"--stages times --microbatches.*got 10000000000"),
    ("--schedule interleaved --stages 4 --microbatches 6", r"--microbatches wants a multiple of 4.*got 6"),
    ("--schedule dualpipe_v --stages 4 --microbatches 4", r"--microbatches wants at least 8.*got 4"),
    ("--schedule batch_sync --microbatches 6 --group 4", r"--group wants a divisor of the 6 microbatches, got 4"),
    ("--schedule batch_sync --group 4 --stash 5", r"--stash wants 0 to the group of 4, got 5"),
    ("--schedule gpipe --chunks 2", r"--chunks wants 1 for gpipe.*got 2"),
    ("--schedule gpipe --memory 3", r"--memory wants at least 8 for gpipe.*got 3"),
    ("--schedule 1f1b --group 2", r"--group wants a --schedule that has it, such as batch_sync, got 1f1b"),
    ("--schedule zb_v --hide 1", r"--hide wants a --schedule that has it"),
    ("--schedule batch_sync --chunks 2", r"--chunks wants a --schedule that has it, such as interleaved"),
    ("--forward 0", r'--forward wants a number from 1e-09 to 1e\+09, got "0"'),
    ("--forward -1", r'--forward wants.*got "-1"'),
    ("--backward 0", r"--backward wants"),
    ("--weight -1", r"--weight wants"),
    ("--sync -1", r"--sync wants"),
    ("--transfer -0.5", r"--transfer wants"),
    ("--overlap 0", r"--overlap wants"),
    ("--forward nan", r'--forward wants.*got "nan"'),
    ("--sync inf", r'--sync wants.*got "inf"'),
    ("--towers 4,8,4,1", r'--towers wants five numbers.*got "4,8,4,1"'),
    ("--towers 4,8,4,1,2,3", r"--towers wants five numbers"),
    ("--towers 4,8,4,0,2", r"--towers wants times"),
    ("--towers 4,8,4,nan,2", r"--towers wants times"),
    ("--towers 4.5,8,4,1,2", r"--towers wants whole numbers"),
    ("--towers 4,8,3,1,2", r"--group wants a divisor of the 8 microbatches in tower 1"),
    ("--towers 4,8,4,1,2;2,6,2,1,2", r"--towers wants as many groups.*which has 2, got 3 in tower 2"),
    ("--towers 4,8,4,1,2 --schedule 1f1b", r"--towers.*1f1b"),
    ("--towers 4,8,4,1,2 --forward 2", r"--towers wants no --forward"),
    ("--import x.csv --stages 4", r"--import wants no --stages"),
    ("--format pdf", r"--format wants one of summary\|csv\|text\|svg\|trace, got \"pdf\""),
    ("--fill 1,1", r'--fill wants three numbers STAGES,FORWARD,BACKWARD, and SLICES if it is cut, got "1,1"'),
    ("--fill 1,1,1,2,", r"--fill wants three numbers"),
    ("--fill 1,1,1,", r"--fill wants three numbers"),
    ("--fill 1,1,1,65", r'--fill wants 1 to 64 SLICES of a stage, or 0 for as many as gaps ask for, got "1,1,1,65"'),
    ("--fill 1,1,1,1.5", r"--fill wants 1 to 64 SLICES"),
    ("--fill 3,1,1", r"--fill wants STAGES that divide the 4 devices"),
    ("--fill 1,1,1 --microbatches 6", r"--fill wants as many copies of it as divide the 6 microbatches, not 4"),
    ("--fill 1,0,1", r"--fill wants times"),
    ("--fill 1,1,1 --fill 3,1,1", r'--fill wants STAGES that divide the 4 devices, got "3,1,1"'),
    ("--fill 1,1,1 --schedule batch_sync", r"--fill wants a --schedule without losses over groups"),
    ("--fill-behind 3,1,1", r'--fill-behind wants STAGES that divide the 4 devices, got "3,1,1"'),
    ("--fill-behind 1,1,1 --schedule batch_sync", r"--fill-behind wants a --schedule without losses over groups"),
    ("--fill 1,1,1 --schedule interleaved --room 1", r"--room wants at least 2 for interleaved"),
    ("--fill 1,0.5,1 --schedule gpipe --stages 1", r"--fill wants devices that wait for each other, got gpipe on 1 stage, which keeps all busy; what fills takes 50 % of its step, of which nothing would be hidden"),
    ("--multiplex 1,1", r'--multiplex wants three numbers STAGES,FORWARD,BACKWARD, and AHEAD if it comes earlier, got "1,1"'),
    ("--multiplex 3,1,1", r"--multiplex wants STAGES that divide the 4 devices"),
    ("--multiplex 1,1,1,9", r"--multiplex wants 0 to 8 forwards that it comes AHEAD"),
    ("--multiplex 1,0,1", r"--multiplex wants times"),
    ("--multiplex 1,1,1 --fill 1,1,1", r"--fill wants no --multiplex"),
    ("--multiplex 1,1,1 --beside 0.5", r"--beside wants no --multiplex"),
    ("--multiplex 1,1,1 --room 2", r"--room wants no --multiplex"),
    ("--multiplex 1,1,1 --schedule batch_sync", r"--multiplex wants a --schedule without losses over groups"),
    ("--beside 0.5", r"--beside wants --fill beside it"),
    ("--fill 1,1,1 --beside 1", r"--beside"),
    ("--room 1", r"--room wants --fill beside it"),
    ("--module talk", r'--module wants --profile beside it, got "talk"'),
    ("--profile gaps.json --towers 2,4,2,1,1", r"--towers wants no --profile|--profile wants no --towers"),
    ("--profile none.json", r"--profile wants gaps that a run recorded \(train_vlm --record-gaps\), got none.json without any"),
    ("--profile gaps.json", r'--module wants one of the gaps of gaps.json, which has eye:tensor=2, talk:tensor=2, talk:zero=3,data=2, of which 3 are of that, got ""'),
    ("--profile gaps.json --module talk", r'of which 2 are of that, got "talk"'),
    ("--profile gaps.json --module talk:tensor=4", r'which has eye:tensor=2, talk:tensor=2, talk:zero=3,data=2, got "talk:tensor=4"'),
    ("--profile gaps.json --module talk:tensor", r"--module wants NAME or NAME:tensor=N,"),
    ("--profile gaps.json --module talk:width=2", r"--module wants NAME or NAME:tensor=N,"),
    ("--stage 4", r"--stage; did you mean --stages"),
    ("stages 4", r'"stages"'),
    ("--stages", r"--stages N"),
]
profile = {"machine": "two cores", "activation_bytes": 2, "modules": []}
recorded = [{"module": "eye", "tensor": 2, "shares": [0.1, 0.1, 0.1]}, {"module": "talk", "tensor": 2, "shares": [0.5, 0.2, 0]}, {"module": "talk", "zero": 3, "data": 2, "shares": [0.3, 0.3, 0.3]}]
(scratch / "gaps.json").write_text(json.dumps(profile | {"gaps": recorded}))
(scratch / "none.json").write_text(json.dumps(profile | {"pairs": [{"first": "eye", "second": "talk", "samples": 1, "points": [{"share": 0.5, "threads": [1, 1], "slowdowns": [1.1, 1.2]}]}]}))
for words, pattern in REFUSED:
    said = explore(*shlex.split(words.replace(";", "\\;")))
    one = len(said.stderr.strip().split("\n")) == 1
    holds = said.returncode == exit_codes.owed(said.stderr) and said.stdout == "" and one and re.search(pattern, said.stderr)
    wanted(words, holds, f"status {said.returncode}: {said.stdout}{said.stderr}")

# ---- an encoder in the gaps: of 1F1B and of interleaved as short as can be, alone 0.5 + 33 + 1 and all that devices compute
for words, alone, filled, share in [
    ("--schedule 1f1b --fill 1,0.5,1", 33, 34.5, 0.5),
    ("--schedule 1f1b --fill-behind 1,0.25,0.5", 33, 33, 1),
    ("--schedule 1f1b --fill-behind 2,0.5,1", 33, 33.75, 0.875),
    ("--schedule interleaved --chunks 2 --fill 2,1,2", 28.5, 31.5, 0.5),
]:
    found = summary(*shlex.split(words))
    near(words, [found["fill"]["alone"], found["fill"]["filled"], found["makespan"], found["fill"]["in_gaps"]], [alone, filled, filled, share])
# ---- in slices it fits where it did not: a slice for each of the gaps
whole, halves = (summary(*"--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --fill".split(), numbers)["fill"] for numbers in ["1,4,8", "1,4,8,2"])
wanted("slices", halves["filled"] < whole["filled"] and halves["encoder"] == whole["encoder"], [whole, halves])
wanted("slices are told", (whole["slices"], halves["slices"]) == ([1], [2]), [whole, halves])
# Of the table in docs/schedule/fill.md: the fewest with which the step is shortest.
for schedule, chosen, takes in [("1f1b", 2, 656), ("interleaved --chunks 2", 2, 600), ("zb_h1", 1, 608)]:
    words = f"--schedule {schedule} --stages 4 --microbatches 8 --forward 16 --backward 16 --weight 16 --fill".split()
    found = summary(*words, "1,32,64,0")["fill"]
    wanted(f"{schedule}: slices by gaps", (found["slices"], found["filled"]) == ([chosen], takes), found)
found = summary(*"--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --fill 1,4,8,0 --fill 1,0.5,1,0".split())["fill"]
wanted("slices of two encoders", found["slices"][0] > 1 and found["slices"][1] >= 1 and found["filled"] <= summary(*"--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --fill 1,4,8 --fill 1,0.5,1".split())["fill"]["filled"], found)
found = summary("--schedule", "zb_h1", "--fill", "2,1,2", "--room", 2)
wanted("room", found["fill"]["filled"] >= summary("--schedule", "zb_h1", "--fill", "2,1,2")["makespan"], found)
wanted("filled csv", subprocess.run([str(explorer), "--fill", "1,0.5,1", "--format", "csv", "--output", "filled.csv"], cwd=scratch, check=False).returncode == 0)
wanted("the picture of docs/schedule/fill.md", explore(*"--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --fill 2,1,2 --format svg".split()).stdout == (source / "docs/schedule/filled.svg").read_text())
wanted("the picture of a generator in docs/schedule/fill.md", explore(*"--schedule 1f1b --stages 4 --microbatches 8 --fill-behind 2,0.5,1 --format svg".split()).stdout == (source / "docs/schedule/filled_behind.svg").read_text())
wanted("what was before it", explore(*"--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --format svg".split()).stdout == (source / "docs/schedule/unfilled.svg").read_text())
lanes = "--schedule 1f1b --stages 4 --microbatches 8 --fill 1,0.5,1 --beside 0.5".split()
found = summary(*lanes)
wanted("an encoder in a lane of its own", found["legal"] and found["fill"]["filled"] == 34.5 and 33 <= found["makespan"] <= 40, found)
wanted("lanes in text", explore(*lanes, "--format", "text").stdout.count("  lane 1 ") == 4)
wanted("lanes in csv", explore(*lanes, "--format", "csv").stdout.count(",lane=1") == 4)
# Gaps that a run recorded: operations are longer by them, and the encoder's lane computes on in them.
gaps = "--profile gaps.json --module talk:tensor=2".split()
for schedule in ["1f1b", "gpipe"]:
    words = f"--schedule {schedule} --stages 4 --microbatches 8".split()
    near(f"{schedule}: waits in operations", [summary(*words, *gaps)["makespan"]], [11 * (2 + 1.25 + 1)])
near("the same times without gaps", [summary(*lanes, "--forward", 2, "--backward", 1.25)["fill"]["alone"]], [summary(*lanes, *gaps)["fill"]["alone"]])
wanted("what waits leaves its device to the other lane", summary(*lanes, *gaps)["makespan"] < summary(*lanes, "--forward", 2, "--backward", 1.25)["makespan"] - 1, [summary(*lanes, *gaps), summary(*lanes, "--forward", 2, "--backward", 1.25)])
wanted("which gaps", summary(*lanes, *gaps)["gaps"] == {"module": "talk:tensor=2", "forward": 0.5, "backward": 0.2, "weight": 0.0})
two = "--schedule interleaved --chunks 2 --stages 4 --microbatches 8 --fill 2,1,2 --fill 1,0.5,1".split()
found = summary(*two)
near("two encoders", [found["fill"]["alone"], found["fill"]["encoder"]], [28.5, 9])
wanted("two encoders: shares", found["fill"]["in_gaps"] > 0.3 and found["makespan"] == found["fill"]["filled"], found)
wanted("the picture of two encoders in docs/schedule/fill.md", explore(*two, "--format", "svg").stdout == (source / "docs/schedule/filled_twice.svg").read_text())
wanted("read again", summary("--import", "filled.csv")["instructions"] > 0)

# ---- an encoder between the computations: the table of docs/schedules.md, and what 1F1B keeps whatever the microbatches
for words, alone, whole, keeps in [
    ("1f1b --multiplex 1,2,4", 57, 76.5, [4, 5, 6, 7]),
    ("1f1b --multiplex 1,2,4,1 --transfer 0.2", 62.6, 79.1, [5, 6, 7, 8]),
    ("interleaved --chunks 2 --multiplex 1,0.4,0.8", 52.5, 57.3, None),
    ("zb_h1 --multiplex 1,2,4", 51, 73.5, [4, 5, 6, 7]),
]:
    found = summary(*f"--stages 4 --microbatches 16 --schedule {words}".split())
    near(words, [found["multiplex"]["alone"], found["multiplex"]["multiplexed"], found["makespan"]], [alone, whole, whole])
    wanted(f"{words}: kept", keeps is None or found["multiplex"]["keeps"] == keeps, found)
for schedule in ["gpipe", "zb_h2", "zb_v", "v_half", "v_min", "zb_auto", "dualpipe_v"]:
    found = summary("--schedule", schedule, "--stages", 4, "--microbatches", 8, "--multiplex", "2,1,2", "--multiplex", "1,0.5,1")
    wanted(f"{schedule}: two multiplexed encoders", found["multiplex"]["encoder"] == 9 and found["makespan"] >= found["multiplex"]["alone"], found)
explore("--stages", 4, "--microbatches", 8, "--multiplex", "1,1,2", "--format", "csv", "--output", "multiplexed.csv")
wanted("a multiplexed file is read again", summary("--import", "multiplexed.csv")["legal"])

# ---- formats
text = explore("--format", "text").stdout
wanted("text", "rank 3" in text and "F8" in text, text)
picture = explore("--format", "svg").stdout
wanted("svg", picture.startswith("<svg") and picture.rstrip().endswith("</svg>"), picture[:80])
trace = json.loads(explore("--format", "trace").stdout)
wanted("trace", sum(event["ph"] == "X" for event in trace["traceEvents"]) >= 64, str(trace)[:80])
wanted("output", explore("--format", "svg", "--output", "out.svg").stdout == "" and (scratch / "out.svg").read_text() == picture)
wanted("no folder to write to", explore("--output", "absent/out.json").returncode == 1)
wanted("help", explore("--help").returncode == 0 and "--towers" in explore("--help").stdout)

# ---- the stand-in: real messages, real time. The machine may be busy, so only that it waits as long as it should
found = summary("--stages", 4, "--microbatches", 8, "--sync", 1, "--run")
wanted("run", 0.99 < found["ratio"] < 3 and math.isclose(found["ratio"], found["measured"] / found["makespan"]), found)
found = summary("--towers", "2,4,2,1,2;1,4,2,2,2", "--sync", 1, "--transfer", 0.25, "--run")
wanted("run towers", 0.99 < found["ratio"] < 3, found)
wanted("overlay", "<svg" in explore("--stages", 2, "--run", "--format", "svg").stdout)

# ---- the page: every command runs, and what it prints is what the page says
page = (source / "docs" / "schedule" / "explorer.md").read_text()
commands = 0
environment = {**os.environ, "PATH": f"{explorer.parent}:{os.environ['PATH']}"}
for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", page, re.M | re.S):
    for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        commands += 1
        command = command.replace("tests/data/schedules", str(fixtures))
        said = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=scratch, env=environment)
        got = (said.stdout + without_progress(said.stderr)).replace(str(fixtures), "tests/data/schedules").replace("\r", "")
        # "..." stands for anything.
        pattern = ".*".join(re.escape(part) for part in printed.split("..."))
        wanted(f"the page: {command}", re.fullmatch(pattern, got, re.S), got)
wanted("commands of the page", commands == 15, commands)

example = re.search(r"^```\n(motet,.*?)^```", (source / "docs" / "schedule" / "csv.md").read_text(), re.M | re.S).group(1)
(scratch / "example.csv").write_text(example)
near("the example of the other page", summary("--import", "example.csv")["peak_live"], [3, 2, 2])

print(f"{checks} checks, {failed} failed")
sys.exit(1 if failed else 0)
