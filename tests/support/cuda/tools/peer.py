#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the place of PyTorch's programs where there is no GPU: our own emulated program, of the folder MOTET_PEER_PLAYS, beside itself. The ratio says nothing."""
import os
import sys

words = sys.argv[1:]
del words[words.index("--mode"):words.index("--mode") + 2]
program = "bench_gpu_decoder" if words[words.index("--model") + 1] == "decoder" else "bench_gpu_step"
os.execv(os.path.join(os.environ["MOTET_PEER_PLAYS"], program), [program, "--smoke", *words])
