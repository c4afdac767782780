# SPDX-License-Identifier: Apache-2.0
"""plan_cluster.py PROGRAMS SCRATCH: what it prints in every form, the plan it prints trained (from JSON and from the compiled header, by threads and by
processes) with the losses of one rank, every refusal, and the commands of its page."""
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import exit_codes  # noqa: E402

programs = pathlib.Path(sys.argv[1]).resolve()
scratch = pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(os.environ["MOTET_SOURCE"])
# What reads headers, clang where it is, proves the plan of one in half the time.
compiler = os.environ.get("MOTET_READER", os.environ.get("MOTET_CXX", "c++"))
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
failed = checks = 0


def wanted(what, holds, said=""):
    global failed, checks
    checks += 1
    if not holds:
        failed += 1
        print(f"FAILED: {what}: {said}")


def start(*words, environment=None):
    said = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, cwd=scratch, timeout=300, env=environment)
    said.stderr = without_progress(said.stderr)
    return said


def without_progress(text):
    """What a program says that takes more than two seconds."""
    return re.sub(r"^(plan_cluster|train_clip): \d+ s, .*\n", "", text, flags=re.M)


def find(*words):
    return start(programs / "plan_cluster", *words)


def train(*words):
    return start(programs / "train_clip", *words)


def answer(*words):
    """The JSON of a search, with all that must hold of any."""
    said = find(*words, "--emit", "json")
    try:
        out = json.loads(said.stdout)
    except ValueError:
        out = {"plans": []}
    what = " ".join(map(str, words))
    wanted(what, said.returncode == 0 and said.stderr == "" and out["plans"], said.stdout[:300] + said.stderr)
    steps = [each["step_seconds"] for each in out["plans"]]
    wanted(f"{what}: best first", steps == sorted(steps) and all(step > 0 for step in steps), steps)
    for i, each in enumerate(out["plans"]):
        wanted(f"{what}: samples a second", math.isclose(each["samples_per_second"], out["batch"] / each["step_seconds"], rel_tol=1e-9), each)
        wanted(f"{what}: shares", 0 <= each["bubble_rate"] < 1 and 0 <= each["communication_share"] <= 1, each)
        wanted(f"{what}: bytes", each["memory_bytes"] > 0 and each["node_traffic_bytes"] >= 0, each)
        towers = list(each["plan"]["modules"])
        wanted(f"{what}: towers", [of["name"] for of in each["modules"]] == towers and all(tower + ": " in each["layout"] for tower in towers), each)
        wanted(f"{what}: bytes of towers", all(0 < of["bytes"]["total"] <= each["memory_bytes"] * (1 + 1e-9) for of in each["modules"]), each)
        wanted(f"{what}: why it lost", (each["why_lost"] is None) == (i == 0), each)
        wanted(f"{what}: its devices", each["plan"]["cluster"]["ranks"] == out["devices"], each["plan"]["cluster"])
    return out


def by_mpi(ranks, *words):
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return start("timeout", "-k", "5", "100", "mpirun", "-n", ranks, *words, environment=environment)


# ---- a header for two small towers, and a program that trains by it, which compiles beside the rest
(scratch / "small.json").write_text(json.dumps({"name": "small", "towers": [
    {"name": "picture", "layers": 2, "width": 16, "heads": 2, "tokens": 5, "embedding": 8},
    {"name": "caption", "layers": 2, "width": 8, "heads": 2, "tokens": 6, "vocabulary": 20, "embedding": 8}]}))
said = find("--model", "small.json", "--cluster", "laptop:1x8", "--batch", 16, "--pin", "picture:stages=2,data=2,ranks=4", "--pin", "caption:data=4",
            "--apart", "--emit", "header", "--name", "small_layout", "--output", "small_layout.hpp")
wanted("a header for small towers", said.returncode == 0, said.stderr)
build = [*shlex.split(compiler), "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
build += [f"-I{source / 'include'}", f"-I{source / 'examples'}", f"-I{source / 'tests'}", f"-I{scratch}"]
mpi_build, mpi_link = [], []
if shutil.which("mpicxx") and shutil.which("mpirun"):
    flags = start("mpicxx", "--showme:incdirs")
    if flags.returncode == 0:
        mpi_build = ["-DMOTET_HAS_MPI=1", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *(f"-isystem{folder}" for folder in flags.stdout.split())]
        mpi_link = start("mpicxx", "--showme:link").stdout.split()
# What trains is linked, where it was built for this.
archives = os.environ.get("MOTET_ARCHIVES", "").split()
linked = ["-DMOTET_COMPILED_KERNELS=1", "-DMOTET_COMPILED_RANKS=1"] if archives else []
trainer_build = subprocess.Popen([*build, *linked, *mpi_build, source / "tests" / "tools" / "train_by_header.cpp", *archives, "-o", "train_by_header", "-pthread", *mpi_link],
                                 cwd=scratch, stderr=subprocess.PIPE, text=True)

LAPTOP = ["--model", "quick", "--cluster", "laptop:1x8", "--batch", 64]
# The same with less to search.
APART = [*LAPTOP, "--apart"]

# ---- names
wanted("help", find("--help").returncode == 0 and "--contrastive" in find("--help").stdout)
models, clusters = find("--list-models").stdout, find("--list-clusters").stdout
for name in ["quick", "tiny", "small", "b16", "l14", "clip-1.1b", "clip-9.3b", "clip-19.7b", "coca-1.5b", "coca-13.4b", "coca-26b", "lit-1.1b", "lit-19.7b", "mllm-9b", "mllm-72b"]:
    wanted(f"model {name}", re.search(rf"^\s*{re.escape(name)}\b", models, re.M), models)
for name in ["v100", "a100", "h100", "h200", "a800-96", "a800-1296", "laptop", "here"]:
    wanted(f"cluster {name}", re.search(rf"^\s*{name}\b", clusters, re.M), clusters)
here = find("--model", "quick", "--cluster", "here:3", "--batch", 48, "--top", 1, "--emit", "json")
wanted("this machine, measured", here.returncode == 0 and json.loads(here.stdout)["plans"][0]["plan"]["cluster"]["ranks"] == 3, here.stderr)
for size in ["here:0", "here:x", "here:5000", "here:"]:
    refused = find("--model", "quick", "--cluster", size, "--batch", 48)
    wanted(f"{size} is refused", refused.returncode == 3 and "[MT-P76]" in refused.stderr and not refused.stdout, refused.stderr)

# ---- chains: an encoder, a language model and a generator
CHAIN = ["--model", "mllm-9b", "--cluster", "a800-96", "--batch", 128]
chains = {search: json.loads(find(*CHAIN, "--search", search, "--emit", "json").stdout) for search in ["megatron", "proportional", "disttrain", "motet"]}
for search, said in chains.items():
    parts = said["per_module"]
    wanted(f"{search}: what was asked", (said["search"], said["model"], said["devices"], said["batch"]) == (search, "mllm-9b", 96, 128), said)
    apart = [each for each in parts.values() if not each["shares"]]
    wanted(f"{search}: ranks", said["ranks_used"] == sum(each["ranks"] for each in apart) <= 96, said)
    wanted(f"{search}: degrees", all(each["ranks"] == each["stages"] * each["data"] * each["tensor"] for each in apart), said)
    wanted(f"{search}: shares", all(0 < each["mfu"] <= each["busy"] <= 1 for each in parts.values()) and 0 < said["mfu"] < 1, said)
    wanted(f"{search}: rate", math.isclose(said["samples_per_second"] * said["step_seconds"], 128, rel_tol=1e-9), said)
wanted("chains: order", chains["motet"]["step_seconds"] <= chains["disttrain"]["step_seconds"] < chains["proportional"]["step_seconds"] < chains["megatron"]["step_seconds"], chains)
frozen = json.loads(find(*CHAIN, "--frozen", "encoder,language", "--emit", "json").stdout)
wanted("chains: frozen parts", not frozen["per_module"]["encoder"]["learns"] and frozen["step_seconds"] < chains["motet"]["step_seconds"], frozen)
told = find(*CHAIN, "--search", "disttrain").stdout
JOINT = ["--model", "mllm-15b", "--cluster", "a800-96", "--batch", 64, "--sigma", 0]
joint = json.loads(find(*JOINT, "--emit", "json").stdout)["per_module"]
wanted("chains: an encoder that is multiplexed", joint["encoder"]["multiplexed"] and joint["encoder"]["shares"] and not joint["language"]["multiplexed"], joint)
wanted("chains: no published search multiplexes", not any(said["per_module"]["encoder"]["multiplexed"] for said in chains.values()), chains)
wanted("chains: multiplexed in text", "encoder: multiplexed on the language model's ranks, each with a part of every microbatch; busy" in find(*JOINT).stdout)
wanted("chains: text", "encoder: 1 stages x 11 data" in told and "of the peak of 95 ranks (of 96)" in told, told)

# ---- encoders in the gaps of a language model
FILLED = ("--model", "vit-22b+gpt-175b", "--cluster", "hopper-3072", "--batch", "1536")
filled = {search: json.loads(find(*FILLED, "--search", search, "--emit", "json").stdout) for search in ["megatron", "megatron-balanced", "optimus", "motet"]}
for search, said in filled.items():
    wanted(f"{search}: what was asked", (said["search"], said["devices"], said["batch"], said["fills"]) == (search, 3072, 1536, search in ("optimus", "motet")), said)
    wanted(f"{search}: grids", all(math.prod(said["language"].values()) == 3072 and (not said["fills"] or math.prod(said["encoder"].values()) == 3072) for _ in [0]), said)
    wanted(f"{search}: idle", math.isclose(sum(said["idle"].values()), said["bubble_rate"], abs_tol=1e-9), said)
wanted("filled: order", filled["motet"]["step_seconds"] <= filled["optimus"]["step_seconds"] < filled["megatron-balanced"]["step_seconds"] < filled["megatron"]["step_seconds"], filled)
wanted("filled: shares", filled["motet"]["filled_fine"] > 0.9 > filled["optimus"]["filled_coarse"] > 0.5, filled)
wanted("filled: slices", (filled["motet"]["slices"], filled["optimus"]["slices"]) == (2, 1), filled)
told = find(*FILLED, "--search", "optimus").stdout
wanted("filled: text", "language model: 48 data x 8 stages x 8 tensor, 12 chunks, 16 microbatches" in told and "exchanges of tensor groups" in told, told)
# Every model on every cluster that it fits, by each search in turn.
searches, clusters = ["megatron", "megatron-balanced", "optimus", "motet"], [64, 128, 256, 512, 1024, 1536, 2048, 3072]
pairs = [(encoder, language) for encoder in ["vit-3b", "vit-5b", "vit-11b", "vit-22b"] for language in ["gpt-11b", "llama-70b", "gpt-175b"]]
for i, (encoder, language) in enumerate(pairs + [("vit-22b+vit-11b", "gpt-175b"), ("vit-11b+vit-5b", "llama-70b")]):
    devices = clusters[i % 8] if language != "gpt-175b" else max(clusters[i % 8], 256)
    said = json.loads(find("--model", f"{encoder}+{language}", "--cluster", f"hopper-{devices}", "--batch", devices, "--search", searches[i % 4], "--emit", "json").stdout)
    wanted(f"{encoder}+{language} on {devices}", said["step_seconds"] > 0 and 0 < said["memory_bytes"]["mean"] <= said["memory_bytes"]["worst"] and 0 < said["bubble_rate"] < 1, said)
    wanted(f"{encoder}+{language}: shares", 0 <= said["filled_coarse"] <= said["filled_fine"] <= 1 and all(0 <= each < 1 for each in said["idle"].values()), said)
frozen = json.loads(find(*FILLED, "--search", "optimus", "--frozen", "encoder", "--emit", "json").stdout)
wanted("a frozen encoder", frozen["frozen"] and frozen["step_seconds"] <= filled["optimus"]["step_seconds"] and frozen["memory_bytes"]["worst"] < filled["optimus"]["memory_bytes"]["worst"], frozen)
# Gaps inside operations as a profile has them, in every search.
(scratch / "waits.json").write_text(json.dumps({"machine": "nodes of eight", "activation_bytes": 2, "modules": [], "gaps": [{"module": "gpt-175b", "tensor": 8, "shares": [0.4, 0.4, 0.4]}]}))
for search, counted in filled.items():
    said = json.loads(find(*FILLED, "--search", search, "--profile", "waits.json", "--emit", "json").stdout)
    wanted(f"{search}: measured gaps", (said["gaps"], said["measured"], counted["gaps"], counted["measured"]) == ("measured", ["gpt-175b"], "counted", []) and said["step_seconds"] > 1.1 * counted["step_seconds"], said)
wanted("filled: which gaps", "gaps inside operations are counted, but of gpt-175b measured" in find(*FILLED, "--search", "optimus", "--profile", "waits.json").stdout)
wanted("two encoders", json.loads(find("--model", "vit-11b+vit-5b+gpt-175b", "--cluster", "hopper-512", "--batch", "256", "--emit", "json").stdout)["step_seconds"] > 0)

# ---- cells: a plan for each number of devices and stages of a job
for search in ["crius", "cells"]:
    said = json.loads(find("--model", "clip-1.1b", "--cluster", "h100:2", "--batch", 256, "--search", search, "--emit", "json").stdout)
    runs = [each for each in said["cells"] if each["runs"]]
    wanted(f"{search}: cells", len(said["cells"]) == 15 and len(runs) > 8, said["cells"])
    wanted(f"{search}: numbers", all(0 < each["step_seconds_bar"] < each["step_seconds"] and each["provenance"] == "modelled" and each["plan"]["cluster"]["ranks"] == each["devices"]
                                     and math.isclose(each["samples_per_second"] * each["step_seconds"], 256, rel_tol=1e-9) for each in runs), runs)
    wanted(f"{search}: gaps", all(each["gaps"] in ("none", "counted") for each in runs), runs)
    wanted(f"{search}: the best first", [each["step_seconds"] for each in said["plans"]] == [min(each["step_seconds"] for each in runs)], said["plans"])
told = find("--model", "clip-1.1b", "--cluster", "v100", "--batch", 256, "--search", "crius").stdout
wanted("cells: text", "15 cells, times modelled" in told and "does not fit" in told and re.search(r"^best +\d+ +\d+ ", told, re.M), told)
for words, says in [(["--emit", "svg"], "--emit of cells"), (["--top", 2], "--top is not for"), (["--pin", "vision:tensor=1"], "--pin wants --search motet")]:
    refused = find("--model", "clip-1.1b", "--cluster", "h100", "--batch", 256, "--search", "crius", *words)
    wanted(f"cells refuse {words}", refused.returncode == exit_codes.owed(refused.stderr) and says in refused.stderr, refused.stderr)
refused = find("--model", "clip-19.7b", "--cluster", "laptop", "--batch", 256, "--search", "cells")
wanted("cells that fit nowhere", refused.returncode == 3 and "[MT-P85]" in refused.stderr, refused.stderr)
wanted("cells of a chain", "wants towers" in find("--model", "mllm-9b", "--cluster", "a800-96", "--batch", 128, "--search", "crius").stderr)

# ---- quotas: modules share devices
said = json.loads(find("--model", "b16", "--cluster", "h100:1x1", "--batch", 8, "--search", "quotas", "--emit", "json").stdout)
ways = {name: each["step_seconds"] for name, each in said["ways"].items()}
wanted("quotas: order", 0 < ways["best"] <= ways["walled"] and ways["best"] < ways["waves"] <= min(ways["in_turn"], ways["disjoint"]), ways)
wanted("quotas: ranks of one GPU", said["plans"][0]["plan"]["cluster"]["ranks"] == 2 and sum(map(int, said["plans"][0]["sm_share"].split(","))) <= 120, said["plans"])
told = find("--model", "three-towers", "--cluster", "h100:1x4", "--batch", 16, "--search", "quotas").stdout
wanted("quotas: text", "waves of such sets" in told and re.search(r"in lane 1 with +\d+\.\d %", told), told)
refused = find("--model", "b16", "--cluster", "v100", "--batch", 8, "--search", "quotas")
wanted("quotas of other devices", refused.returncode == exit_codes.owed(refused.stderr) and "[MT-P100]" in refused.stderr, refused.stderr)

# ---- forms: one answer in four of them
begun = time.monotonic()
whole = answer(*LAPTOP)
# A build with sanitizers plans some fifty times slower: it leaves out what is the same on larger clusters.
slow = time.monotonic() - begun > 15
wanted("five plans, all different", len({json.dumps(each["plan"]) for each in whole["plans"]}) == 5, len(whole["plans"]))
wanted("what was asked", (whole["search"], whole["model"], whole["cluster"], whole["batch"]) == ("motet", "quick", "laptop:1x8", 64), whole)
found = answer(*APART)
best = found["plans"][0]
wanted("again the same", find(*APART, "--emit", "json").stdout == find(*APART, "--emit", "json").stdout)
top = answer(*APART, "--top", 2)
# Whose gaps are counted and whose were measured is said, of whoever has somebody to wait for.
cut = [*APART, "--top", 1, "--pin", "picture:tensor=2,data=1,stages=1,context=1", "--pin", "caption:tensor=1,data=2,stages=1,context=1,zero=0"]
counted = {each["name"]: each["gaps"] for each in answer(*cut)["plans"][0]["modules"]}
wanted("gaps are counted", counted["picture"]["are"] == "counted" and counted["picture"]["forward"] > 0 and counted["caption"] is None, counted)
(scratch / "gaps.json").write_text(json.dumps({"machine": "m", "activation_bytes": 4, "modules": [], "gaps": [{"module": "picture", "tensor": 2, "shares": [0.25, 0.25, 0.25]}]}))
waits = [each["gaps"] for each in answer(*cut, "--profile", "gaps.json")["plans"][0]["modules"] if each["name"] == "picture"][0]
wanted("gaps are measured", waits["are"] == "measured" and math.isclose(waits["forward"], 0.25) and math.isclose(waits["backward"], 0.25), waits)
wanted("the best two of them", [each["plan"] for each in top["plans"]] == [each["plan"] for each in found["plans"][:2]])

text = find(*APART).stdout
for part in ["quick on laptop:1x8: 8 devices, 64 samples a step", best["layout"], found["plans"][1]["why_lost"]["says"], "picture: ", "caption: ",
             "node 0: devices 0"]:
    wanted(f"text has {part}", part in text, text)
wanted("a line for each plan", all(re.search(rf"^{i + 1}  ", text, re.M) for i in range(len(found["plans"]))), text)

picture = find(*APART, "--emit", "svg").stdout
root = xml.etree.ElementTree.fromstring(picture)
wanted("svg", root.tag.endswith("svg") and "quick on laptop:1x8" in picture and all(f"rank {i}" in picture for i in range(8)), picture[:200])

header = find(*APART, "--emit", "header", "--output", "quick_on_laptop.hpp")
text = (scratch / "quick_on_laptop.hpp").read_text()
wanted("header", header.returncode == 0 and header.stdout == "" and "constexpr motet::plan quick_on_laptop_1x8()" in text, text)
wanted("header by name", "constexpr motet::plan mine()" in find(*APART, "--emit", "header", "--name", "mine").stdout)
wanted("output", find(*APART, "--emit", "svg", "--output", "out.svg").stdout == "" and (scratch / "out.svg").read_text() == picture)

# ---- a limit: a plan, and what was not tried
for form in ["json", "text", "header"]:
    said = find("--model", "quick", "--cluster", "laptop:4x8", "--batch", 512, "--seconds", "0.001", "--emit", form)
    told = said.stdout if form == "text" else said.stderr
    wanted(f"{form}: what was not tried", said.returncode == 0 and re.search(
        r"the search ended after its 0.001 seconds \(--seconds\) with the best of \d+ plans? that it played; not tried: \d+ of \d+ .* and ", told), said)
    if form == "json":
        hurried = json.loads(said.stdout)
        wanted("the sentence is in the answer", hurried["not_tried"] in told and hurried["plans"] and hurried["simulated"] > 0, hurried)
wanted("an unhurried search says nothing of it", "not_tried" not in whole and "--seconds" not in find(*LAPTOP).stdout)

# ---- pins and wishes
for each in answer(*LAPTOP, "--pin", "picture:tensor=2,data=2", "--pin", "caption:ranks=1")["plans"]:
    of = {module["name"]: module for module in each["modules"]}
    wanted("pins hold", of["picture"]["tensor"] == 2 and of["picture"]["data"] == 2 and of["caption"]["ranks"] == 1, each["layout"])
for each in answer(*APART, "--contrastive", 16)["plans"]:
    wanted("a loss for each 16 samples", all(module["microbatches"] == 4 * module["group"] for module in each["modules"]), each)


def held(of):
    """The ranks of each tower."""
    out = []
    for name, module in of["plan"]["modules"].items():
        size = next(each["ranks"] for each in of["modules"] if each["name"] == name)
        ranks = module["ranks"]
        out.append(set(ranks) if isinstance(ranks, list) else set(range(ranks["first"], ranks["first"] + size)))
    return out


FOUR = ["--model", "quick", "--cluster", "laptop:1x4", "--batch", 16]
wanted("apart", all(not a & b for a, b in map(held, answer(*FOUR, "--apart")["plans"])))
wanted("together", all(a & b for a, b in map(held, answer(*FOUR, "--together")["plans"])))

# ---- files
(scratch / "two.json").write_text(json.dumps({"name": "two", "towers": [
    {"name": "picture", "layers": 4, "width": 128, "heads": 4, "tokens": 64}, {"name": "sound", "layers": 2, "width": 128, "heads": 4, "tokens": 32}], "join": "info_nce"}))
(scratch / "mine.json").write_text(json.dumps({"like": "a100:2x4", "name": "mine"}))
of_files = answer("--model", "two.json", "--cluster", "mine.json", "--batch", 64)
wanted("files", of_files["devices"] == 8 and list(of_files["plans"][0]["plan"]["modules"]) == ["picture", "sound"], of_files["plans"][0])

# ---- the searches beside each other
if not slow:
    rows = {search: answer("--model", "clip-1.1b", "--cluster", "v100", "--batch", 512, "--search", search, "--top", 1)["plans"] for search in ("motet", "distmm", "megatron")}
    if all(rows.values()):
        motet, distmm, megatron = (rows[search][0]["step_seconds"] for search in ("motet", "distmm", "megatron"))
        wanted("none is better than the best", motet <= distmm * (1 + 1e-9) and motet <= megatron * (1 + 1e-9), (motet, distmm, megatron))
        wanted("the published order", distmm < megatron, (distmm, megatron))
        a, b = held(rows["distmm"][0])
        wanted("DistMM keeps towers apart", not a & b)
        a, b = held(rows["megatron"][0])
        wanted("Megatron has all on all", a == b == set(range(64)))

    # a large one: thousands of devices are searched, and drawn once for each kind
    large = find("--model", "clip-19.7b", "--cluster", "h100:64x8", "--batch", 4096, "--emit", "svg")
    wanted("many devices", large.returncode == 0 and len(large.stdout) < 20_000_000, large.stderr)
    xml.etree.ElementTree.fromstring(large.stdout or "<none/>")

# ---- the plan that is printed is the plan that runs
(scratch / "p.json").write_text(json.dumps(whole))
said = train("--plan", "p.json", "--model", "quick", "--batch", 64, "--check")
wanted("the result of a search is a plan", said.returncode == 0 and "no rank waits for ever" in said.stdout, said.stdout + said.stderr)
for i, each in enumerate([*found["plans"], *whole["plans"]]):
    (scratch / f"plan{i}.json").write_text(json.dumps(each["plan"]))
    said = train("--plan", f"plan{i}.json", "--model", "quick", "--batch", 64, "--check")
    wanted(f"plan {i + 1} is one", said.returncode == 0, said.stderr)

# So is one of quotas, on ranks that share a GPU and in lanes: its losses are those of one rank.
def losses(*words):
    said = train("--data", "random", "--model", "quick", "--batch", 16, "--steps", 2, *words)
    return re.findall(r" loss (\S+)", said.stdout + said.stderr)


alone = losses()
for cluster in ("h100:1x1", "h100:1x4"):
    (scratch / "quotas.json").write_text(find("--model", "b16", "--cluster", cluster, "--batch", 16, "--search", "quotas", "--emit", "json").stdout)
    shared = losses("--plan", "quotas.json")
    wanted(f"quotas on {cluster} train", len(alone) == 2 and shared == alone, [alone, shared])

# The header: proven by the compiler for the model that it was made for, refused for a batch that does not fit; and it returns the plan of the JSON.
use = """#include "quick_on_laptop.hpp"
#include "train_clip/quick_model.hpp"
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <cstdio>
using namespace motet;
using clip = model<join<info_nce, module<"picture", vit<train_clip::quick_picture>>, module<"caption", text_tower<train_clip::quick_caption>>>>;
static_assert(require<prove_plan<clip, quick_on_laptop_1x8, BATCH>()>);
int main() { std::fputs(format_plan(quick_on_laptop_1x8()).c_str(), stdout); }
"""
(scratch / "use.cpp").write_text(use.replace("BATCH", "quick_on_laptop_1x8_batch"))
said = start(*build, "use.cpp", "-o", "use")
wanted("the header compiles and is proven", said.returncode == 0, said.stderr[-2000:])
(scratch / "wrong.cpp").write_text(use.replace("BATCH", "1"))
said = start(*build, "-fsyntax-only", "wrong.cpp")
splits = max(module["data"] * module["microbatches"] for module in best["modules"]) > 1
wanted("the compiler refuses it for one sample", (said.returncode != 0 and "MT-S" in said.stderr) == splits, said.stderr[-500:])
(scratch / "header.json").write_text(start("./use").stdout)
wanted("the header is the plan of the JSON", json.loads((scratch / "header.json").read_text()) == best["plan"], (scratch / "header.json").read_text())

run = ["--model", "quick", "--data", "shapes", "--batch", 64, "--steps", 2, "--no-report", "--schedule", "constant", "--warmup", 0]
start(programs / "make_shapes", "--output", "shapes", "--count", 240, "--format", "ppm", "--quiet")


def losses(name):
    lines = [json.loads(line) for line in (scratch / name).read_text().splitlines()] if (scratch / name).exists() else []
    return [line["loss"] for line in lines if "loss" in line]


def same(what, name, said):
    one, other = losses("one.jsonl"), losses(name)
    near = len(one) == len(other) == 2 and all(abs(a - b) < 2e-5 * a for a, b in zip(one, other))
    wanted(f"{what}: the losses of one rank", said.returncode == 0 and near, f"{one} {other} {said.stderr[-500:]}")


train(*run, "--plan", "one", "--metrics", "one.jsonl")
for name in ("p.json", "header.json"):
    same(f"{name} by threads", "threads.jsonl", train(*run, "--plan", name, "--metrics", "threads.jsonl"))
    (scratch / "threads.jsonl").unlink(missing_ok=True)
    if shutil.which("mpirun"):
        said = by_mpi(best["plan"]["cluster"]["ranks"], programs / "train_clip", *run, "--plan", name, "--metrics", "processes.jsonl")
        if "MT-R24" in said.stderr:
            print("built without MPI")
        else:
            same(f"{name} by processes", "processes.jsonl", said)
        (scratch / "processes.jsonl").unlink(missing_ok=True)

# The other header: its program compares its own losses with those of one rank.
_, problems = trainer_build.communicate(timeout=400)
wanted("a program with a header compiles", trainer_build.returncode == 0, problems[-2000:])
said = start("./train_by_header")
wanted("a header by threads", said.returncode == 0 and len(said.stdout.splitlines()) == 4, said.stdout + said.stderr)
if mpi_build:
    said = by_mpi(8, "./train_by_header")
    wanted("a header by processes", said.returncode == 0 and len(said.stdout.splitlines()) == 4, said.stdout + said.stderr)

# ---- what is wrong: one sentence, the status of the table, nothing on standard output, no file begun
(scratch / "kept.txt").write_text("kept")
(scratch / "no.json").write_text("{")
(scratch / "nothing.json").write_text('{"plans": []}')
(scratch / "field.json").write_text('{"like": "a100", "node": 4}')
(scratch / "still.json").write_text('{"like": "a100", "between": {"latency": 1e-6, "bytes_per_second": 0}}')
(scratch / "tower.json").write_text('{"name": "t", "towers": [{"name": "a", "layers": 4, "width": 128, "heads": 4, "tokens": 64, "depth": 2}]}')
REFUSED = [
    ("--model quack --cluster laptop --batch 64", r'"quack", wanted one of quick.*MT-P82'),
    ("--model quick --cluster laptip --batch 64", r'"laptip", wanted one of v100.*laptop.*MT-P75'),
    ("--model quick --cluster laptop:0 --batch 64", r"laptop:0.*MT-P76"),
    ("--model quick --cluster laptop:1x --batch 64", r"laptop:1x.*MT-P76"),
    ("--model absent.json --cluster laptop --batch 64", r"absent.json.*MT-F"),
    ("--model quick --cluster absent.json --batch 64", r"absent.json.*MT-F"),
    ("--model no.json --cluster laptop --batch 64", r"no.json.*MT-F01|MT-F01.*no.json"),
    ("--model tower.json --cluster laptop --batch 64", r"depth.*MT-P\d\d"),
    ("--model quick --cluster field.json --batch 64", r"node.*MT-P70"),
    ("--model quick --cluster still.json --batch 64", r"between.bytes_per_second.*MT-P77"),
    ("--model quick --cluster laptop --batch 0", r"--batch wants at least 1, got 0"),
    ("--model quick --cluster laptop --batch 9999999999999", r"--batch wants at most"),
    ("--model quick --cluster laptop", r"--batch.*MT-X04"),
    ("--cluster laptop --batch 64", r"--model.*MT-X04"),
    ("--model quick --cluster laptop --batch 64 --contrastive 128", r"--contrastive wants at most the batch of 64, got 128"),
    ("--model quick --cluster laptop --batch 64 --contrastive 24", r"64 samples of a step, 24 of each loss; the nearest are 48 or 72.*MT-P86"),
    ("--model quick --cluster laptop --batch 64 --pin picture:data=3,stages=1,microbatches=5", r"15 microbatches.* 60 or 75.*MT-P86"),
    ("--model clip-19.7b --cluster laptop:1x2 --batch 64", r"vision is [\d.]+.* short of .*no number of such devices.*MT-P85"),
    ("--model clip-9.3b --cluster a100:1x1 --batch 64", r"vision is [\d.]+.* short of .*smallest cluster .* has 2 nodes.*MT-P85"),
    ("--model clip-19.7b --cluster v100:1x1 --batch 64 --search megatron", r"MT-P85"),
    ("--model quick --cluster laptop --batch 64 --profile absent.json", r"absent.json.*MT-F"),
    ("--model quick --cluster laptop --batch 64 --profile two.json", r"two.json.*MT-P70|MT-P70.*two.json"),
    ("--model quick --cluster laptop --batch 64 --emit pdf", r'--emit wants one of text\|json\|header\|svg, got "pdf"'),
    ("--model quick --cluster laptop --batch 64 --search alpa", r"--search wants one of motet\|distmm\|megatron"),
    ("--model quick --cluster laptop --batch 64 --top 0", r"--top wants at least 1"),
    ("--model quick --cluster laptop --batch 64 --pin sound:tensor=2", r'no tower "sound"; wanted one of picture, caption.*MT-P83'),
    ("--model quick --cluster laptop --batch 64 --pin picture", r"no colon.*MT-P83"),
    ("--model quick --cluster laptop --batch 64 --pin picture:tensr=2", r'no field "tensr"; wanted one of stages.*MT-P83'),
    ("--model quick --cluster laptop --batch 64 --pin picture:tensor=0", r'tensor is "0", wanted 1 to.*MT-P83'),
    ("--model quick --cluster laptop --batch 64 --pin picture:tensor=2 --pin picture:tensor=4", r"contradict.*tensor 2 and 4.*MT-P83"),
    ("--model quick --cluster laptop --batch 64 --pin picture:tensor=2,ranks=3", r"picture: tensor=2 and ranks=3.*MT-P87"),
    ("--model quick --cluster laptop --batch 64 --pin picture:tensor=16", r"picture: tensor=16 and 8 devices.*MT-P87"),
    ("--model quick --cluster laptop --batch 64 --pin picture:stages=2 --search distmm", r"--pin wants --search motet, got distmm"),
    ("--model quick --cluster laptop --batch 64 --seconds 5 --search distmm", r"--seconds wants --search motet, got distmm"),
    ("--model quick --cluster laptop --batch 64 --seconds 0", r"--seconds wants"),
    ("--model quick --cluster laptop --batch 64 --apart --together", r"--apart wants no --together"),
    ("--model quick --cluster laptop --batch 64 --bytes 4,4,8", r'--bytes wants four numbers.*"4,4,8"'),
    ("--model quick --cluster laptop --batch 64 --name mine", r"--name wants --emit header"),
    ("--model quick --cluster laptop --batch 64 --emit header --name while", r'"while".*MT-P81'),
    ("--modl quick", r"--modl; did you mean --model"),
    ("--model quick --cluster laptop --batch 64 --search disttrain", r"--search disttrain wants a chain such as mllm-9b, got quick"),
    ("--model quick --cluster laptop --batch 64 --frozen encoder", r"--frozen wants a chain such as mllm-9b, got quick"),
    ("--model vit-22b+gpt-175b --cluster hopper-512 --batch 256 --search distmm", r"--search distmm of vit-22b\+gpt-175b wants one of motet, optimus"),
    ("--model vit-22b+gpt-175b --cluster hopper-512 --batch 256 --emit svg", r"--emit of vit-22b\+gpt-175b is text or json, got svg"),
    ("--model vit-22b+gpt-175b --cluster hopper-512 --batch 256 --pin eye:data=1", r"--pin wants towers or a chain, got vit-22b\+gpt-175b"),
    ("--model vit-11b+llama-70b --cluster hopper-64 --batch 32 --profile waits.json", r"gaps\[0\] of waits.json is of gpt-175b, wanted one of vit-11b, llama-70b.*MT-P97"),
    ("--model vit-22b+gpt-175b --cluster hopper-512 --batch 256 --frozen language", r"--frozen of vit-22b\+gpt-175b is encoder, got language"),
    ("--model vit-22b+vit-22b+vit-22b+llama-70b --cluster hopper-32 --batch 16", r"a device would hold 108 GB at least, 68 of them the encoders', and has 84.*MT-P85"),
    ("--model vit-22b+gpt-175b --cluster hopper-512 --batch 250 --search optimus", r"gpt-175b on 512 devices with a batch of 250: nodes x 8 stages.*MT-P85"),
    ("--model vit-22b+gpt-175b --cluster hopper-12 --batch 256", r'got "hopper-12", wanted a multiple of 8 devices'),
    ("--model quick --cluster laptop --batch 64 --search optimus", r"--search optimus wants encoders and a language model such as vit-22b\+gpt-175b, got quick"),
    ("--model mllm-9b --cluster a800-96 --batch 128 --search optimus", r"--search optimus wants encoders and a language model, got the chain mllm-9b"),
    ("--model mllm-9b --cluster a800-96 --batch 128 --search distmm", r"--search distmm wants towers, got the chain mllm-9b"),
    ("--model mllm-9b --cluster a800-96 --batch 128 --emit header", r"--emit of a chain is text or json, got header"),
    ("--model mllm-9b --cluster a800-96 --batch 128 --top 3", r"--top wants towers, got the chain mllm-9b"),
    ("--model mllm-9b --cluster a800-96 --batch 128 --frozen eye", r'--frozen wants names of encoder, language, generator, got "eye"'),
    ("--model mllm-72b --cluster a800-96:1 --batch 40 --search megatron", r"language lacks \d+ bytes on each device.*MT-P85"),
]
for words, pattern in REFUSED:
    said = find(*shlex.split(words), "--output", "kept.txt")
    one = len(said.stderr.strip().split("\n")) == 1
    wanted(words, said.returncode == exit_codes.owed(said.stderr) and said.stdout == "" and one and re.search(pattern, said.stderr), f"status {said.returncode}: {said.stdout}{said.stderr}")
wanted("nothing was written", (scratch / "kept.txt").read_text() == "kept" and not list(scratch.glob(".*tmp*")), list(scratch.iterdir()))
said = find(*APART, "--output", "absent/p.json")
wanted("no folder to write to", said.returncode == 1 and "absent/p.json" in said.stderr, said.stderr)
said = train("--plan", "nothing.json", "--check")
wanted("a result without plans", said.returncode == 3 and "MT-P84" in said.stderr, said.stderr)

# ---- the page: every command runs, and what it prints is what the page says
page = (source / "docs" / "plan" / "search.md").read_text()
commands = 0 if not slow else 6
environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
for name, block in re.findall(r"<!-- (\w+\.json) -->\n+```json\n(.*?)^```", page, re.M | re.S):
    (scratch / name).write_text(block)
for block in [] if slow else re.findall(r"^```(?:sh|console)\n(.*?)^```", page, re.M | re.S):
    for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        commands += 1
        said = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=scratch, env=environment, timeout=300)
        got = (said.stdout + without_progress(said.stderr)).replace("\r", "")
        # "..." stands for anything.
        pattern = ".*".join(re.escape(part) for part in printed.split("..."))
        wanted(f"the page: {command}", re.fullmatch(pattern, got, re.S), got)
wanted("commands of the page", commands >= 6, commands)

print(f"{checks} checks, {failed} failed")
sys.exit(1 if failed else 0)
