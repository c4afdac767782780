#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling Motet costs. Prints Markdown tables: README's first program and the front headers, every public header alone, a schedule proven for growing
numbers of microbatches, a model of two towers at growing depth, the programs of examples/train_clip, and with `--second-only` what a second plan and a second
model add. `--check` exits 1 above a budget. Milliseconds are the best of a few runs; a busy machine inflates them, so the check
compares with the empty file of the same run where it can."""
import argparse
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
# Milliseconds above an empty file, for a header of the floor alone.
BUDGET = {"meta": 160, "tensor": 300, "format": 500, "nn": 400, "model": 420, "schedule": 400, "backend": 900, "data": 700, "runtime": 900}
MODEL_SECONDS = 30
# User seconds and MB of memory, of README's first program as README says it is built (with motet::trainer's definitions), and of reading it.
FRONT = {"-O2": (10, 400), "-fsyntax-only": (4, 400)}
COMPILED = ["-DMOTET_COMPILED_KERNELS=1", "-DMOTET_COMPILED_RANKS=1", "-DMOTET_COMPILED_DATA=1"]
GROWTH = 1.25  # of time and of code, from 2 layers to 24
SCHEDULE_GROWTH = 1.7  # of time, from 4 stages x 8 microbatches to 16 x 128

SCHEDULE = """
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/check/proven.hpp>
constexpr motet::pipeline_shape shape{{.stages = {stages}, .microbatches = {microbatches}}};
static_assert(motet::proven_by_compiler<motet::one_f_one_b, shape>);
"""

MODEL = """
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/stage/model_table.hpp>
using namespace motet;
using picture = module<"picture", vit<vit_config{{.image = 64, .patch = 8, .width = 192, .layers = {layers}, .heads = 3, .embedding = 128}}>>;
using caption = module<"caption", text_tower<text_config{{.vocabulary = 1024, .context = 32, .width = 128, .layers = {layers}, .heads = 2, .embedding = 128}}>>;
using clip = model<join<info_nce, picture, caption>>;
extern const model_table<cpu::context, fp32>& made;
const model_table<cpu::context, fp32>& made = table_of_model<clip, cpu::context, fp32>;
"""


SECOND_PLAN_SECONDS = 0.2
SECOND_MODEL_SHARE = 0.5  # of the first
TRAINED = """
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/plan_for.hpp>
using namespace motet;
using namespace motet::strategy;
"""
# {n}: so wide that no two models share a net.
TRAINED_MODEL = """
using picture{n} = module<"picture", vit<vit_config{{.image = 64, .patch = 8, .width = 64 * {n}, .layers = 4, .heads = 2, .embedding = 32}}>>;
using caption{n} = module<"caption", text_tower<text_config{{.vocabulary = 512, .context = 32, .width = 32 * {n}, .layers = 2, .heads = 2, .embedding = 32}}>>;
using clip{n} = model<join<info_nce, picture{n}, caption{n}>>;
double first_loss{n}(const launched_world& world, const plan& by, const clip{n}::batch& batch) {{
  trainer<clip{n}> train(world, by, {{.batch = 64}});
  return train.step(batch, 1e-3).loss;
}}
"""
# Each has another split or another number of microbatches.
TRAINED_PLAN = """
using plan{n} = plan_for<clip1, on<"picture", ranks<0, 4>, stages<2>, {split}<2>, microbatches<{microbatches}>>, on<"caption", ranks<4, 6>, data<2>, microbatches<1>>>;
double by{n}(const launched_world& world, const clip1::batch& batch) {{ return first_loss1(world, plan{n}::value(), batch); }}
"""
MORE_PLANS = 8  # as one is less than what two runs of a compiler differ by


def trained_plans(numbers):
    return "".join(TRAINED_PLAN.format(n=n, split=("data", "tensor")[n % 2], microbatches=2 ** (1 + n // 2)) for n in numbers)


MISSING = re.compile(r'#error "motet: ([^"(;]*)')  # an optional library that is not there


class Failed(Exception):
    pass


def run(command):
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{result.stderr[:2000]}")
    return time.perf_counter() - start


def best(command, times):
    return min(run(command) for _ in range(times))


def spent(command, times):
    """Median user seconds, and the most memory in MB."""
    seconds, memory = [], []
    for _ in range(times):
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(started.pid, 0)
        if status != 0:
            raise Failed(" ".join(map(str, command)))
        seconds.append(used.ru_utime)
        memory.append(used.ru_maxrss / 1000)
    return statistics.median(seconds), max(memory)


def front(base, folder, times, failures):
    program = re.search(r"^```cpp compile\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S).group(1)
    rows = [(f"#include <motet/{name}.hpp>", f"#include <motet/{name}.hpp>\n", ["-fsyntax-only"], definitions, None)
            for name, definitions in (("motet", COMPILED), ("motet", []), ("plan", []), ("jobs", []))]
    rows += [("README's first program", program, [mode, "-c", "-o", folder / "front.o"] if mode == "-O2" else [mode], COMPILED, limit)
             for mode, limit in FRONT.items()]
    rows.append(("README's first program", program, ["-O2", "-c", "-o", folder / "front.o"], [], None))
    print("\n| front | flags | motet::trainer | user seconds | MB | budget |\n|---|---|---|---|---|---|")
    def row(what, text, flags, definitions, limit):
        source = folder / "front.cpp"
        source.write_text(text)
        seconds, memory = spent([*base, *definitions, *flags, source], times)
        linked = "yes" if definitions else "no"
        print(f"| {what} | {flags[0]} | {linked} | {seconds:.1f} | {memory:.0f} | {f'{limit[0]} s, {limit[1]} MB' if limit else ''} |", flush=True)
        return seconds, memory

    for what, text, flags, definitions, limit in rows:
        seconds, memory = row(what, text, flags, definitions, limit)
        if limit and (seconds > limit[0] or memory > limit[1]):
            failures.append(f"{what} {flags[0]}: {seconds:.1f} s and {memory:.0f} MB, budget {limit[0]} s and {limit[1]} MB")

    # As CMake's target_precompile_headers does it: once for a project, then what a change to the program costs.
    header = folder / "precompiled.hpp"
    header.write_text("#include <motet/motet.hpp>\n")
    suffix = "pch" if "clang" in base[0] else "gch"
    for optimised in ("-O2", "-O1"):
        once = [*base[:-1], "c++-header", optimised, *COMPILED, header, "-o", f"{header}.{suffix}"]
        seconds, memory = spent(once, 1)
        print(f"| motet/motet.hpp precompiled, once | {optimised} | yes | {seconds:.1f} | {memory:.0f} | |", flush=True)
        for flags in ([optimised, "-c", "-o", folder / "front.o"], [optimised, "-fsyntax-only"]):
            what = "the program after it" + (", until an error is shown" if "-fsyntax-only" in flags else "")
            row(what, program, [*flags, "-include", header], COMPILED, None)


def schedule_growth(commands, folder, times, failures):
    """Medians of alternated runs, so that a phase of the machine meets both sizes alike."""
    print("\n| compiler | schedule headers alone | 4 x 8 proven | 16 x 128 proven | growth | budget |\n|---|---|---|---|---|---|")
    header = "".join(SCHEDULE.splitlines(keepends=True)[:3])
    sizes = {"alone": header, "small": SCHEDULE.format(stages=4, microbatches=8), "large": SCHEDULE.format(stages=16, microbatches=128)}
    for name, command, suffix in commands:
        taken = {size: [] for size in sizes}
        for _ in range(times):
            for size, text in sizes.items():
                source = folder / f"schedule_{size}{suffix}"
                source.write_text(text)
                taken[size].append(run([*command, source]))
        alone, small, large = (1000 * statistics.median(taken[size]) for size in sizes)
        print(f"| {name} | {alone:.0f} ms | {small:.0f} ms | {large:.0f} ms | {large / small:.2f} | {SCHEDULE_GROWTH} |")
        if large > SCHEDULE_GROWTH * small:
            failures.append(f"{name}: proving 16 x 128 takes {large / small:.2f} times as long as 4 x 8, budget {SCHEDULE_GROWTH}")


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def second_plan_and_model(base, folder, times, failures):
    """What one more plan, and one more model, add to a program that trains a model by a plan: medians of alternated runs, in seconds of a processor."""
    first = TRAINED_MODEL.format(n=1)
    texts = {
        "headers": TRAINED,
        "a model": TRAINED + first,
        "a model and a plan": TRAINED + first + trained_plans([0]),
        f"with {MORE_PLANS} plans more": TRAINED + first + trained_plans(range(1 + MORE_PLANS)),
        "with a model more": TRAINED + first + trained_plans([0]) + TRAINED_MODEL.format(n=2),
    }
    taken = {name: [] for name in texts}
    for _ in range(times):
        for name, text in texts.items():
            source = folder / "trained.cpp"
            source.write_text(text)
            flags = ["-O0", "-DMOTET_COMPILED_KERNELS=1", "-DMOTET_COMPILED_RANKS=1"]
            taken[name].append(user_seconds([*base, *flags, "-c", source, "-o", folder / "trained.o"]))
    medians = {name: statistics.median(all_of) for name, all_of in taken.items()}
    print("\n| kernels and ranks compiled elsewhere, -O0 | user seconds, median | all |\n|---|---|---|")
    for name, seconds in medians.items():
        print(f"| {name} | {seconds:.2f} | {', '.join(f'{each:.2f}' for each in taken[name])} |")
    whole = medians["a model and a plan"]
    plan, model = (medians[f"with {MORE_PLANS} plans more"] - whole) / MORE_PLANS, medians["with a model more"] - whole
    print(f"\nA plan more takes {plan:.2f} s (budget {SECOND_PLAN_SECONDS}); a model more takes {model:.2f} s, {model / medians['a model']:.2f} of the first (budget {SECOND_MODEL_SHARE}).")
    if plan > SECOND_PLAN_SECONDS:
        failures.append(f"a second plan takes {plan:.2f} s, budget {SECOND_PLAN_SECONDS}")
    if model > SECOND_MODEL_SHARE * medians["a model"]:
        failures.append(f"a second model takes {model:.2f} s, the first {medians['a model']:.2f} s, budget {SECOND_MODEL_SHARE} of it")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--headers-only", action="store_true", help="without models and programs")
    parser.add_argument("--front-only", action="store_true", help="only README's first program and the front headers")
    parser.add_argument("--schedules-only", action="store_true", help="only the growth of schedules")
    parser.add_argument("--second-only", action="store_true", help="only what a second plan and a second model add")
    arguments = parser.parse_args()
    failures = []
    base = [arguments.compiler, "-std=c++20", f"-I{INCLUDE}", "-x", "c++"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def syntax(text):
            source = folder / "one.cpp"
            source.write_text(text)
            return 1000 * best([*base, "-fsyntax-only", source], arguments.times)

        if arguments.second_only:
            second_plan_and_model(base, folder, arguments.times, failures)
            for failure in failures:
                print(f"over budget: {failure}", file=sys.stderr)
            return 1 if arguments.check and failures else 0

        if not arguments.schedules_only:
            front(base, folder, arguments.times, failures)
        if arguments.front_only:
            arguments.schedules_only = True
        commands = [(arguments.compiler, [*base, "-fsyntax-only"], ".cpp")]
        nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if nvcc:
            commands.append(("nvcc", [nvcc, "-std=c++20", f"-I{INCLUDE}", "-c", "-o", folder / "schedule.o"], ".cu"))
        if not arguments.front_only:
            schedule_growth(commands, folder, max(7, arguments.times), failures)

        if not arguments.schedules_only:
            empty = syntax("")
            print(f"\nCompiler: {arguments.compiler}; an empty file takes {empty:.0f} ms.\n")
            print("| header | ms above empty | budget |\n|---|---|---|")
            for header in sorted(INCLUDE.rglob("*.hpp")):
                name = header.relative_to(INCLUDE)
                floor = name.parts[1] if len(name.parts) > 2 else ""
                try:
                    cost = syntax(f"#include <{name}>\n") - empty
                except Failed as failed:
                    missing = MISSING.search(str(failed))
                    if not missing:
                        sys.exit(f"measure: {failed}")
                    print(f"| {name} | {missing.group(1).strip()} | |")
                    continue
                budget = BUDGET.get(floor)
                print(f"| {name} | {cost:.0f} | {budget or ''} |")
                if budget and cost > budget:
                    failures.append(f"{name}: {cost:.0f} ms above empty, budget {budget}")

        if not (arguments.headers_only or arguments.schedules_only):
            print("\n| two towers | seconds at -O2 | bytes of code |\n|---|---|---|")
            figures = []
            for layers in (2, 6, 24):
                source, output = folder / "model.cpp", folder / "model.o"
                source.write_text(MODEL.format(layers=layers))
                seconds = best([*base, "-O2", "-c", source, "-o", output], 1)
                size = subprocess.run(["size", output], capture_output=True, text=True).stdout.split("\n")[1].split()[0] if shutil.which("size") else "0"
                figures.append((seconds, int(size)))
                print(f"| {layers} layers each | {seconds:.1f} | {size} |")
            if figures[-1][0] > GROWTH * figures[0][0] + 1 or figures[-1][1] > GROWTH * figures[0][1]:
                failures.append(f"time or code grows with depth: {figures}")
            print("\n| translation unit | seconds at -O2 | budget |\n|---|---|---|")
            for source in sorted((ROOT / "examples" / "train_clip").glob("model_*.cpp")):
                seconds = best([*base, f"-I{ROOT / 'examples'}", "-O2", "-c", source, "-o", folder / "unit.o"], 1)
                print(f"| examples/train_clip/{source.name} | {seconds:.1f} | {MODEL_SECONDS} |")
                if seconds > MODEL_SECONDS:
                    failures.append(f"{source.name}: {seconds:.1f} s, budget {MODEL_SECONDS}")
    for failure in failures:
        print(f"over budget: {failure}", file=sys.stderr)
    return 1 if arguments.check and failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"measure: {failed}")
