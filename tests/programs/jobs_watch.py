# SPDX-License-Identifier: Apache-2.0
"""jobs_watch.py PROGRAMS SCRATCH: `schedule_jobs --watch` that is killed at drawn moments decides as one that nobody disturbed, also where its journal begins anew all the time; nonsense is told with its place and loses nothing; a socket answers each line; other journals are refused."""
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

programs, scratch = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data = pathlib.Path(os.environ["MOTET_SOURCE"]) / "tests" / "data" / "jobs"
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
kills = int(os.environ.get("MOTET_WATCH_KILLS", "20"))
draw = random.Random(7)
living = []


def wrong(what):
    for each in living:
        each.kill()
    sys.exit(f"FAILED: {what}")


def start(folder, *words, policy="motet", clock="lines"):
    log = open(scratch / f"{folder}.log", "a", encoding="utf-8")
    run = subprocess.Popen([programs / "schedule_jobs", "--times", data / "times.csv", "--memory", data / "memory.json", "--cluster", data / "cluster.json", "--watch", folder, "--policy", policy, "--clock", clock, *words], stderr=log, cwd=scratch)
    living.append(run)
    return run


def wait_for(done, what, run=None):
    for _ in range(6000):
        if done():
            return
        if run is not None and run.poll() is not None:
            wrong(f"{what}: ended with {run.returncode}")
        time.sleep(0.01)
    wrong(f"{what}: not within a minute")


def whole_lines(path):
    """Without what is behind the last end of a line: that is being written."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def records(folder):
    return [json.loads(line[17:]) for line in whole_lines(scratch / folder / "journal")]


def taken(folder, end):
    """Whether the journal has all of a.events up to this byte, in a line or in its state."""
    last = records(folder)[-1:]
    at = last[0].get("state", {"from": {}})["from"].get("a.events", {"bytes": -1})["bytes"] if last else -1
    return bool(last) and max(last[0].get("end", -1), at) >= end


def changes(folder):
    return [json.loads(line) for line in whole_lines(scratch / folder / "changes.jsonl")]


def leave(run, how=signal.SIGTERM, code=143):
    run.send_signal(how)
    run.wait(60)
    if run.returncode != code:
        wrong(f"left with {run.returncode}")


# What happens in a lab, as lines, with nonsense between them.
rows = [line.split(",") for line in (data / "trace.csv").read_text().splitlines()[1:61]]
lines, there, lost, now = [], [], [], 0.0
nonsense = ['{"event": "submit"', "", "null", '{"event": "dance"}', '{"event": "finish", "job": "nobody", "time": 3}', '{"event": "finish", "job": "nobody"}', '{"event": "submit", "job": "x", "model": "poem__1B", "batch": 128, "iterations": 9, "kind": "fast", "devices": 4, "time": 1}',
            '{"event": "lost", "node": "moon-1", "time": 5}', '{"event": "progress", "job": 7}', "\x00\x01", "x" * 70000, '{"event": "x' + "ü" * 900 + '"}', '{"event": "submit", "job": "y", "model": "tower__2B", "batch": 128, "iterations": 9, "kind": "fast", "devices": 3, "time": 1}', "ünïcödé"]
for row in rows:
    now += draw.expovariate(1 / 400)
    lines.append({"event": "submit", "time": now, "job": row[0], "model": row[3], "iterations": int(row[2]), "batch": int(row[5]), "devices": int(row[6]), "kind": row[7], "deadline": 90000})
    there.append(row[0])
    what = draw.random()
    if what < 0.35:
        lines.append({"event": "finish", "time": now + 1, "job": there.pop(draw.randrange(len(there)))})
    elif what < 0.6:
        lines.append({"event": "progress", "time": now + 2, "job": draw.choice(there), "left": draw.randrange(1, 5000), "iteration_seconds": 0.5 + draw.random()})
    elif what < 0.7 and len(lost) < 3:
        lost.append(f"{draw.choice(['fast', 'slow'])}-{draw.randrange(8)}")
        lines.append({"event": "lost", "time": now + 3, "node": lost[-1]})
    elif lost and what < 0.85:
        lines.append({"event": "back", "time": now + 3, "node": lost.pop(0)})
    if draw.random() < 0.2:
        lines.append(nonsense[len(lines) % len(nonsense)])
lines += nonsense
lines.append({"event": "submit", "time": now + 90000, "job": "late", "model": "tower__2B", "iterations": 100, "batch": 128, "devices": 4, "kind": "fast"})
text = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines).encode()

# Nobody disturbs it.
(scratch / "calm").mkdir()
(scratch / "calm" / "a.events").write_bytes(text)
begun = time.monotonic()
run = start("calm")
wait_for(lambda: taken("calm", len(text)), "calm", run)
# On a machine with much else to do a program needs longer until it has anything to lose.
in_time = max(0.12, time.monotonic() - begun)
leave(run)
calm = changes("calm")
kinds = {each["do"] for each in calm}
if not {"start", "stop", "move"} <= kinds or [each["change"] for each in calm] != list(range(1, len(calm) + 1)):
    wrong(f"changes {kinds}")
# No device is ever in two jobs: stops and moves leave first, then others begin.
has, at, number = {}, None, 0
while number < len(calm):
    same = [each for each in calm if each["time"] == calm[number]["time"]]
    for each in same:
        has.pop(each["job"], None)
    number += len(same)
    for each in same:
        if each["do"] in ("start", "move"):
            has[each["job"]] = {(on["host"], device) for on in each["on"] for device in on["devices"]}
            if len(has[each["job"]]) != each["devices"]:
                wrong(f"{each}")
    ended = {each["job"] for each in lines if isinstance(each, dict) and each["event"] == "finish" and each["time"] <= same[0]["time"]}
    held = [device for job, devices in has.items() if job not in ended for device in devices]
    if len(held) != len(set(held)):
        wrong(f"a device is in two jobs at {same[0]['time']}")
said = (scratch / "calm.log").read_text(encoding="utf-8")
for each in ('a.events, line ', "MT-F01", "MT-J40", "MT-J41", "MT-J05", "MT-J06", 'got "moon-1", wanted a host of three-kinds', "is longer than 65536 bytes", 'the job "nobody" is not known', "there are submit, finish, progress, lost, back"):
    if each not in said:
        wrong(f"{each!r} was not told: {said[-3000:]}")
good = sum(isinstance(each, dict) for each in lines)
told = sum("text" in each for each in records("calm")[1:])
if told < good:
    wrong(f"{told} lines of {good} were taken")

# Killed again and again, with lines that come in pieces: the same. And where the journal begins anew as often as it may.
states = 0
for folder, words in (("killed", ()), ("anew", ("--journal-bytes", "1"))):
    (scratch / folder).mkdir()
    cuts = sorted(draw.randrange(len(text)) for _ in range(kills)) + [len(text)]
    fed = 0
    for number, cut in enumerate(cuts):
        run = start(folder, *words)
        with open(scratch / folder / "a.events", "ab") as file:
            file.write(text[fed:cut])
        fed = cut
        if number < kills:
            time.sleep(draw.random() * in_time)
            run.kill()
            run.wait()
            living.remove(run)
            state = [each["state"] for each in records(folder) if "state" in each]
            states += len(state)
            if number == kills // 2:
                # What a machine that lost its power leaves of the last record, and of the last change, where this is behind the state.
                with open(scratch / folder / "journal", "ab") as file:
                    file.write(b"0123456789abcdef {\"from\": \"a.ev")
                changed = scratch / folder / "changes.jsonl"
                if changed.exists():
                    os.truncate(changed, max(state[0]["told"]["bytes"] if state else 0, changed.stat().st_size - 25))
    wait_for(lambda: taken(folder, len(text)), folder, run)
    leave(run)
    if (scratch / folder / "changes.jsonl").read_bytes() != (scratch / "calm" / "changes.jsonl").read_bytes():
        wrong(f"{folder} and gone on, it decided otherwise")
    left = [name for name in os.listdir(scratch / folder) if ".tmp-" in name]
    if left:
        wrong(f"{folder} left {left}")
if [each.get("changes") for each in records("killed")] != [each.get("changes") for each in records("calm")]:
    wrong("the journals differ")
if states < kills // 3:
    wrong(f"the journal began anew {states} times")


def refused(folder, code, says, *words, **other):
    run = start(folder, *words, **other)
    run.wait(20)
    living.remove(run)
    said = (scratch / f"{folder}.log").read_text(encoding="utf-8")
    if run.returncode != exit_codes.owed(f"[{code}]") or code not in said or says not in said:
        wrong(f"{folder} {words} {other} ended with {run.returncode}: {said[-500:]}")


# What cannot be gone on with.
refused("calm", "MT-J43", 'it began with policy "motet", got "fcfs"', policy="fcfs")
shutil.copytree(scratch / "calm", scratch / "damaged")
journal = bytearray((scratch / "damaged" / "journal").read_bytes())
journal[len(journal) // 2] ^= 1
(scratch / "damaged" / "journal").write_bytes(journal)
refused("damaged", "MT-J42", "does not fit its checksum")
refused("other", "MT-J44", "wanted at most 107", "--socket", "s" * 120)
refused("other", "MT-X03", "--socket, --clock and --journal-bytes want --watch", "--emit", "slurm", "--output", "o", "--hours", "1")

# A socket, by the wall's clock.
run = start("asked", "--socket", "asked.socket", clock="wall")
# There is a socket before anybody listens at it: what it says comes behind that.
wait_for(lambda: "watches asked" in (scratch / "asked.log").read_text(encoding="utf-8"), "socket", run)
refused("asked", "MT-R14", "is held by process")
if (scratch / "asked.socket").stat().st_mode & 0o077:
    wrong("others may connect")


def connect():
    to = socket.socket(socket.AF_UNIX)
    to.settimeout(10)
    here = os.getcwd()
    os.chdir(scratch)
    to.connect("asked.socket")
    os.chdir(here)
    return to, to.makefile("r", encoding="utf-8")


guest, answers = connect()


def ask(what):
    guest.sendall((what if isinstance(what, str) else json.dumps(what)).encode() + b"\n")
    return json.loads(answers.readline())


job = {"event": "submit", "job": "one \"job\"", "model": "tower__2B", "iterations": 100, "batch": 128, "devices": 4, "kind": "fast"}
got = ask(job)
if not got["taken"] or [each["do"] for each in got["changes"]] != ["start"] or got["changes"][0]["job"] != job["job"] or abs(got["changes"][0]["time"] - time.time()) > 60:
    wrong(f"submit: {got}")
again = ask(job)
if again["taken"] or "MT-J41" not in again["refused"] or "guest 1, line 2" not in again["refused"]:
    wrong(f"submitted twice: {again}")
if "MT-F01" not in ask("nonsense")["refused"] or "the wall's clock" not in ask(job | {"job": "two", "time": 5})["refused"]:
    wrong("nonsense is taken")
# One who stops in the middle, and one who sends much and reads nothing, harm nobody.
stops, _ = connect()
stops.sendall(b'{"event": "submit", "job": "half')
stops.close()
deaf, _ = connect()
deaf.setblocking(False)
try:
    for _ in range(20):
        deaf.send(b"noise\n" * 1000)
except BlockingIOError:
    pass
host = got["changes"][0]["on"][0]["host"]
moved = ask({"event": "lost", "node": host})
if [(each["do"], each["job"]) for each in moved["changes"]] != [("move", job["job"])] or host in {on["host"] for on in moved["changes"][0]["on"]}:
    wrong(f"lost: {moved}")
many = [job | {"job": f"job {n}"} for n in range(40)]
guest.sendall("".join(json.dumps(each) + "\n" for each in many).encode())
if not all(json.loads(answers.readline())["taken"] for _ in many):
    wrong("not all were taken")
wait_for(lambda: "left within a line" in (scratch / "asked.log").read_text(encoding="utf-8"), "half a line", run)
run.kill()
run.wait()
before = changes("asked")
deaf.close()
run = start("asked", "--socket", "asked.socket", clock="wall")
wait_for(lambda: "42 lines were taken before" in (scratch / "asked.log").read_text(encoding="utf-8"), "asked again", run)
guest, answers = connect()
if not ask({"event": "finish", "job": "one \"job\""})["taken"] or changes("asked")[:len(before)] != before:
    wrong("the killed one forgot")
# Lines in files are taken beside it.
(scratch / "asked" / "b.events").write_text('{"event": "finish", "job": "job 0"}\n', encoding="utf-8")
wait_for(lambda: any(each.get("from") == "b.events" for each in records("asked")), "b.events", run)
leave(run)
if (scratch / "asked.socket").exists():
    wrong("the socket was left")
# Each policy can be talked to.
few = text[:text.index(b"\n", len(text) // 3) + 1]
for policy in subprocess.run([programs / "schedule_jobs", "--list-policies"], capture_output=True, text=True, check=True).stdout.split():
    (scratch / policy).mkdir()
    (scratch / policy / "a.events").write_bytes(few)
    runs = [start(policy, policy=policy)]
    wait_for(lambda: taken(policy, len(few)), policy, runs[0])
    leave(runs[0], signal.SIGINT, 130)
    again = start(policy, policy=policy)
    wait_for(lambda: (scratch / f"{policy}.log").read_text(encoding="utf-8").count("lines were taken before") == 2, policy, again)
    leave(again)
    if not any(each["do"] == "start" for each in changes(policy)):
        wrong(f"{policy} starts nobody")
print("ok")
