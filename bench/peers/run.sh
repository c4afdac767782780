#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One training step of ours against the same model in PyTorch, step by step in turns, because clocks swing and only pairs compare.
#   sh bench/peers/run.sh [--model tiny|small|b16|l14] [--precision fp32|bf16] [--steps N] [--batch N] [--threads N] [--modes eager,compile]
# Makes a Python environment outside the tree (MOTET_PEER_ENV, default ~/.cache/motet/peer; PyTorch is 5.6 GB) and ends with one JSON line.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
env_dir=${MOTET_PEER_ENV:-${XDG_CACHE_HOME:-$HOME/.cache}/motet/peer}
python=$env_dir/bin/python

if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "making a Python environment with PyTorch in $env_dir" >&2
  if ! python3 -m venv "$env_dir" 2>/dev/null; then
    if [ "$(id -u)" = 0 ]; then apt-get install -y python3-venv >&2; else sudo apt-get install -y python3-venv >&2; fi
    python3 -m venv "$env_dir"
  fi
  "$python" -m pip install -q 'torch==2.15.*' numpy >&2
fi

program=$root/build/release/bin/train_clip
cmake --preset release -S "$root" >&2
cmake --build "$root/build/release" --target train_clip >&2
exec "$python" "$root/bench/peers/alternate.py" --ours "$program" --peer "$root/bench/peers/clip_torch.py" "$@"
