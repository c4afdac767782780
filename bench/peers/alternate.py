#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps two programs in turns: one step of ours, one of theirs, and so on. Both take one step for each line on standard input and print its
seconds. The result is the median of the ratios of neighbouring steps; absolute times on a shared machine mean little."""
import argparse
import json
import statistics
import subprocess
import sys


class Paced:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"alternate: {' '.join(command)} ended before it was ready")
            if line.strip() == "ready":
                break

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("alternate: a program ended in the middle of the run")
        return float(line)

    def finish(self):
        self.process.stdin.close()
        lines = [json.loads(line) for line in self.process.stdout.read().splitlines() if line.startswith("{")]
        self.process.wait()
        # Programs may tell more beside their own line.
        return [line for line in lines if "program" in line or "peer" in line][-1]


def cpu_name():
    with open("/proc/cpuinfo") as info:
        text = info.read()
    name = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")), "unknown")
    flags = next((line.split(":", 1)[1].split() for line in text.splitlines() if line.startswith("flags")), [])
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{name} ({' '.join(known) or 'no vector extension of note'})"


def machine_name(device):
    if device == "cpu":
        return cpu_name()
    try:
        question = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return subprocess.run(question, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown GPU"


def gpu_bytes():
    """What all programs hold of the first GPU: also what no library of theirs counts."""
    question = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(question, capture_output=True, text=True, check=True).stdout.splitlines()[0]) << 20


def compare(arguments, mode):
    common = ["--model", arguments.model, "--batch", str(arguments.batch), "--precision", arguments.precision, "--threads", str(arguments.threads),
              "--device", arguments.device]
    # Each has taken its memory when it says that it is ready.
    held = [gpu_bytes()] if arguments.device == "cuda" else []
    ours = Paced([arguments.ours, "--data", "random", "--paced", *common])
    if held:
        held.append(gpu_bytes())
    theirs = Paced([sys.executable, arguments.peer, "--paced", "--mode", mode, *common])
    if held:
        held.append(gpu_bytes())
    pairs = []
    for turn in range(arguments.steps):
        # The order within a pair alternates too, so that neither always runs on a warmer clock.
        if turn % 2 == 0:
            a, b = ours.step(), theirs.step()
        else:
            b, a = theirs.step(), ours.step()
        pairs.append((a, b))
        print(f"{mode} {turn + 1}/{arguments.steps}: ours {a:.3f} s, theirs {b:.3f} s, ratio {b / a:.2f}", file=sys.stderr)
    memory = []
    for k, each in enumerate((ours, theirs)):
        told = each.finish()
        memory.append(held[k + 1] - held[k] if held else told["peak_bytes"] - told["idle_bytes"])
    return pairs, memory, told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--model", default="small")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--modes", default="eager,compile")
    arguments = parser.parse_args()

    results = []
    for mode in arguments.modes.split(","):
        pairs, memory, theirs = compare(arguments, mode)
        ratios = sorted(b / a for a, b in pairs)
        results.append({
            "model": arguments.model, "precision": arguments.precision, "batch": arguments.batch, "threads": arguments.threads,
            "ratio": round(statistics.median(ratios), 3), "ratio_low": round(ratios[0], 3), "ratio_high": round(ratios[-1], 3),
            "memory_ratio": round(memory[0] / max(memory[1], 1), 3), "ours_seconds": round(statistics.median(a for a, _ in pairs), 4),
            "peer_seconds": round(statistics.median(b for _, b in pairs), 4), "ours_bytes": memory[0], "peer_bytes": memory[1],
            "peer": f"{theirs.get('peer') or theirs['program']} {mode}", "device": arguments.device, "machine": machine_name(arguments.device)})
        print(json.dumps(results[-1]), file=sys.stderr)
    # The better of the peer's modes is the one to beat.
    print(json.dumps(min(results, key=lambda result: result["ratio"])))


if __name__ == "__main__":
    main()
