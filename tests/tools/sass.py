# SPDX-License-Identifier: Apache-2.0
"""Reads the machine code of kernels out of objects and programs that nvcc made, by the toolkit's cuobjdump and nvdisasm."""

import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

INSTRUCTION = re.compile(rb"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", re.M)
TARGET = re.compile(rb"0x([0-9a-f]+)\s*$")
MAX_THREADS = 0x05  # an attribute of .nv.info.<kernel>: three numbers


def find_tool(name):
    """The program's path, or None: on PATH, beside nvcc, or in the folder of a Python package."""
    folders = [os.path.dirname(os.path.realpath(shutil.which("nvcc") or "")), "/usr/local/cuda/bin"]
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "bin"))
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def run(tools, *arguments, cwd=None):
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(t) for t in tools] + [os.environ.get("PATH", "")]))
    done = subprocess.run(list(arguments), cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.decode(errors='replace').strip() or done.returncode}")
    return done.stdout


def sections(image):
    """Name, bytes of each section of an ELF file of 64 bits."""
    start = struct.unpack_from("<Q", image, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, start + i * size) for i in range(count)]
    text = heads[names][4]
    for head in heads:
        name = image[text + head[0] : image.index(b"\0", text + head[0])].decode()
        yield name, image[head[4] : head[4] + head[5]] if head[1] != 8 else b""  # 8: takes no place in the file


def callees(image):
    """Of each kernel, the places of the subroutines that the compiler added to it: {symbol: {address: name}}."""
    parts = list(sections(image))
    table, names = (next(data for name, data in parts if name == wanted) for wanted in (".symtab", ".strtab"))
    found = {}
    for at in range(0, len(table), 24):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", table, at)
        text = names[name : names.index(b"\0", name)].decode()
        if info & 15 == 2 and text.startswith("$") and section < len(parts) and parts[section][0].startswith(".text."):
            found.setdefault(parts[section][0][6:], {})[value] = text.rsplit("$", 1)[1]
    return found


def attributes(info):
    at = 0
    while at + 4 <= len(info):
        form, which, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:
            yield which, info[at : at + size]
            at += size


class Kernel:
    """One kernel for one chip: resources, and its instructions as pairs of address and text."""

    def __init__(self, symbol, chip):
        self.symbol, self.chip, self.name = symbol, chip, symbol
        self.registers = self.stack = self.local = self.shared = 0
        self.threads = 1024
        self.code = []  # pairs of address and instruction, without its guard
        self.guarded = set()  # addresses of those that have one
        self.calls = []  # pairs of address and the name of what is called

    def count(self, pattern):
        wanted = re.compile(pattern)
        return sum(1 for _, text in self.code if wanted.match(text))

    def loops(self):
        """First and last address of each loop: what a jump backwards spans. Those that hold no other come last."""
        found = {}
        for at, text in self.code:
            if text.startswith("BRA") or " BRA" in text:
                match = re.search(r"0x([0-9a-f]+)\s*$", text)
                if match and int(match.group(1), 16) < at:  # a jump to itself ends the code
                    to = int(match.group(1), 16)
                    found[to] = max(found.get(to, 0), at)
        return sorted(found.items())

    def in_inner_loop(self, at):
        inside = [loop for loop in self.loops() if loop[0] <= at <= loop[1]]
        return any(not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in self.loops()) for loop in inside)


def without_guard(text):
    return text.split(None, 1)[1] if text.startswith("@") else text


def read(tools, path, chips):
    """All kernels of one object or program, for these chips."""
    cuobjdump = tools[0]
    kernels = {}
    with tempfile.TemporaryDirectory() as folder:
        for chip in chips:
            run(tools, cuobjdump, "-xelf", "all", "-arch", chip, os.path.abspath(path), cwd=folder)
        for cubin in sorted(glob.glob(os.path.join(folder, "*.cubin"))):
            chip = re.search(r"\.(sm_\w+)\.cubin$", cubin).group(1)
            usage = run(tools, cuobjdump, "-res-usage", cubin).decode()
            for symbol, rest in re.findall(r"Function (\S+):\n\s+(REG:.*)", usage):
                kernel = kernels[symbol, chip] = Kernel(symbol, chip)
                numbers = dict(re.findall(r"(\w+):(\d+)", rest))
                kernel.registers, kernel.stack = int(numbers["REG"]), int(numbers["STACK"])
                kernel.local, kernel.shared = int(numbers["LOCAL"]), int(numbers["SHARED"])
            with open(cubin, "rb") as file:
                image = file.read()
                for name, info in sections(image):
                    if not name.startswith(".nv.info.") or (name[9:], chip) not in kernels:
                        continue
                    for which, value in attributes(info):
                        if which == MAX_THREADS:
                            x, y, z = struct.unpack("<III", value)
                            kernels[name[9:], chip].threads = x * y * z
            subroutines = callees(image)
            listing = run(tools, cuobjdump, "-sass", cubin)
            parts = re.split(rb"\n\s+Function : (\S+)\n", listing)
            for symbol, body in zip(parts[1::2], parts[2::2]):
                kernel = kernels.get((symbol.decode(), chip))
                if kernel:
                    names = subroutines.get(kernel.symbol, {})
                    kernel.code = [(int(at, 16), without_guard(text.decode())) for at, text in INSTRUCTION.findall(body)]
                    kernel.guarded = {int(at, 16) for at, text in INSTRUCTION.findall(body) if text.startswith(b"@")}
                    for at, text in kernel.code:
                        if text.startswith("CALL"):
                            to = int(re.search(r"0x([0-9a-f]+)\s*$", text).group(1), 16)
                            kernel.calls.append((at, names.get(to, "unknown")))
    names = sorted({k.symbol for k in kernels.values()})
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n") if names else []
    readable = dict(zip(names, plain))
    for kernel in kernels.values():
        kernel.name = readable[kernel.symbol]
    return list(kernels.values())
