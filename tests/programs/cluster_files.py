#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of examples/clusters: shells and YAML parse, their rules fit the exit codes that the program prints, and the one for Slurm does what it says: cluster_files.py PROGRAMS SCRATCH."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

folder = pathlib.Path(os.environ["MOTET_SOURCE"]) / "examples" / "clusters"
failures = 0


def expect(good, what):
    global failures
    if not good:
        print("FAILED:", what)
        failures += 1


def parses(shell, text, name):
    done = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True, check=False)
    expect(done.returncode == 0, f"{name}: {done.stderr}")


def scripts(value):
    """Each text that a container gives to `sh -c`."""
    if isinstance(value, dict):
        if value.get("command") == ["sh", "-c"]:
            yield value["args"][0]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from scripts(each)


told = subprocess.run([pathlib.Path(sys.argv[1]) / "train_clip", "--help"], text=True, capture_output=True, check=True).stdout
codes = {int(code) for code in re.findall(r"^  (\d+) +\w", told.split("exit codes:")[1], re.M)}
final = {code for code in codes if code not in (0, 1) and (code < 128 or code == 130)}

# The script for Slurm, with an srun and an scontrol that write down what they are asked: who is put back into the queue, and what resumes.
scratch = pathlib.Path(sys.argv[2]).resolve()
shutil.rmtree(scratch, ignore_errors=True)
(scratch / "bin").mkdir(parents=True)
for name, ends in (("srun", "exit $STATUS"), ("scontrol", "exit 0")):
    (scratch / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"$ASKED"\n{ends}\n', encoding="utf-8")
    (scratch / "bin" / name).chmod(0o755)


def leg(status):
    """What one leg asks for that ends so."""
    asked = scratch / "asked"
    asked.unlink(missing_ok=True)
    around = os.environ | {"PATH": f"{scratch / 'bin'}:{os.environ['PATH']}", "ASKED": str(asked), "STATUS": str(status), "SLURM_JOB_ID": "17", "RUN": str(scratch / "run")}
    done = subprocess.run(["bash", folder / "slurm.sh", "--batch", "64"], cwd=scratch, env=around, check=False, capture_output=True, text=True)
    expect(done.returncode == status and not done.stderr, f"slurm.sh: status {done.returncode} where srun ends in {status}: {done.stderr}")
    return asked.read_text(encoding="utf-8").splitlines()


for code in sorted(codes):
    lines = leg(code)
    again = ["scontrol requeue 17"] if code >= 128 and code != 130 else []
    expect(lines[1:] == again, f"slurm.sh after {code}: {lines[1:]}, wanted {again}")
    expect(lines[0].startswith("srun --mpi=pmix train_clip ") and lines[0].endswith(" --save-every 500 --batch 64"), f"slurm.sh asks for {lines[0]}")
(scratch / "run" / "step-000500").mkdir(parents=True)
expect("--resume" not in leg(143)[0], "slurm.sh resumes from a checkpoint that is not whole")
(scratch / "run" / "step-000500" / "index.json").touch()
expect(leg(143)[0].endswith(" --save-every 500 --resume --batch 64"), "slurm.sh does not resume")

for each in folder.glob("*.sh"):
    parses("bash", each.read_text(encoding="utf-8"), each.name)
try:
    import yaml
except ImportError:
    # An environment of its own may lack what the system's Python has.
    system = "/usr/bin/python3"
    if os.path.exists(system) and "MOTET_SYSTEM_PYTHON" not in os.environ:
        os.execve(system, [system, *sys.argv], os.environ | {"MOTET_SYSTEM_PYTHON": "1"})
    print("no PyYAML (Debian: python3-yaml): YAML is not read")
    sys.exit(1 if failures else 77)
read = {each.name: yaml.safe_load(each.read_text(encoding="utf-8")) for each in sorted(folder.glob("*.yaml"))}
expect({"jobset.yaml", "mpijob.yaml", "trainjob.yaml"} <= set(read), f"files: {sorted(read)}")
for name, value in read.items():
    expect({"apiVersion", "kind", "metadata", "spec"} <= set(value), f"{name}: a member of its top is missing")
    for text in scripts(value):
        parses("sh", text, name)
rule = read["jobset.yaml"]["spec"]["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"]["rules"][0]
expect(rule["action"] == "FailJob" and set(rule["onExitCodes"]["values"]) == final, f"jobset.yaml: {rule}, wanted {sorted(final)}")

# Options that the files give are the program's.
known = set(re.findall(r"--[a-z][a-z-]+", told))
for each in folder.iterdir():
    for line in re.findall(r"train_clip .*|args: \[--.*", each.read_text(encoding="utf-8")):
        for option in re.findall(r"--[a-z][a-z-]+", line):
            expect(option in known, f"{each.name}: {option} is no option of train_clip")

# So are those of the forms in the page, where each block parses as what it says it is.
page = (folder.parent.parent / "docs" / "clusters.md").read_text(encoding="utf-8")
blocks = re.findall(r"^```(sh|yaml)\n(.*?)^```", page, re.M | re.S)
expect({kind for kind, _ in blocks} == {"sh", "yaml"}, "docs/clusters.md: no shell and YAML in it")
serves = set(re.findall(r"--[a-z][a-z-]+", subprocess.run([pathlib.Path(sys.argv[1]) / "produce", "--help"], text=True, capture_output=True, check=True).stdout))
roles = set()
for kind, text in blocks:
    if kind == "sh":
        parses("bash", text, "docs/clusters.md")
    else:
        for each in yaml.safe_load(textwrap.dedent(text)) or [None]:
            expect(each is not None, f"docs/clusters.md: {text} says nothing")
    for role, options in (("train_clip", known), ("produce", serves)):
        for line in re.findall(rf"\b{role}\b[ ,](.*)", text):
            roles.add((kind, role))
            for option in re.findall(r"--[a-z][a-z-]+", line):
                expect(option in options, f"docs/clusters.md: {option} is no option of {role}")
expect({("sh", "produce"), ("yaml", "produce"), ("sh", "train_clip")} <= roles, f"docs/clusters.md: roles {sorted(roles)}")
print("all is well" if failures == 0 else f"{failures} failures")
sys.exit(failures > 0)
