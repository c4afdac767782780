#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_jobs.py FOLDER [CLUSTER [COUNT [SECONDS]]]: a small trace of jobs, times of their iterations, their memory under data parallelism, what they are by layers, and a cluster, all of our own making: times
follow from work, speed and a cost of being spread out, the trace is drawn with a fixed seed. COUNT jobs, SECONDS from one to the next in the mean: 160 and 420 where they are not given. CLUSTER is three-kinds or lab."""
import json
import math
import pathlib
import random
import sys

# Of each kind nodes, devices of one, gigabytes, speed, and the device that times are estimated by, where another has to stand for it. A kind without nodes was measured and is not there.
CLUSTERS = {
    "three-kinds": {"fast": (8, 4, 40.0, 3.0, None), "wide": (2, 16, 32.0, 1.6, None), "slow": (16, 2, 24.0, 1.0, None)},
    "lab": {"a40": (16, 2, 48.0, 2.0, "a100"), "a10": (16, 2, 24.0, 1.0, "v100"), "h100": (0, 8, 80.0, 6.0, None)},
}
MODELS = {"tower": {"500M": 1.0, "2B": 3.6}, "writer": {"1B": 1.4, "7B": 9.0}}  # seconds for 128 samples on one device of speed 1, times ten
BATCHES = (128, 256)


def seconds(work, batch, speed, nodes, per_node):
    devices = nodes * per_node
    shared = math.log2(devices) * 0.03 + (math.log2(nodes) * 0.06)
    return 10 * work * batch / 128 / speed / devices * (1 + shared * devices ** 0.5)


def towers(model, work):
    """A writer looks at a picture, too."""
    own = {"name": model, "layers": round(16 * work), "width": 1280, "heads": 20, "tokens": 256, "vocabulary": 50000, "causal": True}
    return [own] if model == "tower" else [{"name": "eye", "layers": 24, "width": 1024, "heads": 16, "tokens": 256}, own]


def main(folder, cluster="three-kinds", count=160, between=420):
    timed = CLUSTERS[cluster]
    kinds = {kind: facts for kind, facts in timed.items() if facts[0] > 0}
    folder.mkdir(parents=True, exist_ok=True)
    rows, memory = ["model,params,global_batch,gpu_type,hosts,gpus_per_host,gpus,iter_s"], {}
    for model, sizes in MODELS.items():
        for size, work in sizes.items():
            for batch in BATCHES:
                gigabytes = [round(6 * work + batch / 128 * 8 / devices, 3) for devices in (1, 2, 4, 8, 16)]
                memory[f"{model}_{size}_{batch}"] = [-1 if need > 40 else need for need in gigabytes]
                for kind, (_, per_node, room, speed, _) in timed.items():
                    for devices in (1, 2, 4, 8, 16):
                        if work * 14 / devices > room:
                            continue  # the best plan does not fit either
                        nodes = max(1, devices // per_node)
                        rows.append(f"{model},{size},{batch},{kind},{nodes},{devices // nodes},{devices},{seconds(work, batch, speed, nodes, devices // nodes):.6f}")
    (folder / "times.csv").write_text("\n".join(rows) + "\n")
    (folder / "memory.json").write_text(json.dumps(memory, indent=1) + "\n")
    (folder / "cluster.json").write_text(json.dumps({"name": cluster, "kinds": [
        {"kind": kind, "nodes": nodes, "per_node": per_node, "memory_gb": room} | ({"like": like} if like else {}) for kind, (nodes, per_node, room, _, like) in kinds.items()]}, indent=1) + "\n")
    (folder / "models.json").write_text(json.dumps({f"{model}__{size}": {"towers": towers(model, work)} for model, sizes in MODELS.items() for size, work in sizes.items()}, indent=1) + "\n")
    draw = random.Random(19)
    now, lines = 1000, ["job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,gpu_type"]
    for number in range(count):
        now += int(draw.expovariate(1 / between))
        model = draw.choice(sorted(MODELS))
        size = draw.choices(sorted(MODELS[model]), (2, 1))[0]
        kind = draw.choice(sorted(kinds))
        devices = draw.choice([n for n in (1, 2, 4, 8, 16) if MODELS[model][size] * 14 / n <= kinds[kind][2]][:3])
        iterations = int(10 ** draw.uniform(2.6, 4.2)) * 5
        lines.append(f"job-{number:03},{now},{iterations},{model}__{size},{now + draw.randint(2000, 40000)},{draw.choice(BATCHES)},{devices},{kind}")
    (folder / "trace.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:]))
