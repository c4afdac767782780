#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One training step of ours against the same model in PyTorch, step by step in turns, because clocks swing and only pairs compare.
#   sh bench/peers/run.sh [--model tiny|small|b16|l14|lm-small|say-small|decoder] [--precision fp32|bf16] [--steps N] [--batch N] [--threads N] [--modes eager,compile]
#                         [--device cpu|cuda]
# lm-small is a language model on ragged text, say-small one that sees, with none to three pictures in a sample; their peer's modes are eager (padded),
# compile (padded) and packed. The decoder (a billion weights in decoder blocks) is for GPUs alone, in bf16.
# MOTET_PEER_SCRIPT is run in PyTorch's place, for rehearsals. Python is MOTET_PEER_PYTHON; or that of an environment outside the tree (MOTET_PEER_ENV, default ~/.cache/motet/peer), which is made where no python3
# has PyTorch and a network is at hand (PyTorch is 5.6 GB). Our program is MOTET_PEER_OURS, or it is built. Ends with one JSON line.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
env_dir=${MOTET_PEER_ENV:-${XDG_CACHE_HOME:-$HOME/.cache}/motet/peer}

device=cpu
model=small
before=
for word in "$@"; do
  case $before in --device) device=$word ;; --model) model=$word ;; esac
  before=$word
done
if [ "$model" = decoder ] && [ "$device" != cuda ]; then
  echo "peers: the decoder runs on a GPU: --device cuda" >&2
  exit 2
fi
if [ "$device" = cuda ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU' && ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  echo "peers: no GPU here, nothing was run" >&2
  exit 77
fi

# Whether this Python can be the peer.
fits() {
  if [ -n "${MOTET_PEER_SCRIPT:-}" ]; then return; fi
  if [ "$device" = cuda ]; then "$1" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; else "$1" -c 'import torch' 2>/dev/null; fi
}
python=$env_dir/bin/python
if [ -n "${MOTET_PEER_PYTHON:-}" ]; then
  python=$MOTET_PEER_PYTHON
  fits "$python" || { echo "peers: $python has no PyTorch that runs on $device" >&2; exit 2; }
elif ! fits "$python"; then
  if [ "$device" = cuda ] && command -v python3 >/dev/null 2>&1 && fits python3; then
    python=python3
  else
    echo "making a Python environment with PyTorch in $env_dir" >&2
    if ! python3 -m venv "$env_dir" 2>/dev/null; then
      if [ "$(id -u)" = 0 ]; then apt-get install -y python3-venv >&2; else sudo apt-get install -y python3-venv >&2; fi
      python3 -m venv "$env_dir"
    fi
    # The packages for Linux come with CUDA.
    if ! "$python" -m pip install -q --retries 2 'torch==2.15.*' numpy >&2; then
      echo "peers: PyTorch is not here and could not be fetched; set MOTET_PEER_PYTHON to a Python that has it" >&2
      exit 2
    fi
    fits "$python" || { echo "peers: PyTorch in $env_dir does not run on $device" >&2; exit 2; }
  fi
fi

peer=clip_torch.py
target=train_clip
if [ "$model" = decoder ]; then
  peer=decoder_torch.py
  target=bench_gpu_decoder
  set -- --batch 8 "$@" --precision bf16
elif [ "$model" = lm-small ] || [ "$model" = say-small ]; then
  if [ "$device" = cuda ]; then
    echo "peers: $model runs on processors: --device cpu" >&2
    exit 2
  fi
  peer=language_torch.py
  target=bench_language
  if [ "$model" = say-small ]; then target=bench_seeing; fi
  set -- --batch 8 --modes eager,packed "$@"
fi
program=${MOTET_PEER_OURS:-}
if [ -z "$program" ]; then
  preset=release
  if [ "$device" = cuda ]; then preset=cuda; fi
  program=$root/build/$preset/bin/$target
  models=$model
  case $model in lm-small | say-small) models=quick ;; esac
  cmake --preset $preset -S "$root" "-DMOTET_MODELS=$models" >&2
  cmake --build "$root/build/$preset" --target $target >&2
fi
exec "$python" "$root/bench/peers/alternate.py" --ours "$program" --peer "${MOTET_PEER_SCRIPT:-$root/bench/peers/$peer}" "$@"
