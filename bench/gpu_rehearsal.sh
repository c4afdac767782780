#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/gpu_session.sh on a machine without a GPU: its folder is packed and its slices run at toy sizes, by the same scripts, with tools that compile for and
# speak of emulated GPUs (tests/support/cuda/tools). One slice is killed, to see that it keeps its lines. Numbers say nothing.
#   gpu_rehearsal.sh SCRATCH yes|no      yes: the brief one
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$1
brief=$2
tools=$root/tests/support/cuda/tools
session=$root/bench/gpu_session.sh
die() { printf 'gpu_rehearsal.sh: %s\n' "$*" >&2; exit 1; }
for each in cuda_runtime.h cublasLt.h cudnn.h nccl.h cupti.h; do
  [ ! -e "${MOTET_CUDA_INCLUDE:-/usr/local/cuda/include}/$each" ] || continue
  echo "gpu_rehearsal.sh: no $each here, nothing was run; MOTET_CUDA_INCLUDE names the folder of CUDA's headers"
  exit 77
done
rm -rf "$scratch"
mkdir -p "$scratch/libraries/lib" "$scratch/fakes" || die "cannot make $scratch"
scratch=$(cd "$scratch" && pwd)
PATH=$tools:$PATH
CUDACXX=$tools/nvcc
MOTET_LIBRARIES=$scratch/libraries
MOTET_SESSION_STATE=$scratch/state
MOTET_GPU_BUILD=$scratch/build
MOTET_JOBS=${MOTET_JOBS:-2}
export PATH CUDACXX MOTET_LIBRARIES MOTET_SESSION_STATE MOTET_GPU_BUILD MOTET_JOBS

# Libraries by the versioned names that Python's packages ship; the programs here have the fakes in them.
echo 'int motet_rehearsal(void) { return 0; }' | c++ -x c++ -shared -fPIC - -o "$scratch/libraries/lib/libcublasLt.so.13" || die "no compiler"
for each in cudnn.so.9 cudnn_graph.so.9 cudnn_ops.so.9 cudnn_cnn.so.9 cudnn_heuristic.so.9 cudnn_engines_precompiled.so.9 cudnn_engines_runtime_compiled.so.9 \
  nccl.so.2 cupti.so.13 nvrtc.so.13; do
  cp "$scratch/libraries/lib/libcublasLt.so.13" "$scratch/libraries/lib/lib$each"
done
if [ -z "${MOTET_FAKES:-}" ]; then
  MOTET_FAKES=$scratch/fakes
  # shellcheck disable=SC2016
  printf '%s\n' "$root"/tests/support/cuda/*.cpp | root=$root fakes=$MOTET_FAKES xargs -P "$MOTET_JOBS" -I SOURCE sh -c '
    c++ -std=c++20 -O1 "-I$root/include" "-I$root/tests" -isystem "${MOTET_CUDA_INCLUDE:-/usr/local/cuda/include}" -DMOTET_HAS_CUDNN=1 -DMOTET_HAS_NCCL=1 \
      -c SOURCE -o "$fakes/$(basename SOURCE .cpp).o"' || die "the fake runtime does not compile"
fi
export MOTET_FAKES

# What is packed, what nvcc builds beside the slices, and what runs.
MOTET_SESSION_TESTS='backend.cuda.device.copies backend.cuda.rows.packed_patches_kernel'
MOTET_SESSION_BENCHES=step
later=
if [ "$brief" = no ]; then
  MOTET_SESSION_TESTS="$MOTET_SESSION_TESTS backend.cuda.rows.norm backend.cuda.attention.attention_matrix_kernel backend.cuda.parameters.optimizer"
  MOTET_SESSION_BENCHES='operations products attention step decoder collectives sharing'
  later='backend.cuda.rows.patches backend.cuda.rows.position'
fi
export MOTET_SESSION_TESTS MOTET_SESSION_BENCHES
wanted='bench_gpu\|peers\|ncu'
for each in $MOTET_SESSION_TESTS $later; do wanted="$wanted\\|gpu\\.$(echo "$each" | sed 's/\./\\./g')\$"; done

# Every line is JSON; what began has ended, and nothing has failed, except for what was cut off. Shares of kernels sum to one.
check() {
  "${MOTET_PYTHON:-python3}" - "$@" <<'END' || die "the lines of $1 are wrong"
import json, sys
path, cut_off, tasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lines = [json.loads(line) for line in open(path)]
began = [line["task"] for line in lines if "began" in line]
ended = {line["task"]: line for line in lines if "ended" in line}
assert len(began) - len(ended) == cut_off, (began, ended)
assert len(ended) >= tasks, ended
bad = [line for line in ended.values() if line["result"] != "passed"]
assert not bad, bad
shares = {}
for line in lines:
    if "kernel" in line:
        assert line["count"] > 0 and line["milliseconds"] >= 0 and line["compiled"], line
        shares[line["task"]] = shares.get(line["task"], 0) + line["share"]
assert all(abs(share - 1) < 0.02 for share in shares.values()), shares
if "slice-3" in path:
    assert shares, "no table of kernels"
    names = [line["kernel"] for line in lines if "kernel" in line]
    assert any(name.startswith("norm_rows") for name in names) and any(name.startswith("adamw") for name in names), names
END
}
slice() {
  sh "$session" "$1" --deps "$scratch/deps" --out "$scratch/out" --toy --match "$wanted" || die "slice $1 has failed"
  check "$scratch/out/slice-$1.jsonl" 0 "$2"
}
now() { date +%s; }
from=$(now)
cd "$scratch" || die "no folder $scratch"
sh "$session" --pack "$scratch/deps" || { tail -40 "$scratch/build/build.log" >&2; die "packing has failed"; }
echo "packed after $(($(now) - from)) s"
if [ "$brief" = yes ]; then
  # The bench, two tests, and the sanitizer on one of them.
  slice 1 4
else
  slice 1 13
  slice 2 5
  slice 3 4
  MOTET_PEER_SCRIPT=$tools/peer.py MOTET_PEER_PLAYS=$scratch/deps/bin
  export MOTET_PEER_SCRIPT MOTET_PEER_PLAYS
  slice 4 6
  for each in $later; do
    until [ -x "$scratch/state/build/bin/tests/gpu.$each" ]; do
      [ $(($(now) - from)) -lt 600 ] || die "the other tests were not built beside the slices: $scratch/state/build.log"
      sleep 1
    done
  done
  slice 5 7
fi
# Benches refuse what they do not know.
refused() {
  code=$1
  shift
  "$scratch/deps/bin/bench_gpu_step" "$@" >"$scratch/refused.txt" 2>&1
  if [ $? -ne 2 ] || ! grep -q "$code" "$scratch/refused.txt"; then die "bench_gpu_step $* is not refused with $code"; fi
}
refused MT-X01 --kernel
refused MT-X02 --batch
refused MT-X03 --model l15
refused MT-X04 --paced
# A slice whose budget is over leaves the rest out, by name.
sh "$session" 2 --deps "$scratch/deps" --out "$scratch/late" --toy --minutes 0.1 >"$scratch/late.txt" || die "a slice without time has failed"
[ "$(grep -c '"left_out": "bench_gpu_.*s are left of 6"' "$scratch/late/slice-2.jsonl")" -eq 5 ] || die "a slice without time does not name what it leaves out"
# A slice that is killed in the middle of its second task keeps what the first has told.
setsid sh "$session" 3 --deps "$scratch/deps" --out "$scratch/killed" --toy >/dev/null 2>&1 &
killed=$!
until [ "$(grep -c '"began"' "$scratch/killed/slice-3.jsonl" 2>/dev/null)" -ge 2 ] 2>/dev/null; do
  [ $(($(now) - from)) -lt 900 ] || die "the second task of slice 3 does not begin"
  sleep 0.1
done
kill -9 "-$killed"
wait "$killed" 2>/dev/null
check "$scratch/killed/slice-3.jsonl" 1 1
sh "$session" --table "$scratch/killed" >"$scratch/table.txt"
grep -q '^CUT OFF .*bench_gpu_step --model l14 .*it began at .* and never ended$' "$scratch/table.txt" || die "the table does not tell what was cut off"
grep -q '^passed .*bench_gpu_step --model l14' "$scratch/table.txt" || die "the table does not tell what was done"
echo "all is well, after $(($(now) - from)) s"
