#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh tests/run.sh [--quick]: builds and checks all that this machine can check. The last line is `N passed, N failed, N skipped`; the status is 0 when
# nothing failed. Missing packages are installed where apt-get may be used; MOTET_NO_INSTALL=1 forbids it.
# --quick runs the unit tests that the change since main can affect, or all where nothing changed, without sanitizers, and reads the tree.
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
# What all processes that ended computed, in seconds of a core. `times` tells it of the shell that runs it, which a command substitution is not.
computed() {
  times >build/times.txt
  awk 'NR == 2 { gsub(/s/, ""); for (i = 1; i <= 2; ++i) { split($i, at, "m"); n += 60 * at[1] + at[2] } } END { printf "%.1f\n", n }' build/times.txt >build/computed.txt
  read -r computed <build/computed.txt || computed=0
}
# begin, and later phase build|tests NAME PARTS...: for the table at the end of a run.
begin() {
  computed
  began=$(date +%s) computed_before=$computed
}
phase() {
  computed
  awk -v begin="$began" -v end="$(date +%s)" -v before="$computed_before" -v now="$computed" -v what="$*" 'BEGIN { print begin, end, now - before, what }' >>build/phases.txt
}
finish() {
  if [ -s build/phases.txt ] && [ -n "${python:-}" ]; then
    say "where the time went"
    "$python" tests/tools/seconds.py --phases build/phases.txt build
  fi
  say "done"
  if [ -n "$failures" ]; then printf 'failed:%s\n' "$failures"; fi
  printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
  [ $failed -eq 0 ]
  exit
}
# build NAME PRESET [arguments of the build tool]: a failed build is a failure, but what was built is still tested.
build() {
  name=$1
  preset=$2
  shift 2
  begin
  cmake --build --preset "$preset" --parallel "$jobs" "$@" -- -k 0 >"build/$name.log" 2>&1 || not_built "$name"
  phase build "$name" "$preset"
}
not_built() {
  grep -E 'error|FAILED|undefined reference' "build/$1.log" | head -40
  fail "build $1 (build/$1.log)"
}
# check NAME PRESET [arguments of ctest]
check() {
  name=$1
  preset=$2
  shift 2
  results=$PWD/build/$name.xml
  rm -f "$results"
  begin
  # Some tests wait for each other's processes or for a clock, so one more than there are processors runs.
  $without_aslr ctest --preset "$preset" --parallel $((jobs + 1)) --output-junit "$results" "$@" >"build/$name.tests.log" 2>&1
  phase tests "$name" "$name"
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
rm -f build/phases.txt
without_aslr=
jobs=$(nproc 2>/dev/null || echo 2)

say "packages"
browser=browser
[ "${1:-}" != --quick ] || browser= # 98 MB for a test that reads the whole tree
# shellcheck disable=SC2086
motet_packages required optional mpi checks $browser || { fail "required packages are missing"; finish; }
python=${MOTET_PYTHON:-$(command -v python3)}
if ! "$python" -c 'import numpy, safetensors' 2>/dev/null && [ -z "${MOTET_NO_INSTALL:-}" ]; then
  if [ -x build/python/bin/python ] || python3 -m venv build/python >build/python.log 2>&1; then
    build/python/bin/python -c 'import numpy, safetensors, yaml' 2>/dev/null ||
      timeout 180 build/python/bin/python -m pip install --quiet numpy safetensors pyyaml >>build/python.log 2>&1
    # What vocabularies are compared with; what it would fetch files with is not needed.
    build/python/bin/python -c 'import tokenizers' 2>/dev/null ||
      timeout 180 build/python/bin/python -m pip install --quiet --no-deps 'tokenizers==0.23.*' >>build/python.log 2>&1
    if build/python/bin/python -c 'import numpy, safetensors' 2>/dev/null; then python=$PWD/build/python/bin/python; fi
  fi
fi
"$python" -c 'import numpy, safetensors' 2>/dev/null || echo "no Python with numpy and safetensors: tests that compare with them are skipped"

clang=
for candidate in clang++-19 clang++-18 clang++-17 clang++-16; do
  if motet_has_program $candidate; then clang=$candidate; fi
done
printf 'int main() { return 0; }\n' >build/probe.cpp
# g++ looks for memory that it no longer needs whenever its heap has doubled, which takes a tenth of a compile: below a gigabyte it need not.
frugal=--param=ggc-min-heapsize=1000000
c++ -Werror $frugal -fsyntax-only build/probe.cpp 2>/dev/null || frugal=
# A compiler whose programs under sanitizers start here: clang takes half the time of g++.
instrumenting() {
  for candidate in $clang c++; do
    if $candidate "-fsanitize=$1" build/probe.cpp -o build/probe 2>/dev/null && { build/probe 2>/dev/null || setarch "$(uname -m)" -R build/probe 2>/dev/null; }; then
      echo "$candidate"
      return
    fi
  done
}

if [ "${1:-}" = --quick ]; then
  say "quick: unit tests, without sanitizers"
  base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
  if cmake --preset quick -DCMAKE_CXX_COMPILER="${clang:-c++}" -DMOTET_GROUP_SIZE=20 -DMOTET_PYTHON="$python" >build/quick.configure.log 2>&1; then
    affected=$("$python" tests/tools/affected.py "$base" <build/quick/tests/unit_tests.txt)
    groups=$(echo "$affected" | sed -n 1p)
    if [ -n "$groups" ]; then tests="^($(echo "$affected" | sed -n 2p | sed 's/\./[.]/g; s/ /|/g'))\$"; else groups=unit_tests tests=; fi
    # shellcheck disable=SC2086
    build quick quick --target $groups errors_page
    if [ -n "$tests" ]; then check quick quick -R "$tests|^tree[.](floors|format|errors)"; else check quick quick -L '^unit$|^tree$' -LE '^emulated$' -E 'docs_compile|docs_run|tidy'; fi
  else
    tail -20 build/quick.configure.log
    fail "configure quick"
  fi
  finish
fi

fresh=yes
for preset in release sanitize tsan cuda; do
  if [ -d build/$preset ]; then fresh=no; fi
done
# What came from a cache says nothing of seconds either.
kept() { ccache --print-stats 2>/dev/null | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n + 0 }'; }
kept_before=$(kept)
# Unit tests of what stands above the kernels run once, instrumented where that is possible. Kernels are compiled as they ship, by -O3; programs, whose
# answers alone are asked, for less.
sanitizing=$(instrumenting address,undefined)
tests=ALL emulated=OFF
if [ -n "$sanitizing" ]; then tests=OPTIMISED emulated=ON; fi

say "release: programs, packages, headers, kernels, emulated GPUs, whole plans"
if cmake --preset release -DMOTET_PYTHON="$python" -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_UNIT_TESTS=$tests -DMOTET_INSTRUMENT_EMULATED=$emulated \
  -DMOTET_GROUP_SIZE=20 -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG $frugal" -DMOTET_STEERING_FLAGS=-O0 -DMOTET_MODELS="quick;quick_glue;quick_adapted;quick_experts;coca_quick;draw_quick;sense_quick;tiny" >build/release.configure.log 2>&1; then
  grep -A 10 '^-- motet' build/release.configure.log
  build release release
  say "release: tests"
  check release release
else
  tail -20 build/release.configure.log
  fail "configure release"
fi
if [ -z "$clang" ]; then
  echo "no clang here: headers were read by $(c++ --version | sed 1q) only"
  skipped=$((skipped + 1))
fi

# Configured here, as some of it is built beside what nvcc makes.
if [ -n "$sanitizing" ]; then
  cmake --preset sanitize -DCMAKE_CXX_COMPILER="$sanitizing" -DMOTET_UNIT_TESTS=INSTRUMENTED -DMOTET_GROUP_SIZE=100 \
    -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_PYTHON="$python" >build/sanitize.configure.log 2>&1
  sanitize_configured=$?
fi

nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
if [ -n "$nvcc" ]; then
  say "cuda: headers, a model and GPU tests under nvcc"
  # Some of the GPU tests are compiled and linked on every machine, so that each library is; where there is a GPU, all are, and run. The trainer takes
  # NCCL, cuDNN and cuBLASLt.
  some='gpu.runtime.cuda_trainer'
  # With these, all kernels that matter, whose machine code is checked; they are compiled as one.
  some="$some gpu.backend.cuda.losses.cross_entropy gpu.backend.cuda.products.gemm_matrix_kernel gpu.backend.cuda.attention.rotary gpu.backend.cuda.rows.swiglu"
  targets="headers.cuda gpu.runtime.cuda_trainer gpu.kernels"
  # What processors do is not optimised where it does not run; machine code for GPUs is the same.
  host="-O0 -DNDEBUG $frugal"
  # No kernel asks for which chip it is compiled: one pass makes the code of both, whose findings are the same.
  chips=OFF
  passes="--generate-code=arch=compute_80,code=[sm_80,sm_90]"
  run="^($(printf '%s' "$some" | tr ' ' '|'))\$"
  # What trains on processors is compiled by now.
  compiled="$PWD/build/release/libmotet_compiled_ranks.a;$PWD/build/release/libmotet_compiled.a"
  if [ ! -f build/release/libmotet_compiled_ranks.a ] || [ ! -f build/release/libmotet_compiled.a ]; then compiled=; fi
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    targets="headers.cuda gpu_tests"
    host="-O3 -DNDEBUG"
    chips="80;90"
    passes=
    run=ON
  fi
  if CUDACXX=$nvcc cmake --preset cuda -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_CUDA_MODELS=quick -DMOTET_GPU_TESTS="$run" -DCMAKE_CXX_FLAGS_RELEASE="$host" \
    -DCMAKE_CUDA_FLAGS_RELEASE="$host" -DCMAKE_CUDA_ARCHITECTURES="$chips" -DCMAKE_CUDA_FLAGS="$passes" -DMOTET_BENCH=OFF -DMOTET_PYTHON="$python" \
    -DMOTET_COMPILED_ARCHIVES="$compiled" \
    >build/cuda.configure.log 2>&1; then
    if [ "$run" = ON ] || [ "$jobs" -lt 2 ] || [ "${sanitize_configured:-1}" -ne 0 ]; then
      # shellcheck disable=SC2086
      build cuda cuda --target $targets
    else
      # nvcc takes minutes for the trainer, on one core; meanwhile others build the longest of what comes next, which tells there what fails.
      begin
      # shellcheck disable=SC2086
      cmake --build --preset cuda --parallel 1 --target $targets -- -k 0 >build/cuda.log 2>&1 &
      with_nvcc=$!
      cmake --build --preset sanitize --parallel $((jobs - 1)) --target net_tests -- -k 0 >build/sanitize.nets.log 2>&1
      wait $with_nvcc || not_built cuda
      phase build cuda+nets cuda sanitize
    fi
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

# What either sanitizer may see is seen by one (tests/laws/drawn_cases.hpp), where both are here.
racing=$(instrumenting thread)
halved=
if [ -n "$sanitizing" ] && [ -n "$racing" ]; then halved=yes; fi

say "sanitize: unit tests under the address and undefined-behaviour sanitizers"
if [ -z "$sanitizing" ]; then
  echo "programs under these sanitizers do not start here: unit tests ran without them"
  skipped=$((skipped + 1))
elif [ "$sanitize_configured" -eq 0 ]; then
  build sanitize sanitize --target unit_tests
  if [ -n "$halved" ]; then export MOTET_TEST_HALF=0; fi
  check sanitize sanitize -L '^unit$'
else
  tail -20 build/sanitize.configure.log
  fail "configure sanitize"
fi

# What warns here warned before.
say "tsan: tests with threads under the thread sanitizer"
if [ -z "$racing" ]; then
  echo "programs under the thread sanitizer do not start here: skipped"
  skipped=$((skipped + 1))
elif cmake --preset tsan -DCMAKE_CXX_COMPILER="$racing" -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g0 -w" -DMOTET_GROUP_SIZE=100 -DMOTET_PYTHON="$python" >build/tsan.configure.log 2>&1; then
  # Some kernels place memory where this sanitizer does not expect it, unless addresses are not randomised.
  $racing -fsanitize=thread build/probe.cpp -o build/probe
  if ! build/probe 2>/dev/null; then without_aslr="setarch $(uname -m) -R"; fi
  build tsan tsan --target thread_tests
  if [ -n "$halved" ]; then export MOTET_TEST_HALF=1; fi
  check tsan tsan -L '^threads$'
else
  tail -20 build/tsan.configure.log
  fail "configure tsan"
fi
without_aslr=

say "seconds: what this run took, against its budget"
if [ $fresh = no ] || [ "$(kept)" -ne "$kept_before" ]; then
  echo "some of it was built before, or came from ccache (CCACHE_DISABLE=1 leaves that out): skipped"
  skipped=$((skipped + 1))
elif "$python" tests/tools/seconds.py tests/seconds.txt build/release build/cuda build/sanitize build/tsan; then
  passed=$((passed + 1))
else
  fail "tests/run.sh takes more than its budget, tests/seconds.txt, or that has names that are no more"
fi

finish
