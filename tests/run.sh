#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh tests/run.sh: builds and checks all that this machine can check. The last line is `N passed, N failed, N skipped`; the status is 0 when
# nothing failed. Missing packages are installed where apt-get may be used; MOTET_NO_INSTALL=1 forbids it.
# MOTET_TEST_MINUTES=N begins none of the last two parts, emulated GPUs under sanitizers and the thread sanitizer, after N minutes; they are reported as
# skipped then.
# MOTET_PYTHON names a Python with numpy, safetensors and, for the comparisons with them, torch and transformers.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/tools/packages.sh

passed=0
failed=0
skipped=0
failures=
started=$(date +%s)

say() { printf '\n== %s (%d s)\n' "$*" $(($(date +%s) - started)); }
fail() {
  failed=$((failed + 1))
  failures="$failures
  $1"
}
finish() {
  say "done"
  if [ -n "$failures" ]; then printf 'failed:%s\n' "$failures"; fi
  printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
  [ $failed -eq 0 ]
  exit
}
late() { [ "${MOTET_TEST_MINUTES:-0}" -gt 0 ] && [ $(($(date +%s) - started)) -ge $((MOTET_TEST_MINUTES * 60)) ]; }
# build NAME PRESET [arguments of the build tool]: a failed build is a failure, but what was built is still tested.
build() {
  name=$1
  preset=$2
  shift 2
  cmake --build --preset "$preset" --parallel "$jobs" "$@" -- -k 0 >"build/$name.log" 2>&1 && return 0
  grep -E 'error|FAILED|undefined reference' "build/$name.log" | head -40
  fail "build $name (build/$name.log)"
  return 1
}
# check NAME PRESET [arguments of ctest]
check() {
  name=$1
  preset=$2
  shift 2
  results=$PWD/build/$name.xml
  rm -f "$results"
  $without_aslr ctest --preset "$preset" --parallel "$jobs" --output-junit "$results" "$@" >"build/$name.tests.log" 2>&1
  if [ ! -s "$results" ]; then
    tail -20 "build/$name.tests.log"
    fail "tests $name did not run"
    return
  fi
  # What the failed tests printed, at most 60 lines of each.
  awk '/^ *[0-9]+\/[0-9]+ Test +#/ || /^ +Start +[0-9]+:/ { shown = /\*\*\*/ && !/Skipped/ ? 60 : 0 }
    /^[0-9]+% tests passed/ { shown = 100 } shown-- > 0' "build/$name.tests.log"
  # A test whose program was not built is reported as not run; only one that asked for it (status 77) counts as skipped.
  counts=$(awk '
    /<testcase / { match($0, /name="[^"]*"/); test = substr($0, RSTART + 6, RLENGTH - 7); state = "passed" }
    /<testcase [^>]*status="(fail|disabled)"/ { state = "failed" }
    /<testcase [^>]*status="notrun"/ { state = "missing" }
    /<skipped message="SKIP_/ { state = "skipped" }
    /<\/testcase>/ { n[state]++; if (state == "failed" || state == "missing") names = names " " test }
    END { printf "%d %d %d%s", n["passed"], n["failed"] + n["missing"], n["skipped"], names }' "$results")
  # shellcheck disable=SC2086
  set -- $counts
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
  shift 3
  for test in "$@"; do
    failures="$failures
  $name: $test"
  done
}

mkdir -p build
without_aslr=
jobs=$(nproc 2>/dev/null || echo 2)

say "packages"
motet_packages required optional mpi checks || { fail "required packages are missing"; finish; }
python=${MOTET_PYTHON:-$(command -v python3)}
if ! "$python" -c 'import numpy, safetensors' 2>/dev/null && [ -z "${MOTET_NO_INSTALL:-}" ]; then
  if [ -x build/python/bin/python ] || python3 -m venv build/python >build/python.log 2>&1; then
    build/python/bin/python -c 'import numpy, safetensors' 2>/dev/null ||
      timeout 180 build/python/bin/python -m pip install --quiet numpy safetensors >>build/python.log 2>&1
    if build/python/bin/python -c 'import numpy, safetensors' 2>/dev/null; then python=$PWD/build/python/bin/python; fi
  fi
fi
"$python" -c 'import numpy, safetensors' 2>/dev/null || echo "no Python with numpy and safetensors: tests that compare with them are skipped"

# Whether programs under sanitizers start here; unit tests of what stands above the kernels run once then, instrumented.
printf 'int main() { return 0; }\n' >build/probe.cpp
instrumented=no
if c++ -fsanitize=address,undefined build/probe.cpp -o build/probe 2>/dev/null && build/probe 2>/dev/null; then instrumented=yes; fi
plain=ON
if [ $instrumented = yes ]; then plain=OFF; fi

say "release: programs, packages, kernels, whole plans"
if cmake --preset release -DMOTET_PYTHON="$python" -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_PLAIN_TESTS=$plain >build/release.configure.log 2>&1; then
  grep -A 9 '^-- motet' build/release.configure.log
  build release release
  say "release: tests"
  check release release
else
  tail -20 build/release.configure.log
  fail "configure release"
fi

clang=
for candidate in clang++-19 clang++-18 clang++-17 clang++-16; do
  if command -v $candidate >/dev/null 2>&1; then clang=$candidate; fi
done
if [ -n "$clang" ]; then
  say "clang: every header, $clang, syntax only"
  # Without MPI its transport cannot be read. Each header alone is what the release build reads; here a folder is one file.
  mpi=$(mpicxx --showme:compile 2>/dev/null | sed 's/-I */-isystem /g')
  if [ -n "$mpi" ]; then unread='^$'; else unread='/transport/mpi'; fi
  for folder in /usr/local/cuda/include /usr/include; do
    if [ -f $folder/cuda_runtime_api.h ] && [ -f $folder/cublasLt.h ] && [ -f $folder/nccl.h ]; then cuda="-isystem $folder"; fi
  done
  if [ -z "${cuda:=}" ]; then unread="$unread\\|/backend/cuda\\|/transport/nccl\\|/transport/shared_gpu\\|motet/cuda.hpp"; fi
  # shellcheck disable=SC2016
  broken=$(cd include && find motet -name '*.hpp' | grep -v "$unread" | xargs -n 1 dirname | sort -u | xargs -P "$jobs" -I{} sh -c 'find "$2" -maxdepth 1 -name "*.hpp" |
    grep -v "$4" | sort | sed "s/.*/#include <&>/" | "$1" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I. $3 -x c++ - >&2 ||
    echo "$2"' check "$clang" {} "$mpi $cuda" "$unread" 2>../build/clang.log | tr '\n' ' ')
  grep error: build/clang.log | sort | uniq -c | sort -rn | head -10
  if [ -z "$broken" ]; then passed=$((passed + 1)); else fail "clang:$broken"; fi
else
  say "clang: none here, skipped"
  skipped=$((skipped + 1))
fi

nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
if [ -n "$nvcc" ]; then
  say "cuda: headers, a model and GPU tests under nvcc"
  # Some of the GPU tests are compiled and linked on every machine, so that each library is; where there is a GPU, all are, and run.
  some='gpu.runtime.cuda_trainer gpu.backend.transport.nccl gpu.backend.cuda.attention_plans'
  # With these, all kernels that matter, whose machine code is checked.
  some="$some gpu.backend.cuda.cross_entropy gpu.backend.cuda.gemm_matrix_kernel gpu.backend.cuda.rotary gpu.backend.cuda.swiglu"
  targets="headers.cuda $some"
  # The first of them is a model's training; a program's is the same again, where time is not short.
  if [ -z "${MOTET_TEST_MINUTES:-}" ]; then targets="$targets examples/CMakeFiles/train_clip.dir/train_clip/cuda_quick.cu.o"; fi
  run="^($(printf '%s' "$some" | tr ' ' '|'))\$"
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    targets="$targets gpu_tests"
    run=ON
  fi
  if CUDACXX=$nvcc cmake --preset cuda -DMOTET_CUDA_MODELS=quick -DMOTET_GPU_TESTS="$run" -DMOTET_BENCH=OFF -DMOTET_PYTHON="$python" \
    >build/cuda.configure.log 2>&1; then
    # shellcheck disable=SC2086
    build cuda cuda --target $targets
    # Toolkits may come without the programs that read machine code.
    if ! { command -v cuobjdump || [ -x "$(dirname "$nvcc")/cuobjdump" ]; } >/dev/null && [ -z "${MOTET_NO_INSTALL:-}" ]; then
      [ -x build/python/bin/python ] || python3 -m venv build/python >build/python.log 2>&1
      timeout 180 build/python/bin/python -m pip install --quiet nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm >>build/python.log 2>&1
      for folder in "$PWD"/build/python/lib/python3*/site-packages/nvidia/*/bin; do PATH=$PATH:$folder; done
    fi
    check cuda cuda -R '^headers.cuda$|^must_fail.*nvcc|^gpu[.]|^cuda[.]'
  else
    tail -20 build/cuda.configure.log
    fail "configure cuda"
  fi
else
  say "cuda: no nvcc here, skipped"
  skipped=$((skipped + 1))
fi

say "sanitize: unit tests under the address and undefined-behaviour sanitizers"
if [ $instrumented = no ]; then
  echo "programs under these sanitizers do not start here: unit tests ran without them"
  skipped=$((skipped + 1))
elif cmake --preset sanitize -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_PYTHON="$python" >build/sanitize.configure.log 2>&1; then
  build sanitize sanitize --target unit_tests
  check sanitize sanitize -L '^unit$' -LE '^emulated$'
  say "sanitize: emulated GPUs"
  if late; then
    echo "$MOTET_TEST_MINUTES minutes are over: skipped (the release part ran them without sanitizers)"
    skipped=$((skipped + 1))
  else
    build emulated sanitize --target emulated_tests
    check emulated sanitize -L '^emulated$'
  fi
else
  tail -20 build/sanitize.configure.log
  fail "configure sanitize"
fi

# Some kernels place memory where this sanitizer does not expect it, unless addresses are not randomised.
say "tsan: tests with threads under the thread sanitizer"
if late; then
  echo "$MOTET_TEST_MINUTES minutes are over: skipped"
  skipped=$((skipped + 1))
elif c++ -fsanitize=thread build/probe.cpp -o build/probe 2>/dev/null; then
  if ! build/probe 2>/dev/null && setarch "$(uname -m)" -R build/probe 2>/dev/null; then without_aslr="setarch $(uname -m) -R"; fi
  if $without_aslr build/probe 2>/dev/null; then
    if cmake --preset tsan -DMOTET_WARNINGS_AS_ERRORS=OFF -DMOTET_PYTHON="$python" >build/tsan.configure.log 2>&1; then
      build tsan tsan --target thread_tests
      check tsan tsan -L '^threads$'
    else
      tail -20 build/tsan.configure.log
      fail "configure tsan"
    fi
  else
    echo "programs under the thread sanitizer do not start here: skipped"
    skipped=$((skipped + 1))
  fi
else
  echo "this compiler has no thread sanitizer: skipped"
  skipped=$((skipped + 1))
fi
without_aslr=

finish
