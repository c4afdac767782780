# SPDX-License-Identifier: Apache-2.0
"""Checks the machine code of kernels without a GPU: kernel_resources.py [--table] [--complete] [--chips sm_80,sm_90] [--exceptions FILE] PROGRAM...

A PROGRAM is an object or program that nvcc made; one that does not exist is passed over, and with none of them, or without the toolkit's cuobjdump
and nvdisasm, nothing is checked: status 77. Each rule below is one finding for each kernel that breaks it. What is allowed stands in
kernel_exceptions.txt, with a reason. --complete: the programs hold all kernels that rules name, for sm_80 and sm_90; then an exception that no kernel
needs is a finding, too.

  stack    what does not fit into registers goes to memory of the thread: a stack, LDL, STL
  threads  registers leave too few warps for a multiprocessor, with 65536 registers, to hide what it waits for
  wide     kernels bound by memory move 16 bytes at a time where all lies at 16 bytes
  matrix   products of bf16 use the tensor cores, load for them by LDSM and copy in the background
  double   arithmetic or conversions in double, in kernels that have no double among their types
  divide   a division of 64-bit numbers, a hundred instructions, in an innermost loop
  window   an instruction for the GPU's memory (st.global ...) at a place in shared memory, which is an illegal address
"""

import os
import re
import sys

import sass
import sass_windows

REGISTERS = 65536
LEAST_WARPS, LEAST_MATRIX_WARPS = 16, 8
DOUBLE = re.compile(r"D(ADD|MUL|FMA|SETP|MMA)\b|MUFU\.\w*64|(F2F|F2I|I2F|FRND)\.\S*F64")
WIDE = {"load": re.compile(r"LDG?\.E\S*\.128"), "store": re.compile(r"STG?\.E\S*\.128")}

# Kernels whose name begins so: what they must do 16 bytes at a time. Numbers in names are elements moved at once.
RUNS = r"(8,|4, .*<float|2, .*<double)"
MOVES = r"(8|4, (float|int)|2, (double|long))"
MUST_MOVE = [
    (r"(?=.*(cleared|cut_to_patches<\w+, picture_bytes))each_run<%s" % RUNS, "store"),
    (r"(?!.*(cleared|picture_bytes|visit|<2, cut_to_patches))each_run<%s" % RUNS, "load store"),
    (r"(norm_rows|norm_rows_backward|normalize_rows|normalize_rows_backward)<\w+, [248],", "load store"),
    (r"(convert_rows_kernel|map_rows_kernel|sum_rows_kernel|head_moves_kernel|collect_rows_kernel)<%s" % MOVES, "load store"),
    (r"finish_product<.*, true>$", "load store"),
    (r"multiply_matrix_tiles<", "store"),
    (r"(adamw|lion|average)\w*<", "load store"),
    (r"squares_of\w*<", "load"),
    (r"(sum_chunks|sum_token_parts)<[248],", "load"),
    (r"sum_tokens<[248],", "load store"),
    (r"class_slopes<\w+, \w+, [248],", "load store"),
    (r"find_class_sums<\w+, [248]", "load"),
    (r"turn_rows<(float, 4|bf16, 8|double, 2)", "load store"),
    (r"(info_nce|sigmoid)_slopes<", "store"),
    (r"add_pair_product<", "load store"),
    (r"find_fp8_largest<", "load"),
    (r"round_to_fp8<", "load store"),
]
MATRIX = re.compile(r"attention_\w+_matrix<|multiply_matrix_tiles<")


def short(name):
    """The kernel's own type, without the namespaces; None: not one of ours."""
    found = re.match(r"void motet::cuda::detail::run_kernel<(.*)>\(", name)
    if not found:
        return None
    depth = 0
    text = found.group(1)
    for at, sign in enumerate(text):
        depth += (sign == "<") - (sign == ">" and text[at - 1] != "-")
        if depth < 0:
            text = text[:at]
            break
    return re.sub(r"(motet::cuda::detail::|motet::cuda::|motet::)", "", text).replace("> >", ">>").strip()


def warps(kernel):
    """How many warps a multiprocessor holds, by registers; a warp gets them in portions of 256."""
    each = -(-kernel.threads // 32)
    taken = -(-kernel.registers * 32 // 256) * 256 * each
    return each * min(REGISTERS // taken if taken else 64, 64 // each)


def findings(kernel, name):
    """Pairs of rule and what was found."""
    opcodes = [text.split()[0] for _, text in kernel.code]
    spilled = sum(op.startswith(("LDL", "STL")) for op in opcodes)
    doubles = "double" in name  # which take two registers each, and serve finite differences only
    if (kernel.stack or kernel.local or spilled) and not doubles:
        yield "stack", f"{kernel.stack + kernel.local} bytes, {spilled} accesses"
    least = min(LEAST_MATRIX_WARPS if MATRIX.match(name) else LEAST_WARPS, 64)
    if warps(kernel) < least and not doubles:
        yield "threads", f"{kernel.registers} registers and {kernel.threads} threads: {warps(kernel)} warps, not {least}"
    for pattern, wanted in MUST_MOVE:
        if re.match(pattern, name):
            missing = [way for way in wanted.split() if not any(WIDE[way].match(op) for op in opcodes)]
            if missing:
                yield "wide", f"no {' and no '.join(missing)} of 16 bytes"
    if MATRIX.match(name):
        missing = [what for what in ("HMMA", "LDSM", "LDGSTS") if not any(op.startswith(what) for op in opcodes)]
        if missing:
            yield "matrix", f"no {', no '.join(missing)}"
    if not doubles:
        found = sum(bool(DOUBLE.match(op)) for op in opcodes)
        if found:
            yield "double", f"{found} instructions"
    divisions = {to for at, to in kernel.calls if re.search(r"(div|rem)_[su]64", to) and kernel.in_inner_loop(at)}
    if divisions:
        yield "divide", ", ".join(sorted(divisions))
    across = sass_windows.faults(kernel.code, kernel.guarded)
    if across:
        yield "window", f"{len(across)} instructions, the first is {across[0][1]} at {across[0][0]:#x}"


def read_exceptions(path):
    """Lists of rule, pattern, reason and line."""
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"{path}:{number}: rule | kernels | reason")
            found.append((parts[0], re.compile(parts[1]), parts[2], number))
    return found


def check(kernels, exceptions, complete):
    """Lines that tell what is wrong, and which findings are allowed. kernels: {(name, chip): kernel}."""
    problems, allowed, needed = [], [], set()
    for (name, chip), kernel in sorted(kernels.items()):
        for rule, text in findings(kernel, name):
            entry = next((e for e in exceptions if e[0] == rule and e[1].fullmatch(name)), None)
            if entry:
                needed.add(entry[3])
                allowed.append(f"{rule:8} {chip} {name}: {text} ({entry[2]})")
            else:
                problems.append(f"{rule:8} {chip} {name}: {text}")
    for rule, pattern, _, number in exceptions if complete else []:
        if number not in needed and any(pattern.fullmatch(name) for name, _ in kernels):
            problems.append(f"line {number} of the exceptions: no kernel needs it: {rule} | {pattern.pattern}")
    for pattern, _ in MUST_MOVE if complete else []:
        if not any(re.match(pattern, name) for name, _ in kernels):
            problems.append(f"wide: no kernel is called {pattern}")
    return problems, allowed


def collect(tools, programs, chips):
    """Our kernels of all programs, each once."""
    kernels, others = {}, 0
    for program in programs:
        for kernel in sass.read(tools, program, chips):
            name = short(kernel.name)
            if name is None or "(anonymous namespace)" in name:
                others += 1
            else:
                kernels.setdefault((name, kernel.chip), kernel)
    return kernels, others


def main(arguments):
    options = {"--chips": "sm_80,sm_90", "--exceptions": os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_exceptions.txt")}
    flags, programs = set(), []
    while arguments:
        word = arguments.pop(0)
        if word in options and arguments:
            options[word] = arguments.pop(0)
        elif word in ("--table", "--complete"):
            flags.add(word)
        elif word.startswith("--"):
            sys.exit(__doc__)
        else:
            programs.append(word)
    tools = [sass.find_tool("cuobjdump"), sass.find_tool("nvdisasm")]
    if not all(tools):
        print("skipped: no cuobjdump or no nvdisasm (of the CUDA toolkit; or: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)")
        return 77
    there = [program for program in programs if os.path.exists(program)]
    for program in programs:
        if program not in there:
            print(f"not built: {program}")
    if not there:
        return 77
    kernels, others = collect(tools, there, options["--chips"].split(","))
    if "--table" in flags:
        print(f"{'chip':6} {'threads':>7} {'regs':>4} {'warps':>5} {'stack':>5} {'shared':>6} {'code':>5}  kernel")
        for (name, chip), k in sorted(kernels.items()):
            print(f"{chip:6} {k.threads:7} {k.registers:4} {warps(k):5} {k.stack + k.local:5} {k.shared:6} {len(k.code):5}  {name}")
    chips = options["--chips"].split(",")
    complete = "--complete" in flags and there == programs and {"sm_80", "sm_90"} <= set(chips)
    problems, allowed = check(kernels, read_exceptions(options["--exceptions"]), complete)
    for line in allowed if "--table" in flags else []:
        print("allowed: " + line)
    for line in problems:
        print(line)
    print(f"{len(kernels)} kernels ({others} of others or of tests), {len(allowed)} findings are allowed, {len(problems)} are not")
    if not kernels:
        print("none of the programs holds a kernel for these chips")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
