# SPDX-License-Identifier: Apache-2.0
"""read_safetensors.py WRITE_SAMPLES: what this library writes, read by Python's safetensors package. Status 77 when that is not there."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    from safetensors import safe_open
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)


def tensors(path, framework):
    with safe_open(path, framework) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def wanted(what, got, want):
    if not numpy.array_equal(numpy.asarray(got), numpy.asarray(want)):
        sys.exit(f"{what}: got {got}, wanted {want}")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    frameworks = ["np"]
    try:
        import torch

        frameworks.append("pt")
    except ImportError:
        pass
    for framework in frameworks:
        path = os.path.join(folder, "samples.safetensors")
        if framework == "np":  # numpy has no bf16
            with safe_open(path, "np") as file:
                found = {name: file.get_tensor(name) for name in file.keys() if name != "type BF16"}
                about = file.metadata()
        else:
            found, about = tensors(path, "pt")
        wanted("metadata", about == {"format": "pt", "note": "line\nbreak"}, True)
        cube = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4) + 0.5
        wanted("cube", found["cube"], cube)
        wanted("scalar", found["scalar"], numpy.float32(0.5))
        wanted("scalar's shape", tuple(found["scalar"].shape), ())
        wanted("none", tuple(found["none"].shape), (0, 7))
        wanted("quoted", found['caf\u00e9 "quoted"\n'], [0.5])
        kinds = ["U8", "I8", "I16", "F16", "I32", "F32", "I64", "F64", "BOOL"] + (["BF16"] if framework == "pt" else [])
        for kind in kinds:
            values = found[f"type {kind}"]
            values = values.float() if kind == "BF16" else values
            wanted(kind, values, [1, 0, 1])
        wanted("number of tensors", len(found), 4 + len(kinds))

        step = os.path.join(folder, "run", open(os.path.join(folder, "run", "latest")).read().strip())
        index = json.load(open(os.path.join(step, "index.json")))
        weights, _ = tensors(os.path.join(step, "model.safetensors"), framework)
        moments, _ = tensors(os.path.join(step, "optimizer.safetensors"), framework)
        wanted("weights", weights["picture.blocks.0.mlp.up.weight"], cube.reshape(4, 6))
        wanted("moments", moments["picture.embed.class.v"], cube.reshape(24))
        wanted("names in the index", sorted(index["tensors"]), sorted([*weights, *moments]))
        wanted("step", index["step"], 7)
print(f"read by {', '.join(frameworks)}")
