# SPDX-License-Identifier: Apache-2.0
"""bench.py PROGRAMS SCRATCH: bench/compare.py on files whose ratios are known, and on a benchmark that takes turns with itself, where one was built."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

programs, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
compare = pathlib.Path(os.environ["MOTET_SOURCE"]) / "bench" / "compare.py"
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)


def written(name, rows):
    """A file as Google Benchmark writes it: of each repetition a row, and their mean."""
    benchmarks = []
    for row, repetitions in rows.items():
        for k, (time, more) in enumerate(repetitions):
            benchmarks.append({"name": row, "run_type": "iteration", "repetition_index": k, "real_time": time, "time_unit": "us", **more})
        benchmarks.append({"name": row + "_mean", "run_type": "aggregate", "real_time": 1e9, "time_unit": "us"})
    (scratch / name).write_text(json.dumps({"context": {}, "benchmarks": benchmarks}), encoding="utf-8")
    return scratch / name


def run(status, *words):
    done = subprocess.run([sys.executable, compare, *words], capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"FAILED: status {done.returncode} instead of {status}: {words}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def wanted(said, *texts):
    for text in texts:
        if text not in said:
            sys.exit(f"FAILED: '{text}' is not in\n{said}")


# The machine is half as fast at the second pair: old / new is 2, 2 and 4 all the same. Beside the peer ours is 1.5 times what it was.
old = written("old.json", {"gemm/m:1/manual_time": [(8, {"ratio": 1.0}), (16, {"ratio": 1.0}), (8, {"ratio": 2.0})], "gone": [(1, {})], "plan": [(1000, {})]})
new = written("new.json", {"gemm/m:1/manual_time": [(4, {"ratio": 1.5}), (8, {"ratio": 1.5}), (2, {"ratio": 2.0})], "plan": [(2000, {})], "came": [(1, {})]})
said = run(0, old, new)
wanted(said, "gemm/m:1", "    3        8 us        4 us   2.000   2.000 to  4.000   1.500   1.000 to  1.500", "    1        1 ms        2 ms   0.500",
       "gone: only old", "came: only new", "median of 2 rows: old / new  1.250   0.500 to  2.000", "median of 1 rows with a peer:  1.500")
run(0, old, new, "--at-least", "1.25")
run(1, old, new, "--at-least", "1.26")
wanted(run(2, old, written("other.json", {"other": [(1, {})]})), "nothing in common")
wanted(run(1, old, written("broken.json", {"plan": [(0, {"error_occurred": True, "error_message": "it broke"})]})), "plan failed: it broke")
wanted(run(2, old, new, "--replicas", "4"), "only programs that take --turns have flags: --replicas 4")

program = programs / "bench_plan"
if program.exists():
    said = run(0, "--turns", "2", program, program, "--keep", scratch / "kept", "--replicas", "4", "--benchmark_min_time=0.001")
    wanted(said, "plan/replicas:4       2 ", "graph/replicas:4      2 ", "graph/ranks:64        2 ", "median of 3 rows: old / new")
    rows = json.loads((scratch / "kept" / "old-0.json").read_text(encoding="utf-8"))["benchmarks"]
    for row, ranks in zip(rows, (4 * 16 + 3 * 64, 4 * 16 + 2 * 64, 64), strict=True):
        parts = [row[part + "_seconds"] for part in ("write", "prove", "compile", "lay")]
        if row["ranks"] != ranks or min(parts) <= 0:
            sys.exit(f"FAILED: {row}")
    done = subprocess.run([program, "--repicas", "4"], capture_output=True, text=True)
    if done.returncode != 2 or "did you mean --replicas" not in done.stderr:
        sys.exit(f"FAILED: {done}")
print("passed" + ("" if program.exists() else "; bench_plan was not built, so no benchmark took turns"))
