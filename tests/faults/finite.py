#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends with 1 when a number of a checkpoint is not finite: finite.py CHECKPOINT."""
import array
import json
import math
import pathlib
import sys

for file in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    for name, of in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        assert of["dtype"] == "F32", of["dtype"]
        begin, end = of["data_offsets"]
        if not all(map(math.isfinite, array.array("f", data[8 + size + begin : 8 + size + end]))):
            sys.exit(f"{file}: {name}")
