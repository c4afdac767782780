#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the place of PyTorch's programs where there is no GPU: our own emulated program (MOTET_PEER_PLAYS) beside itself. The ratio says nothing."""
import os
import sys

words = sys.argv[1:]
del words[words.index("--mode"):words.index("--mode") + 2]
os.execv(os.environ["MOTET_PEER_PLAYS"], [os.environ["MOTET_PEER_PLAYS"], "--smoke", *words])
