# SPDX-License-Identifier: Apache-2.0
"""jobs_emit.py PROGRAMS SCRATCH: files for Slurm, Kueue and Fluxion keep the rules of their formats, whatever jobs are called; Slurm's plug-in runs in Lua against a model of its API, and scripts in a shell with programs of ours in place of Slurm's."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

programs, scratch = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data = pathlib.Path(os.environ["MOTET_SOURCE"]) / "tests" / "data" / "jobs"
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)


def wrong(what):
    sys.exit(f"FAILED: {what}")


def start(*words):
    return subprocess.run([programs / "schedule_jobs", *map(str, words)], capture_output=True, text=True, cwd=scratch, check=False)


def keeps(value, rules, where):
    """Whether a value keeps the rules of a format, which are written as in a JSON schema; members that are not named are not allowed."""
    if "same" in rules and value != rules["same"]:
        wrong(f"{where}: {value!r}, wanted {rules['same']!r}")
    if "among" in rules and value not in rules["among"]:
        wrong(f"{where}: {value!r} is not among {rules['among']}")
    if "is" in rules and (not isinstance(value, rules["is"]) or (rules["is"] is int and isinstance(value, bool))):
        wrong(f"{where}: {value!r} is no {rules['is']}")
    if "least" in rules and value < rules["least"]:
        wrong(f"{where}: {value} < {rules['least']}")
    if "like" in rules and not (isinstance(value, str) and re.fullmatch(rules["like"], value)):
        wrong(f"{where}: {value!r} is not like {rules['like']}")
    if "each" in rules:
        if not isinstance(value, list) or not rules.get("items", 0) <= len(value) <= rules.get("most", 10**9):
            wrong(f"{where}: {value!r} is no list of {rules.get('items', 0)} to {rules.get('most', 'any')}")
        for n, item in enumerate(value):
            keeps(item, rules["each"], f"{where}[{n}]")
    if "values" in rules:
        if not isinstance(value, dict):
            wrong(f"{where}: {value!r} is no object")
        for name, item in value.items():
            keeps(name, rules["names"], where)
            keeps(item, rules["values"], f"{where}.{name}")
    if "has" in rules or "may" in rules:
        has, may = rules.get("has", {}), rules.get("may", {})
        if not isinstance(value, dict) or not set(has) <= set(value) <= set(has) | set(may):
            wrong(f"{where}: has {sorted(value) if isinstance(value, dict) else value}, wanted {sorted(has)} and perhaps {sorted(may)}")
        for name, item in value.items():
            keeps(item, (has | may)[name], f"{where}.{name}")


TEXT, COUNT = {"is": str}, {"is": int, "least": 1}
# RFC 25 of Flux: jobspec version 1. RFC 31: constraints.
HOSTS, PROPERTIES = {"has": {"hostlist": {"each": TEXT, "items": 1}}}, {"has": {"properties": {"each": {"like": r"[^!&'\"^`|()]+"}, "items": 1}}}
CORE_OR_GPU = {"has": {"type": {"among": ["core", "gpu"]}, "count": COUNT}}
SLOT = {"has": {"type": {"same": "slot"}, "count": COUNT, "label": TEXT, "with": {"each": CORE_OR_GPU, "items": 1, "most": 2}}}
JOBSPEC = {"has": {
    "version": {"same": 1},
    "resources": {"each": {"has": {"type": {"same": "node"}, "count": COUNT, "with": {"each": SLOT, "items": 1, "most": 1}}}, "items": 1, "most": 1},
    "tasks": {"each": {"has": {"command": {"each": TEXT, "items": 1}, "slot": TEXT, "count": {"has": {"per_slot": {"same": 1}}}}}, "items": 1, "most": 1},
    "attributes": {"has": {"system": {"has": {"duration": {"is": int, "least": 0}, "cwd": TEXT, "environment": {"names": TEXT, "values": TEXT}},
                                      "may": {"constraints": {"is": dict}, "job": {"has": {"name": TEXT}}, "shell": {"is": dict}}}}}}}
# What Fluxion's reader of JGF asks of vertices and edges.
VERTEX = {"has": {"id": TEXT, "metadata": {"has": {"type": TEXT, "paths": {"has": {"containment": {"like": r"(/[^/]+)+"}}}},
                                           "may": {"basename": TEXT, "name": TEXT, "id": {"is": int}, "uniq_id": {"is": int}, "rank": {"is": int, "least": -1}, "exclusive": {"is": bool},
                                                   "unit": TEXT, "size": COUNT, "properties": {"names": TEXT, "values": TEXT}}}}}
GRAPH = {"has": {"graph": {"has": {"nodes": {"each": VERTEX, "items": 1}, "edges": {"each": {"has": {"source": TEXT, "target": TEXT, "metadata": {"has": {"subsystem": {"same": "containment"}}}}}}}}}}

# Kubernetes: names of objects, of labels and of their values; JobSet v1alpha2; Kueue v1beta2.
NAME, LABEL = {"like": r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"}, {"like": r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"}
LABELS = {"names": LABEL, "values": {"like": r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"}}
ANNOTATIONS = {"names": LABEL, "values": TEXT}
META = {"has": {"name": NAME}, "may": {"namespace": NAME, "labels": LABELS, "annotations": ANNOTATIONS}}
ENV = {"has": {"name": {"like": r"[A-Z_]+"}}, "may": {"value": TEXT, "valueFrom": {"has": {"secretKeyRef": {"has": {"name": NAME, "key": TEXT}}}}}}
POD = {"has": {"restartPolicy": {"same": "Never"}, "terminationGracePeriodSeconds": COUNT, "nodeSelector": LABELS,
               "containers": {"each": {"has": {"name": NAME, "image": TEXT, "command": {"each": TEXT}, "args": {"each": TEXT}, "env": {"each": ENV},
                                               "resources": {"has": {"limits": {"names": LABEL, "values": COUNT}}}, "volumeMounts": {"each": {"has": {"name": NAME, "mountPath": {"like": "/.*"}}}}}}, "items": 1, "most": 1},
               "volumes": {"each": {"has": {"name": NAME}, "may": {"configMap": {"has": {"name": NAME}}, "persistentVolumeClaim": {"has": {"claimName": NAME}}}}}}}
JOB = {"has": {"parallelism": COUNT, "completions": COUNT, "completionMode": {"same": "Indexed"}, "backoffLimit": {"same": 0},
               "podFailurePolicy": {"has": {"rules": {"each": {"has": {"action": {"same": "FailJob"}, "onExitCodes": {"has": {"containerName": {"same": "train"}, "operator": {"same": "In"}, "values": {"each": COUNT, "items": 1}}}}}}}},
               "template": {"has": {"spec": POD}, "may": {"metadata": {"has": {"annotations": ANNOTATIONS}}}}}, "may": {"activeDeadlineSeconds": COUNT}}
FAILURE = {"has": {"maxRestarts": COUNT, "rules": {"each": {"has": {"name": {"like": r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"}, "action": {"among": ["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob"]},
                                                                   "onJobFailureReasons": {"each": {"among": ["BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"]}}}}}}}


def kueue(spec):
    return {"has": {"apiVersion": {"same": "kueue.x-k8s.io/v1beta2"}, "kind": TEXT, "metadata": META, "spec": spec}}


OBJECTS = {
    "ConfigMap": {"has": {"apiVersion": {"same": "v1"}, "kind": TEXT, "metadata": META, "data": {"names": TEXT, "values": TEXT}}},
    "JobSet": {"has": {"apiVersion": {"same": "jobset.x-k8s.io/v1alpha2"}, "kind": TEXT, "metadata": META,
                       "spec": {"has": {"suspend": {"same": True}, "failurePolicy": FAILURE,
                                        "replicatedJobs": {"each": {"has": {"name": NAME, "replicas": COUNT, "template": {"has": {"spec": JOB}}}}, "items": 1}}}}},
    "Topology": kueue({"has": {"levels": {"each": {"has": {"nodeLabel": LABEL}}, "items": 1, "most": 16}}}),
    "AdmissionCheck": kueue({"has": {"controllerName": TEXT}}),
    "ResourceFlavor": kueue({"has": {"nodeLabels": LABELS}, "may": {"topologyName": NAME}}),
    "ClusterQueue": kueue({"has": {"namespaceSelector": {"is": dict}, "admissionChecksStrategy": {"has": {"admissionChecks": {"each": {"has": {"name": NAME}}, "items": 1}}},
                                   "resourceGroups": {"each": {"has": {"coveredResources": {"each": LABEL, "items": 1}, "flavors": {"each": {"has": {
                                       "name": NAME, "resources": {"each": {"has": {"name": LABEL, "nominalQuota": {"like": r"\d+"}}}}}}}}}, "items": 1}}}),
    "LocalQueue": kueue({"has": {"clusterQueue": NAME}}),
}
CHECK = {"has": {"name": NAME, "state": {"among": ["Pending", "Ready", "Retry", "Rejected"]}, "lastTransitionTime": {"like": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}, "message": TEXT},
         "may": {"podSetUpdates": {"each": {"has": {"name": NAME}, "may": {"annotations": ANNOTATIONS, "nodeSelector": LABELS}}, "most": 18}}}

# Jobs whose names are of a kind that breaks what was written with less care.
odd = ["O'Neill's \"best\" $(touch pwned)", "\u00fcn\u00ef-c\u00f6d\u00e9 1", "back\\slash]]--", "A Name With CAPITALS", "a/../b", "-dash", "`touch pwned`", "%n;touch pwned"]
lines = (data / "trace.csv").read_text().splitlines()
cells = [line.split(",") for line in lines]
late = max(range(1, len(cells)), key=lambda n: n if float(cells[n][1]) < float(cells[1][1]) + 3 * 3600 else 0)
for n, name in enumerate(odd):
    cells[late - n][0] = '"' + name.replace('"', '""') + '"'
(scratch / "odd.csv").write_text("\n".join(",".join(row) for row in cells) + "\n")
site = {"command": ["train_clip", "--data", "/data/o'shapes $HOME"], "runs": str(scratch / "runs"), "account": "lab", "minutes": 240, "namespace": "training", "queue": "gpus", "image": "registry.example/motet:1",
        "levels": ["cloud.example/rack", "kubernetes.io/hostname"], "claims": {"motet-run": "/run/motet", "motet-data": "/data"},
        "kinds": {"fast": {"partition": "gpu-fast", "feature": "h100", "gres": "gpu", "flavor": "h100", "cores": 8, "labels": {"nvidia.com/gpu.product": "H100-SXM"}, "hosts": [f"n{n}" for n in range(8)]}}}
(scratch / "site.json").write_text(json.dumps(site))
names = sorted({row[3] for row in cells[1:]})
eye = {"name": "eye", "layers": 24, "width": 1024, "heads": 16, "tokens": 256}
tower = {"name": "tower", "layers": 24, "width": 1280, "heads": 20, "tokens": 256, "vocabulary": 50000, "causal": True}
(scratch / "models.json").write_text(json.dumps({name: {"towers": [eye, tower] if name.startswith("writer") else [tower]} for name in names}))
kinds = json.loads((data / "cluster.json").read_text())
for kind, like in zip(kinds["kinds"], ["h100", "a100", "v100"]):
    kind |= {"like": like}
(scratch / "like.json").write_text(json.dumps(kinds))
MEASURED = ["--trace", "odd.csv", "--times", data / "times.csv", "--memory", data / "memory.json", "--cluster", data / "cluster.json", "--hours", 3]
BY_CELLS = ["--trace", "odd.csv", "--times", "cells", "--models", "models.json", "--cluster", "like.json", "--hours", 0.3, "--site", "site.json"]


def emit(to, folder, *words):
    run = start(*words, "--emit", to, "--output", folder)
    if run.returncode != 0:
        wrong(f"{words} --emit {to} ended with {run.returncode}: {run.stderr}")
    out = scratch / folder
    decided = {each["job"]: each for each in json.loads((out / "decisions.json").read_text())["jobs"]}
    for each in decided.values():
        if each["state"] == "running" and (len(each["hosts"]) * each["per_node"] != each["devices"] or each["iteration_seconds"] <= 0):
            wrong(f"decided {each}")
        if "plan" in each:
            plan = json.loads((out / each["plan"]).read_text())
            if plan["cluster"]["ranks"] != each["devices"]:
                wrong(f"{each} has a plan for {plan['cluster']}")
    if subprocess.run(["sh", "-n", out / "submit.sh"], check=False).returncode != 0:
        wrong(f"{out / 'submit.sh'} is no script")
    return out, decided


def check_fluxion(out, decided):
    graph = json.loads((out / "cluster.json").read_text())
    keeps(graph, GRAPH, "cluster.json")
    graph = graph["graph"]
    hosts = {each["metadata"]["name"]: each["metadata"]["properties"] for each in graph["nodes"] if each["metadata"]["type"] == "node"}
    paths = {each["id"]: each["metadata"]["paths"]["containment"] for each in graph["nodes"]}
    if len(set(paths.values())) != len(paths) or any(paths[each["target"]].rpartition("/")[0] != paths[each["source"]] for each in graph["edges"]):
        wrong("edges of the graph do not follow its paths")
    seen = set()
    for file in (out / "jobs").iterdir():
        job = json.loads(file.read_text())
        keeps(job, JOBSPEC, file.name)
        of = decided[job["attributes"]["system"]["job"]["name"]]
        seen.add(of["job"])
        where = job["attributes"]["system"]["constraints"]
        if of["state"] == "running":
            keeps(where, {"has": {"and": {"each": {"is": dict}, "items": 2, "most": 2}}}, file.name)
            keeps(where["and"][0], PROPERTIES, file.name)
            keeps(where["and"][1], HOSTS, file.name)
            if any(where["and"][0]["properties"][0] not in hosts[host] for host in where["and"][1]["hostlist"]):
                wrong(f"{file.name}: its hosts lack its property")
        else:
            keeps(where, PROPERTIES, file.name)
    if seen != {name for name, each in decided.items() if each["state"] != "dropped"}:
        wrong(f"jobs of fluxion {seen}")


def check_kueue(out, decided):
    objects = json.loads((out / "queues.json").read_text())["items"]
    flavors = [each["metadata"]["name"] for each in objects if each["kind"] == "ResourceFlavor"]
    queue = next(each for each in objects if each["kind"] == "ClusterQueue")["spec"]["resourceGroups"]
    if sorted(flavors) != sorted(each["name"] for group in queue for each in group["flavors"]):
        wrong(f"flavors {flavors}")
    covered = {name for group in queue for name in group["coveredResources"]}
    sets, parted = {}, False
    for file in (out / "jobs").iterdir():
        objects += json.loads(file.read_text())["items"]
    for each in objects:
        keeps(each, OBJECTS[each["kind"]], each["metadata"]["name"])
        if each["kind"] == "JobSet":
            sets[each["metadata"]["name"]] = each
            parted |= [job["name"] for job in each["spec"]["replicatedJobs"]] == ["eye", "eye-tower", "tower"]
            before = 0  # nodes of the jobs of the set so far
            for job in each["spec"]["replicatedJobs"]:
                pod = job["template"]["spec"]["template"]["spec"]
                container = pod["containers"][0]
                # Pods are called so, and must be labels.
                if len(f"{each['metadata']['name']}-{job['name']}-0-{job['template']['spec']['completions']}-xxxxx") > 63 or not set(container["resources"]["limits"]) <= covered:
                    wrong(f"{each['metadata']}")
                if not {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}:
                    wrong("mounts and volumes differ")
                if len(each["spec"]["replicatedJobs"]) > 1 and f"PET_NODE_RANK=$(({before} + JOB_COMPLETION_INDEX))" not in container["args"][0]:
                    wrong(f"{each['metadata']}: {job['name']} does not count its nodes from {before}")
                before += job["template"]["spec"]["completions"]
    for each in json.loads((out / "admission.json").read_text())["workloads"]:
        keeps(each, {"has": {"job": TEXT, "jobset": {"has": {"name": NAME, "namespace": NAME}}, "admissionCheck": CHECK}}, "admission.json")
        of, state = decided[each["job"]], each["admissionCheck"]["state"]
        if state != {"running": "Ready", "waiting": "Pending", "dropped": "Rejected"}[of["state"]]:
            wrong(f"{each}")
        if state != "Rejected":
            mine = sets.pop(each["jobset"]["name"])
            if mine["metadata"]["annotations"]["motet/job"] != each["job"] or sum(job["template"]["spec"]["completions"] for job in mine["spec"]["replicatedJobs"]) * of["per_node"] != of["devices"]:
                wrong(f"{mine['metadata']}")
    if any("plan" in each and each["model"].startswith("writer") for each in decided.values()) and not parted:
        wrong("no JobSet has the writer's eye on nodes of its own")
    if sets:
        wrong(f"sets of nobody: {sorted(sets)}")


# Slurm's API as far as plug-ins see it: fields that may be set, their kinds, and functions that write logs.
MOCK = r"""
slurm = {SUCCESS = 0, ERROR = -1}
for _, name in ipairs{"log_info", "log_error", "log_user", "log_debug"} do
  slurm[name] = function(text, ...) said = string.format(text, ...) end
end
local kinds = {name = "string", partition = "string", features = "string", req_nodes = "string", tres_per_node = "string", min_nodes = "number", max_nodes = "number", ntasks_per_node = "number", num_tasks = "number", priority = "number"}
function description(name, variables)
  local fields = {name = name}
  local environment = setmetatable({}, {__index = variables, __newindex = function(_, key, value) assert(type(value) == "string") variables[key] = value end})
  return setmetatable({}, {__index = function(_, key) if key == "environment" then return environment end return fields[key] end,
    __newindex = function(_, key, value) assert(kinds[key] == type(value), "no field of that kind: " .. key) fields[key] = value end}), fields, variables
end
assert(loadfile(arg[1]))()
for line in io.lines(arg[2]) do
  local name = line:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)
  said = ""
  local desc, fields, variables = description(name, {})
  local status = slurm_job_submit(desc, {}, 1000)
  assert(slurm_job_modify(desc, {}, {}, 1000) == slurm.SUCCESS)
  local out = {}
  for _, key in ipairs{"partition", "features", "req_nodes", "min_nodes", "max_nodes", "ntasks_per_node", "num_tasks", "tres_per_node", "priority"} do out[#out + 1] = tostring(fields[key]) end
  print(status .. "|" .. table.concat(out, "|") .. "|" .. tostring(variables.PLAN))
end
"""


def check_slurm(out, decided, kind_of):
    lua = shutil.which("lua5.4") or shutil.which("lua5.3") or shutil.which("lua")
    asked = [*decided, "nobody's"]
    if lua is None:
        print("no lua here (Debian: lua5.4): job_submit.lua is not run")
    else:
        (scratch / "mock.lua").write_text(MOCK)
        (scratch / "names.txt").write_text("".join(name.encode().hex() + "\n" for name in asked))
        run = subprocess.run([lua, scratch / "mock.lua", out / "job_submit.lua", scratch / "names.txt"], capture_output=True, text=True, check=False)
        if run.returncode != 0 or len(run.stdout.splitlines()) != len(asked):
            wrong(f"{lua}: {run.stdout} {run.stderr}")
        for name, line in zip(asked, run.stdout.splitlines()):
            of = decided.get(name)
            wanted = ["0"] + ["nil"] * 10
            if of and of["state"] == "waiting":
                wanted[9] = "0"
            elif of and of["state"] == "dropped":
                wanted[0] = "-1"
            elif of:
                nodes, (partition, feature, gres) = str(len(of["hosts"])), kind_of(of["kind"])
                wanted = ["0", partition, feature, ",".join(of["hosts"]), nodes, nodes, str(of["per_node"]), str(of["devices"]), f"gres/{gres}:{of['per_node']}", "nil", f"{out}/{of['plan']}" if "plan" in of else "nil"]
            if line.split("|") != wanted:
                wrong(f"{name}: the plug-in made {line}, wanted {wanted}")
        # Without its table the plug-in leaves all jobs to the site.
        shutil.move(out / "cells.lua", out / "aside")
        run = subprocess.run([lua, scratch / "mock.lua", out / "job_submit.lua", scratch / "names.txt"], capture_output=True, text=True, check=False)
        (out / "cells.lua").write_text("return 3 +")
        broken = subprocess.run([lua, scratch / "mock.lua", out / "job_submit.lua", scratch / "names.txt"], capture_output=True, text=True, check=False)
        shutil.move(out / "aside", out / "cells.lua")
        for each in (run, broken):
            if each.returncode != 0 or set(each.stdout.split()) != {"0" + "|nil" * 10}:
                wrong(f"without a table: {each.stdout} {each.stderr}")
    # What sbatch reads, and what the shell then does; srun, scontrol and sbatch are ours.
    tools = scratch / "tools"
    tools.mkdir(exist_ok=True)
    for name, body in {"srun": 'printf "%s\\n" "$@" > "$TOLD"; exit ${STATUS:-0}', "scontrol": 'printf "%s\\n" "$*" >> "$TOLD"', "sbatch": 'printf "%s\\n" "$1" >> "$TOLD"'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    told = scratch / "told"
    around = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "TOLD": str(told), "SLURM_JOB_ID": "7"}
    around.pop("PLAN", None)
    told.write_text("")
    if subprocess.run(["sh", out / "submit.sh"], env=around, check=False).returncode != 0 or {out / each for each in told.read_text().splitlines()} != set((out / "jobs").iterdir()):
        wrong(f"submit.sh submitted {told.read_text()}")
    for file in sorted((out / "jobs").iterdir()):
        options = dict(re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(.*))?", line).groups() for line in file.read_text().splitlines() if line.startswith("#SBATCH"))
        of = decided[re.sub(r"\\(.)", r"\1", options["job-name"][1:-1])]
        if int(options["nodes"]) * int(options["ntasks-per-node"]) != of["devices"] or ("hold" in options) != (of["state"] == "waiting") or options.get("nodelist", "") != ",".join(of["hosts"]):
            wrong(f"{file.name}: {options} for {of}")
        run = subprocess.run(["bash", file], env=around, capture_output=True, text=True, cwd=scratch, check=False)
        words = told.read_text().split("\n")[:-1]
        if run.returncode != 0 or run.stderr or words[:2] != ["--mpi=pmix", "train_clip"] or ("plan" in of) != ("--plan" in words) or "--resume" in words:
            wrong(f"{file.name} started {words}: {run.stderr}")
    # A run that goes on, one that is asked to leave, and one that is refused.
    saved = pathlib.Path(words[words.index("--checkpoint") + 1])
    saved = saved if saved.is_absolute() else scratch / saved
    (saved / "step-5").mkdir(parents=True)
    (saved / "step-5" / "index.json").write_text("{}")
    for status, again in ((143, True), (3, False), (130, False)):
        run = subprocess.run(["bash", file], env=around | {"STATUS": str(status), "PLAN": "my plan.json"}, capture_output=True, text=True, cwd=scratch, check=False)
        words = told.read_text().split("\n")[:-1]
        if run.returncode != status or ("requeue 7" in words) != again or "--resume" not in words or words[words.index("--plan") + 1] != "my plan.json":
            wrong(f"{status}: {words}")
    shutil.rmtree(saved)


usual = lambda kind: (kind, kind, f"gpu:{kind}")
named = lambda kind: ("gpu-fast", "h100", "gpu") if kind == "fast" else usual(kind)
for how, words, kind_of in (("measured", MEASURED, usual), ("cells", BY_CELLS, named)):
    out, decided = emit("slurm", f"slurm-{how}", *words)
    check_slurm(out, decided, kind_of)
    check_kueue(*emit("kueue", f"kueue-{how}", *words))
    out, decided = emit("fluxion", f"fluxion-{how}", *words)
    check_fluxion(out, decided)
    states = {each["state"] for each in decided.values()}
    if how == "measured" and (not {"running", "waiting"} <= states or len(set(odd) & set(decided)) < 4):
        wrong(f"too little is tried: {states} {sorted(decided)}")
    if how == "cells" and not any("plan" in each for each in decided.values()):
        wrong("no job has a plan")
if any(scratch.rglob("pwned")):
    wrong("a name of a job was run")

# A folder is replaced as a whole, if it is one of ours.
emit("slurm", "slurm-measured", *MEASURED, "--policy", "fcfs")
(scratch / "mine").mkdir()
(scratch / "mine" / "thesis.tex").write_text("x")


def refused(code, says, *words):
    run = start(*words)
    if run.returncode != exit_codes.owed(f"[{code}]") or f"[{code}]" not in run.stderr or says not in run.stderr:
        wrong(f"{words} ended with {run.returncode}, wanted {code} and {says!r}: {run.stderr}")


refused("MT-X03", "is there and has no decisions.json", *MEASURED, "--emit", "slurm", "--output", "mine")
refused("MT-X03", "wants --output FOLDER and --hours", *MEASURED, "--emit", "kueue")
refused("MT-X03", "wants --output FOLDER and --hours", *MEASURED[:-2], "--emit", "fluxion", "--output", "o")
refused("MT-X03", "--site wants --watch, or --emit", *MEASURED, "--site", "site.json")
(scratch / "bad.json").write_text('{"kinds": {"fast": {"hosts": ["a"]}}}')
refused("MT-J30", "bad.json, kinds.fast.hosts: got 1 names, wanted one for each of the 8 nodes", *MEASURED, "--emit", "slurm", "--output", "o", "--site", "bad.json")
(scratch / "bad.csv").write_text("\n".join([lines[0], '"two\nlines"' + lines[1][lines[1].index(","):]]) + "\n")
refused("MT-J31", "has a control character in its name", *MEASURED[2:], "--trace", "bad.csv", "--emit", "slurm", "--output", "o")
if (scratch / "mine" / "thesis.tex").read_text() != "x" or (scratch / "o").exists():
    wrong("a refusal left something")
print("ok")
