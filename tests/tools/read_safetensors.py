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

        # In parts: the index says where each piece belongs, and so does its name.
        step = os.path.join(folder, "parts", "step-000007")
        index = json.load(open(os.path.join(step, "index.json")))
        wanted("files", sorted(index["files"]), [f"{stem}.safetensors" for stem in ("model-00001-of-00002", "model-00002-of-00002", "optimizer-00002-of-00002")])
        whole = {}
        for stem, use in (("model", "weights"), ("optimizer", "optimizer")):
            for name, tensor in index[use].items():
                rows = tensor["shape"][0] if len(tensor["shape"]) == 2 else 1
                whole[name] = numpy.full((rows, tensor["shape"][-1]), numpy.nan, numpy.float32)
                for piece in tensor["pieces"]:
                    (top, bottom), (left, right) = piece["rows"], piece["columns"]
                    found, about = tensors(os.path.join(step, f"{stem}-{piece['part'] + 1:05}-of-00002.safetensors"), framework)
                    place = f"[{left}:{right}]" if rows == 1 else f"[{top}:{bottom}, {left}:{right}]"
                    values = numpy.asarray(found[name] if name in found else found[name + place])
                    whole[name][top:bottom, left:right] = values
                    wanted("origin", about, {"format": "pt", "model": "sample", "step": "7", "part": f"{piece['part'] + 1} of 2"})
        wanted("weight of two parts", whole["picture.blocks.0.mlp.up.weight"], weights["picture.blocks.0.mlp.up.weight"])
        wanted("vector of two parts", whole["picture.embed.class"][0], weights["picture.embed.class"])
        wanted("moment of one part", whole["picture.embed.class.m"][0], moments["picture.embed.class.m"])
        wanted("number of pieces", sum(len(tensor["pieces"]) for tensor in index["weights"].values()), 6)
print(f"read by {', '.join(frameworks)}")
