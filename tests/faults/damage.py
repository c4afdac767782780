#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages one file of a checkpoint, by a number, and says how: damage.py CHECKPOINT ANOTHER NUMBER. Another checkpoint of the run lends files."""
import pathlib
import random
import sys


def main(folder, another, number):
    draw = random.Random(int(number))
    files = sorted(each for each in pathlib.Path(folder).iterdir() if each.suffix in (".json", ".safetensors"))
    file = draw.choice(files)
    data = bytearray(file.read_bytes())
    before = bytes(data)
    at = draw.randrange(len(data))
    kind = int(number) % 8
    if kind == 0:
        data[at] ^= 1 << draw.randrange(8)
        how = f"a bit of byte {at} is flipped"
    elif kind == 1:
        del data[at:]
        how = f"all from byte {at} on is gone"
    elif kind == 2:
        data[at:at] = data[at : at + 100]
        how = f"100 bytes at {at} are there twice"
    elif kind == 3:
        other = draw.randrange(len(data))
        data[at], data[other] = data[other], data[at] ^ 1
        how = f"bytes {at} and {other} are exchanged, and one is changed"
    elif kind == 4:
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
        how = f"a block at {at} is zero"
    elif kind == 5:
        data += b"\0" * 17
        how = "something follows"
    elif kind == 6:
        file.unlink()
        print(f"{file.name} is gone")
        return
    else:
        file = draw.choice([each for each in files if each.suffix == ".safetensors"])
        before, data = file.read_bytes(), bytearray((pathlib.Path(another) / file.name).read_bytes())
        how = "the file is that of another step"
    if bytes(data) == before:
        data[-1] ^= 1
        how = "its last byte is changed"
    file.write_bytes(bytes(data))
    print(f"{file.name}: {how}")


main(*sys.argv[1:4])
