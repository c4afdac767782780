# SPDX-License-Identifier: Apache-2.0
"""Finds instructions for the GPU's memory (LDG, STG, RED, ATOMG ...) whose address is one of a block's shared memory: an illegal address on a GPU.

A pointer to shared memory becomes one to anything by the upper half of the shared window's address, which is a special register (SR_SWINHI, from sm_90
on) or a number that the driver lays beside a kernel's arguments (c[0x0][0x1c], before). Registers are followed from there, along all jumps, to the
upper half of an address. A pointer that a kernel read from memory, or was given, is not known."""

import re

GLOBAL = re.compile(r"(LDG|STG|RED|REDG|ATOMG|LDGSTS)\b")
WINDOW = re.compile(r"\bSR_SWINHI\b|c\[0x0\]\[0x1c\]")
WHOLE_WINDOW = re.compile(r"c\[0x0\]\[0x18\]")  # both halves, for what reads 64 bits there
# Write no register, or only predicates.
NO_RESULT = re.compile(r"ST\b|ST[GSL.]|RED|BAR|BRA|BRX|EXIT|RET|CALL|NOP|MEMBAR|ERRBAR|CCTL|WARPSYNC|BSYNC|BSSY|BREAK|DEPBAR|LDGDEPBAR|LDGSTS"
                       r"|U?[IFDH]SETP|HSETP2|U?PLOP3|R2P|KILL|NANOSLEEP|YIELD")
REGISTER = re.compile(r"\b(U?R)(\d+)(\.64)?")


def registers_written(opcode):
    """How many neighbours."""
    if opcode.startswith(("HMMA", "IMMA", "BMMA")) or ".128" in opcode or opcode.endswith(".M88.4"):
        return 4
    if ".64" in opcode or ".WIDE" in opcode or re.match(r"(D(ADD|MUL|FMA|MNMX)|CS2R)\b(?!\.32)", opcode) or re.search(r"^(F2F|I2F)\.F64", opcode):
        return 2
    return 2 if opcode.endswith(".M88.2") else 1


def step(held, text, may_be_skipped):
    """Registers that hold the window's upper half after this instruction, of those that hold it before."""
    opcode, _, rest = text.partition(" ")
    if NO_RESULT.match(opcode):
        return held
    operands = [each.strip() for each in rest.split(", ")]
    while operands and re.fullmatch(r"!?U?P(\d|T)", operands[0]):
        operands.pop(0)
    to = REGISTER.match(operands[0]) if operands else None
    if not to:
        return held
    kind, first = to.group(1), int(to.group(2))
    count, sources = registers_written(opcode), operands[1:]
    result = set(held) if may_be_skipped else set(held) - {f"{kind}{first + i}" for i in range(count)}
    read = {(of.group(1), int(of.group(2))) for each in sources for of in REGISTER.finditer(each)}
    if opcode.startswith(("LD", "ATOM", "TEX", "SHFL")) and not opcode.startswith("LDC"):
        return frozenset(result)  # what it reads are addresses
    if ".WIDE" in opcode:
        # The sum's upper half is the last operand's, of two registers or of two numbers.
        last = REGISTER.search(sources[-1]) if sources else None
        if (last and f"{last.group(1)}{int(last.group(2)) + 1}" in held) or (sources and WHOLE_WINDOW.search(sources[-1])):
            result.add(f"{kind}{first + 1}")
    elif count == 2 and any(WHOLE_WINDOW.search(each) for each in sources):
        result.add(f"{kind}{first + 1}")
    elif WINDOW.search(rest) or any(f"{of}{number}" in held for of, number in read):
        result.add(f"{kind}{first}")
    return frozenset(result)


def is_global(text):
    return bool(GLOBAL.match(text))


def address_registers(text):
    """The upper halves of the addresses of the GPU's memory that this instruction takes."""
    found = set()
    for inside in re.findall(r"(?<!desc)\[([^\]]*)\]", text):
        for kind, number, wide in REGISTER.findall(inside):
            if wide or (kind == "UR" and ".U32" in inside):
                found.add(f"{kind}{int(number) + 1}")
    return found


def target(text):
    found = re.search(r"0x([0-9a-f]+)\s*$", text)
    return int(found.group(1), 16) if found else None


def faults(code, guarded):
    """Instructions, as pairs of address and text, that want the GPU's memory and get a place in shared memory. `guarded`: addresses of those that a
    predicate may skip."""
    if not any(WINDOW.search(text) or WHOLE_WINDOW.search(text) for _, text in code):
        return []
    place = {at: i for i, (at, _) in enumerate(code)}
    before = [None] * len(code)  # what holds it on some way there; None: no way is known
    before[0] = frozenset()
    waiting = [0]
    while waiting:
        i = waiting.pop()
        at, text = code[i]
        after = step(before[i], text, at in guarded)
        following = []
        jump = text.startswith("BRA")
        if jump and target(text) in place:
            following.append(place[target(text)])
        ends = (jump and re.match(r"BRA(\.\w+)* 0x", text)) or text.startswith(("EXIT", "RET", "BRX", "KILL"))
        if i + 1 < len(code) and (not ends or at in guarded):
            following.append(i + 1)
        for j in following:
            joined = after if before[j] is None else before[j] | after
            if joined != before[j]:
                before[j] = joined
                waiting.append(j)
    return [(at, text) for i, (at, text) in enumerate(code) if before[i] and is_global(text) and address_registers(text) & before[i]]
