#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/gpu_session.sh: what it refuses, and its brief rehearsal on emulated GPUs: gpu_session.sh PROGRAMS SCRATCH
# labels: emulated
set -u

here=$2
script=$MOTET_SOURCE/bench/gpu_session.sh
rm -rf "$here"
mkdir -p "$here/path" "$here/empty" || exit 1
cd "$here" || exit 1
fail() {
  echo "FAILED: $*"
  cat err
  exit 1
}
# refused STATUS SENTENCE ARGUMENTS...
refused() {
  wanted=$1 sentence=$2
  shift 2
  PATH=$here/path:$PATH sh "$script" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] || fail "status $status instead of $wanted: gpu_session.sh $*"
  cat out err | grep -q -e "$sentence" || fail "gpu_session.sh $* does not say: $sentence"
}
refused 2 'which slice, 1 to 5'
refused 2 'unknown word 6; --help lists them' 6
refused 2 'unknown word --nonsense' 1 --nonsense
refused 2 '--out wants a value' 1 --out
refused 2 '--minutes wants a number, not soon' 1 --minutes soon
refused 2 '--deps names the folder that --pack made' 1
refused 2 'empty has no bin: sh bench/gpu_session.sh --pack DIR makes it' 1 --deps empty --out results
refused 1 'results has no slice-N.jsonl' --table results
printf '#!/bin/sh\nexit 9\n' >path/nvidia-smi
chmod +x path/nvidia-smi
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  mkdir empty/bin
  refused 77 'no GPU here' 1 --deps empty --out results
fi
[ ! -e results ] || fail "something was written"

# The build's own fake runtime and kernels of processors, if they were made; clang, where it is found, compiles what is not optimised in half of the
# time.
fakes=$(find "$1/.." -name libmotet_fake_cuda.a 2>/dev/null | head -1)
kernels=$(find "$1/.." -name libmotet_compiled.a 2>/dev/null | head -1)
env ${MOTET_READER:+"MOTET_CXX=$MOTET_READER"} ${fakes:+"MOTET_FAKES=$fakes"} ${kernels:+"MOTET_COMPILED_KERNELS=$kernels"} sh "$script" --rehearse --brief --scratch "$here/rehearsal" >out 2>err
status=$?
[ $status -ne 77 ] || { cat out && exit 77; }
[ $status -eq 0 ] || fail "the rehearsal ends with $status"
tail -1 out
