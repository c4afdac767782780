# SPDX-License-Identifier: Apache-2.0
"""schedule_jobs.py PROGRAMS SCRATCH: every policy in all ways of counting, with failures and against others, the page, traces out of order and resampled, and every refusal with its place and code."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

programs, scratch = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data = pathlib.Path(os.environ["MOTET_SOURCE"]) / "tests" / "data" / "jobs"
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)


def start(*words):
    return subprocess.run([programs / "schedule_jobs", *map(str, words)], capture_output=True, text=True, cwd=scratch, check=False)


def wrong(what):
    sys.exit(f"FAILED: {what}")


def usual(**other):
    given = {"trace": data / "trace.csv", "times": data / "times.csv", "memory": data / "memory.json", "cluster": data / "cluster.json"} | other
    return [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]


def play(**other):
    run = start(*usual(**other, emit="json"))
    if run.returncode != 0:
        wrong(f"{other} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout), run.stderr


def refused(code, says, *words):
    run = start(*words)
    if run.returncode != exit_codes.owed(f"[{code}]") or f"[{code}]" not in run.stderr or says not in run.stderr:
        wrong(f"{words} ended with {run.returncode}, wanted {code} and {says!r}: {run.stderr}")


wanted = {"submitted", "finished", "jct_finished", "jct_padded", "jct_censored", "queue", "throughput_mean", "throughput_peak", "reschedules", "seconds"}
policies = start("--list-policies").stdout.split()
if len(policies) != 11:
    wrong(f"policies {policies}")
seen = {}
for policy in policies:
    for mode in ("correct", "uncharged", "artifact"):
        got, _ = play(policy=policy, mode=mode)
        seen[policy, mode] = got
        if not wanted <= set(got):
            wrong(f"{policy} lacks {wanted - set(got)}")
        if got["submitted"] != 160 or not 0 < got["finished"] <= 160 or got["jct_padded"] < got["jct_finished"] - 1e-6:
            wrong(f"{policy} {mode}: {got}")
for mode in ("correct", "artifact"):
    if seen["motet", mode]["jct_censored"] >= seen["crius", mode]["jct_censored"] or seen["motet", mode]["finished"] < seen["crius", mode]["finished"]:
        wrong(f"motet is not better than crius in {mode} mode: {seen['motet', mode]} {seen['crius', mode]}")
# Without a file of times: as cells of the models that the names stand for tell them.
names = sorted({line.split(",")[3] for line in (data / "trace.csv").read_text().splitlines()[1:]})
layers = {"500M": 24, "1B": 48, "2B": 96}
models = {name: {"towers": [{"name": "tower", "layers": layers.get(name.split("__")[1], 24), "width": 1280, "heads": 20, "tokens": 256, "vocabulary": 50000, "causal": True}]} for name in names}
(scratch / "models.json").write_text(json.dumps(models))
kinds = json.loads((data / "cluster.json").read_text())
for kind, like in zip(kinds["kinds"], ["h100", "a100", "v100"]):
    kind |= {"like": like}
(scratch / "like.json").write_text(json.dumps(kinds))
estimated = {"times": "cells", "models": "models.json", "cluster": "like.json", "memory": None}
for policy in ("crius", "motet"):
    got, _ = play(policy=policy, **estimated)
    if not 0 < got["finished"] <= 160 or not got["jct_finished"] > 0:
        wrong(f"{policy} by cells: {got}")
refused("MT-J21", "for the kind", *usual(**estimated | {"cluster": data / "cluster.json"}))
refused("MT-J20", "wanted a name and a size", *usual(**estimated | {"models": data / "cluster.json"}))
(scratch / "few.json").write_text(json.dumps({"other__1B": models[names[0]]}))
refused("MT-J05", "the models are other__1B", *usual(**estimated | {"models": "few.json"}))
again, _ = play(policy="motet")
if {k: v for k, v in again.items() if k != "seconds"} != {k: v for k, v in seen["motet", "correct"].items() if k != "seconds"}:
    wrong("the same trace gave another result")

for part in ("types", "scaling", "pruning", "planner"):
    play(policy="crius", without=part)
if play(policy="crius", depth=1)[0]["reschedules"] == play(policy="crius", depth=4)[0]["reschedules"]:
    wrong("--depth changes nothing")
if play(rounds=100)[0]["rounds"] != 100:
    wrong("--rounds 100 plays another number")
if play(noise=0.3)[0]["jct_finished"] == again["jct_finished"] or play(noise=0.3)[0]["jct_finished"] != play(noise=0.3)[0]["jct_finished"]:
    wrong("--noise changes nothing, or is not drawn by the seed")
named = (data / "trace.csv").read_text().replace(",wide", ",broad")
(scratch / "named.csv").write_text(named)
if play(trace="named.csv", **{"kind-as": "broad=wide"})[0]["jct_finished"] != again["jct_finished"]:
    wrong("--kind-as")
refused("MT-J04", 'got "broad"', *usual(trace="named.csv"))
refused("MT-X03", "--kind-as wants KIND=KIND, got broad", *usual(trace="named.csv", **{"kind-as": "broad"}))
half = play(hours=20)[0]
if half["lasted"] != 72000 or half["finished"] >= again["finished"] or half["rounds"] != 0:
    wrong(f"--hours 20: {half}")
if play(changes="published")[0]["jct_finished"] == again["jct_finished"]:
    wrong("--changes changes nothing")
failing = {"device-hours": 300, "node-hours": 200}
failed, _ = play(**failing)
if failed["failures"] < 3 or failed["finished"] != again["finished"] or failed["jct_finished"] <= again["jct_finished"]:
    wrong(f"failures: {failed}")
if play(**failing)[0]["jct_finished"] != failed["jct_finished"] or play(**failing, seed=2)[0]["failures"] == failed["failures"]:
    wrong("failures are not drawn by the seed")
(scratch / "failures.csv").write_text("seconds,node,device,repair_seconds\n90000,1,,7200\n90000,0,2,60\n")
if play(failures="failures.csv")[0]["failures"] != 2:
    wrong("listed failures")
against, _ = play(resample=4, against="fcfs")
less = against["resampled"]["more_than"]["fcfs"]["jct_censored"]
if not less["low"] < less["mean"] < less["high"] < 0:
    wrong(f"motet against fcfs: {less}")
both = against["resampled"]["more_than"]["fcfs"]["jct_both"]
if not both["low"] < both["mean"] < both["high"] < 0:
    wrong(f"motet against fcfs, on jobs that both finish: {both}")
drawn, _ = play(resample=4)
if not drawn["resampled"]["jct_finished"]["low"] < drawn["resampled"]["jct_finished"]["mean"] < drawn["resampled"]["jct_finished"]["high"]:
    wrong(f"interval {drawn['resampled']}")

# Columns and rows in any order give the same.
lines = (data / "trace.csv").read_text().splitlines()
(scratch / "late.csv").write_text("\n".join([lines[0]] + lines[:0:-1]) + "\n")
late, said = play(trace="late.csv", policy="motet")
if "159 jobs stand behind later ones, the first in line 3" not in said or late["jct_finished"] != again["jct_finished"]:
    wrong(f"a trace out of order: {said} {late}")

# The page is well formed, needs nothing from elsewhere, and shows all jobs that ran.
run = start(*usual(emit="html", output="page.html", policy="crius"))
page = (scratch / "page.html").read_text()
if run.returncode != 0 or "http" in page.replace("http-equiv", ""):
    wrong(f"page: {run.stderr}")
body = xml.etree.ElementTree.fromstring(page[page.index("<body>"):page.index("</body>") + 7])
titles = {each.text.split(":")[0] for each in body.iter("title")}
if len(titles) < 150 or len(list(body.iter("polyline"))) != 2:
    wrong(f"the page shows {len(titles)} jobs")
text = start(*usual()).stdout
if "mean completion time" not in text or "gap to the best choice" not in text:
    wrong(text)

(scratch / "bad.csv").write_text(lines[0] + "\n" + lines[1].replace(lines[1].split(",")[1], "-5", 1) + "\n")
refused("MT-J02", 'line 2, column submission_time: got "-5"', *usual(trace="bad.csv"))
(scratch / "column.csv").write_text(lines[0].replace("num_gpu", "num_gpus") + "\n" + lines[1] + "\n")
refused("MT-J01", "did you mean num_gpu", *usual(trace="column.csv"))
(scratch / "kind.csv").write_text(lines[0] + "\nx,1,5,tower__2B,9,128,4,tpu\n")
refused("MT-J04", 'got "tpu", the cluster three-kinds has fast, wide, slow', *usual(trace="kind.csv"))
(scratch / "large.csv").write_text(lines[0] + "\nx,1,5,tower__2B,9,128,64,slow\n")
refused("MT-J06", "the largest job that three-kinds fits has 32 of its 32 slow", *usual(trace="large.csv"))
(scratch / "model.csv").write_text(lines[0] + "\nx,1,5,singer__2B,9,128,4,slow\n")
refused("MT-J05", 'model.csv, line 2, column model_name: got "singer__2B", the times have the models tower, writer', *usual(trace="model.csv"))
refused("MT-J08", "arena-sim-1280", *usual(cluster="nowhere"))
(scratch / "cluster.json").write_text('{"kinds": [{"kind": "a", "nodes": 2, "per_node": 3, "memory_gb": 8}]}')
refused("MT-J07", "per_node is 3", *usual(cluster="cluster.json"))
(scratch / "memory.json").write_text('{"a": 3}')
refused("MT-J10", "wanted a list of gigabytes", *usual(memory="memory.json"))
refused("MT-J09", "did you mean types", *usual(policy="crius", without="type"))
refused("MT-X03", "--policy", *usual(policy="best"))
refused("MT-X03", "--depth wants --policy crius", *usual(policy="fcfs", depth=2))
refused("MT-X03", "--resample wants 3", *usual(resample=2))
refused("MT-X03", "--against wants --resample", *usual(against="fcfs"))
refused("MT-J09", "did you mean crius", *usual(against="crios", resample=3))
refused("MT-X03", "rounds have no --hours", *usual(rounds=10, hours=3))
(scratch / "failures.csv").write_text("seconds,node,repair_seconds\n90000,99,7200\n")
refused("MT-J02", "failures.csv, line 2, column node", *usual(failures="failures.csv"))
refused("MT-X04", "--times", *usual(times=None))
if "arena-sim-1280: a100 80x4" not in start("--list-clusters").stdout:
    wrong("--list-clusters")

# The first blocks of the pages, in a copy of the folder that they name.
source = pathlib.Path(os.environ["MOTET_SOURCE"])
lab = scratch / "lab"
shutil.copytree(source / "examples" / "schedule_jobs" / "lab", lab)
around = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
lines = [line for page in ("jobs", "emit", "watch") for line in (source / "docs" / "jobs" / f"{page}.md").read_text().split("```sh\n")[1].split("```")[0].splitlines()]
shown = [line for line in lines if line.startswith("schedule_jobs") and "--watch" not in line]
if len(shown) != 14:
    wrong(f"{len(shown)} lines of schedule_jobs in docs/jobs, wanted 14")
for line in shown:
    run = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=lab, env=around, check=False)
    if run.returncode != 0 or run.stderr or not (run.stdout or "--output" in line):
        wrong(f"{line}: {run.stdout} {run.stderr}")
for made in ("page.html", "decided/submit.sh", "decided-kueue/admission.json", "decided-fluxion/cluster.json"):
    if not (lab / made).is_file():
        wrong(f"the pages made no {made}")
watch = next(line for line in lines if "--socket" in line)
with subprocess.Popen("exec " + watch.removesuffix(" &"), shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=lab, env=around) as daemon:
    daemon.stdout.readline()  # it watches
    for line in lines:
        if line.startswith("printf"):
            subprocess.run(line, shell=True, cwd=lab, check=True)
    did = []
    while daemon.poll() is None and len(did) < 2:
        time.sleep(0.02)
        did = [json.loads(line)["do"] for line in (lab / "watched" / "changes.jsonl").read_text().splitlines()]
    daemon.terminate()
if did != ["start", "move"]:
    wrong(f"docs/jobs/watch.md: it did {did}")
print("ok")
