#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/backend/roofline.md with what its program prints, and holds that program to sums that must hold.

    check_roofline.py ROOFLINE_PAGE REPOSITORY
"""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def counted(program, *words):
    made = run(program, "--emit", "json", *words)
    if made.returncode != 0:
        raise SystemExit(f"{program} {' '.join(words)}: {made.stderr}")
    return json.loads(made.stdout)


def near(a, b):
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b), 1)


def tower_flops(batch, width, layers, rows, embedding, patch=0):
    """Forward and backward by the definition of the layers; the last block is for one row of each sample, but for its keys and values."""
    products = (layers - 1) * rows * 12 * width**2 + rows * 2 * width**2 + 10 * width**2 + width * embedding
    scores = (layers - 1) * rows**2 * width + rows * width
    embed = rows * patch * width
    return batch * (3 * 2 * products + 3.5 * 4 * scores + 2 * 2 * embed)


def main(program, repository):
    wrong = []

    def hold(condition, what):
        if not condition:
            wrong.append(what)

    page = pathlib.Path(repository) / "docs" / "backend" / "roofline.md"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    made = run(program, "--measured", str(pathlib.Path(repository) / "bench" / "results" / "gpu-h200-l14.jsonl"))
    hold(made.returncode == 0, made.stderr)
    if written != made.stdout:
        print("".join(list(difflib.unified_diff(written.splitlines(True), made.stdout.splitlines(True), str(page), program))[:60]), end="")
        wrong.append("docs/backend/roofline.md is out of date; run: cmake --build build/release --target roofline")

    large = counted(program)
    rows = large["operations"]
    hold(near(large["floor_ms"], sum(row["floor_ms"] for row in rows)), "floor_ms is not the sum of its operations")
    hold(near(large["expected_ms"], sum(row["expected_ms"] for row in rows)), "expected_ms is not the sum of its operations")
    hold(large["floor_ms"] < large["expected_ms"], "less is expected than the floor")
    for row in rows:
        by_bytes = row["bytes"] / 4.3e12 * 1e3 if row["operation"] != "bring" else 0
        by_flops = row["flops"] / 790e12 * 1e3 if row["matrix_units"] else 0
        hold(abs(row["floor_ms"] - max(by_bytes, by_flops)) < 2e-4, f"the floor of {row['section']}, {row['operation']}, is neither of FLOPs nor of bytes")
    flops = sum(row["flops"] for row in rows if row["matrix_units"])
    wanted = tower_flops(512, 1024, 24, 257, 768, patch=588) + tower_flops(512, 768, 12, 77, 768) + 8 * 512**2 * 768
    hold(abs(flops / wanted - 1) < 1e-6, f"{flops:.4e} FLOPs of matrix units; the layers' definition has {wanted:.4e}")

    # Twice the samples are twice the work, but for what belongs to the weights.
    small = counted(program, "--batch", "256")
    hold(0.5 < small["floor_ms"] / large["floor_ms"] < 0.515, "half the batch is not half the floor")
    # Another chip.
    slow = counted(program, "--gemm", "395", "--bandwidth", "2.15")
    hold(near(slow["floor_ms"], 2 * large["floor_ms"]), "a chip of half the rates does not take twice the time")
    narrow = counted(program, "--streams", "bf16")
    hold(narrow["streams"] == "bf16" and narrow["floor_ms"] < large["floor_ms"], "streams in bf16 take no less than in fp32")
    hold(f"| {narrow['expected_ms']:.1f} |" in made.stdout, "the page lacks what streams in bf16 take")
    # What is kept is not made again: GELU's backward writes one thing of two, and a norm's one less.
    keeps = counted(program, "--keep-outputs")
    moved = {(kept, name): sum(row["bytes"] for row in of["operations"] if row["operation"] == name and row["section"] == "picture / blocks / mlp")
             for kept, of in ((False, large), (True, keeps)) for name in ("activation_backward", "norm_backward_input", "linear_backward_weight")}
    hidden, stream = 23 * 512 * 257 * 4096 * 2, 23 * 512 * 257 * 1024 * 2
    hold(moved[False, "activation_backward"] == 4 * hidden and moved[True, "activation_backward"] == 3 * hidden, "keeping outputs does not spare GELU's backward a quarter")
    hold(moved[False, "norm_backward_input"] - moved[True, "norm_backward_input"] == stream, "keeping outputs does not spare a norm's backward its output")
    hold(moved[False, "linear_backward_weight"] == moved[True, "linear_backward_weight"], "products of weight gradients read other rows")
    # Of each whole block two norms and the hidden units, four times as wide; of the last one a norm, and single rows.
    grown, blocks = keeps["kept_bytes"] - large["kept_bytes"], 2 * 512 * (257 * 1024 * (23 * 6 + 1) + 77 * 768 * (11 * 6 + 1))
    hold(abs(grown / blocks - 1) < 1e-3, f"{grown} more bytes are kept; the blocks have {blocks}")
    hold(keeps["keeps_outputs"] and not large["keeps_outputs"] and f"| {keeps['expected_ms']:.1f} |" in made.stdout, "the page lacks what keeping outputs takes")
    least = counted(program, "--keep-outputs", "--streams", "bf16")
    hold(least["floor_ms"] <= 425, f"{least['floor_ms']} ms are the floor at best, wanted 425")
    other = counted(program, "--model", "b16")
    hold(other["model"] == "b16" and other["floor_ms"] < large["floor_ms"] / 3, "b16 is no smaller model")

    # What a GPU measured stands beside.
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "lines.json"
        kernels = {"nvjet_hsh_128x256": 300.5, "norm_rows<float, 8>": 7.25, "cudnn_generated_fort_native_sdpa_sm90_flash_bprop": 9.5, "what": 1.0}
        lines.write_text("".join(json.dumps({"kernel": name, "step": "l14", "batch": 512, "count": 1, "milliseconds": took, "share": 0.1}) + "\n"
                                 for name, took in kernels.items()) + '{"short": "words"}\n', encoding="utf-8")
        beside = counted(program, "--measured", str(lines))
        hold(near(beside["measured_ms"], sum(kernels.values())), "measured_ms is not the sum of the kernels")
        hold(beside["measured_families"]["norms"] == 7.25 and beside["measured_families"]["attention backward"] == 9.5
             and beside["measured_families"]["no row names"] == 1.0, f"kernels are in other families: {beside['measured_families']}")
        hold("300.5" in run(program, "--measured", str(lines)).stdout, "the page lacks what was measured")
        refused = run(program, "--measured", str(lines), "--batch", "64")
        hold(refused.returncode == 1 and "no kernels of l14 with batch 64" in refused.stderr, f"another batch was not refused: {refused.stderr}")
    refused = run(program, "--measured", "nowhere.json")
    hold(refused.returncode == 1 and "cannot read nowhere.json, which --measured names" in refused.stderr, f"no file was not refused: {refused.stderr}")
    refused = run(program, "--out", "/nowhere/page.md")
    hold(refused.returncode == 1 and "cannot write /nowhere/page.md" in refused.stderr, f"no folder was not refused: {refused.stderr}")
    refused = run(program, "--model", "b17")
    hold(refused.returncode == 1 and "MT-X" in refused.stderr, f"an unknown model was not refused: {refused.stderr}")
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
