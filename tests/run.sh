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
# measured "build|tests NAME PARTS..." COMMAND...: tells for the table at the end of a run when the command ran and what its processes computed, in seconds of
# a core, which a shell knows of its own children.
measured() (
  what=$1
  shift
  began=$(date +%s)
  "$@" 3>&-
  status=$?
  times >"build/times.${what%% *}.txt"
  awk -v began="$began" -v end="$(date +%s)" -v what="$what" 'NR == 2 { gsub(/s/, ""); for (i = 1; i <= 2; ++i) { split($i, at, "m"); n += 60 * at[1] + at[2] } }
    END { printf "%d %d %.1f %s\n", began, end, n, what }' "build/times.${what%% *}.txt" >>build/phases.txt
  exit $status
)
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
# What is compiled and linked tells its seconds of a core, through a compiler cache where there is one.
seconds="sh;$PWD/tests/tools/core_seconds.sh" cache=
if motet_has_program ccache; then cache=";ccache"; fi
configure() {
  preset=$1
  shift
  cmake --preset "$preset" -DCMAKE_EXE_LINKER_FLAGS="$linked" -DCMAKE_CXX_COMPILER_LAUNCHER="$seconds$cache" -DCMAKE_CUDA_COMPILER_LAUNCHER="$seconds$cache" -DCMAKE_CXX_LINKER_LAUNCHER="$seconds" \
    -DMOTET_WARNINGS_AS_ERRORS=ON -DMOTET_PYTHON="$python" -DMOTET_COMPILERS_ENVIRONMENT="$(echo $allocator | tr ' ' ';')" "$@" >"build/$preset.configure.log" 2>&1
}
# build NAME PRESET JOBS [arguments of the build tool]; a failed build is a failure, but what was built is still tested.
build() {
  name=$1
  preset=$2
  at_once=$3
  shift 3
  # shellcheck disable=SC2086
  measured "build $name $preset" $patiently ${allocator:+env $allocator} cmake --build --preset "$preset" --parallel "$at_once" "$@" -- -k 0 >"build/$name.log" 2>&1
}
not_built() {
  grep -E 'error|FAILED|undefined reference' "build/$1.log" | head -40
  fail "build $1 (build/$1.log)"
}
not_configured() {
  tail -20 "build/$1.configure.log"
  fail "configure $1"
}
# check NAME PRESET [arguments of ctest]
check() {
  name=$1
  preset=$2
  shift 2
  results=$PWD/build/$name.xml
  rm -f "$results"
  # Some tests wait for each other's processes or for a clock. Where no build takes what is left then, one more than there are processors runs.
  measured "tests $name $name" $without_aslr ctest --preset "$preset" --parallel $((jobs + alone)) --output-junit "$results" "$@" >"build/$name.tests.log" 2>&1
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
patiently=
alone=1
jobs=$(nproc 2>/dev/null || echo 2)

say "packages"
motet_packages required optional mpi checks || { fail "required packages are missing"; finish; }
# What tests alone ask for comes while programs are compiled: a Python that others' formats are read by, and, of a whole run, a browser (98 MB), in which the
# docs are opened.
python=${MOTET_PYTHON:-$(command -v python3)}
pip=
if ! "$python" -c 'import numpy, safetensors' 2>/dev/null && [ -z "${MOTET_NO_INSTALL:-}" ]; then
  if [ -x build/python/bin/python ] || python3 -m venv --system-site-packages build/python >build/python.log 2>&1; then
    python=$PWD/build/python/bin/python
    pip="timeout 180 $python -m pip install --quiet"
  fi
fi
fetch_the_rest() {
  if [ -n "$pip" ]; then
    "$python" -c 'import numpy, safetensors, yaml' 2>/dev/null || $pip numpy safetensors pyyaml
    # What vocabularies are compared with; what it would fetch files with is not needed.
    "$python" -c 'import tokenizers' 2>/dev/null || $pip --no-deps 'tokenizers==0.23.*'
  fi
  if [ "${1:-}" != --quick ]; then motet_packages browser; fi
}
fetch_the_rest "$@" >>build/python.log 2>&1 </dev/null &
fetching=$!
fetched() {
  wait $fetching
  "$python" -c 'import numpy, safetensors' 2>/dev/null || echo "no Python with numpy and safetensors: tests that compare with them are skipped"
}

clang=
for candidate in clang++-19 clang++-18 clang++-17 clang++-16; do
  if motet_has_program $candidate; then clang=$candidate; fi
done
printf 'int main() { return 0; }\n' >build/probe.cpp
# LLVM's linker takes a sixth of the time of the usual one, which still links what the packages' tests build.
linked="-fuse-ld=lld -B/usr/lib/llvm-16/bin"
for candidate in c++ $clang; do
  # shellcheck disable=SC2086
  $candidate $linked build/probe.cpp -o build/probe 2>/dev/null || linked=
done
# g++ looks for memory that it no longer needs whenever its heap has doubled, which takes a tenth of a compile: below a gigabyte it need not.
frugal=--param=ggc-min-heapsize=1000000
c++ -Werror $frugal -fsyntax-only build/probe.cpp 2>/dev/null || frugal=
# Compilers ask for memory without end and give next to none back: with jemalloc, in huge pages, they take 4 to 11 % less.
allocator="LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=thp:always,metadata_thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1"
if ! motet_preloads libjemalloc.so.2; then allocator=; fi
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
  # Where nothing changed all are built, which takes less the more files are compiled as one.
  files=100
  if [ -n "$(git status --porcelain 2>&1)" ] || ! git diff --quiet "$base" 2>/dev/null; then files=20; fi
  if configure quick -DCMAKE_CXX_COMPILER="${clang:-c++}" -DMOTET_GROUP_SIZE=$files; then
    affected=$("$python" tests/tools/affected.py "$base" <build/quick/tests/unit_tests.txt)
    groups=$(echo "$affected" | sed -n 1p)
    if [ -n "$groups" ]; then tests="^($(echo "$affected" | sed -n 2p | sed 's/\./[.]/g; s/ /|/g'))\$"; else groups=unit_tests tests=; fi
    # shellcheck disable=SC2086
    build quick quick "$jobs" --target $groups errors_page || not_built quick
    fetched
    if [ -n "$tests" ]; then check quick quick -R "$tests|^tree[.](floors|format|errors)"; else check quick quick -L '^unit$|^tree$' -LE '^emulated$' -E 'docs_compile|docs_run|tidy|roofline'; fi
  else
    not_configured quick
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
racing=$(instrumenting thread)
# The more files of tests are compiled as one, the less they take in all; clang wants 4 GB for all of several floors, and three run at once.
as_one=100
if [ -n "$clang" ] && [ "$sanitizing" = "$clang" ] && awk '/^MemTotal:/ { exit $2 < 14e6 }' /proc/meminfo 2>/dev/null; then as_one=1000; fi
tests=OPTIMISED emulated=ON
if [ -z "$sanitizing" ]; then tests=ALL emulated=OFF as_one=20; fi

say "release: programs, packages, headers, kernels, emulated GPUs, whole plans"
released=
if configure release -DMOTET_UNIT_TESTS=$tests -DMOTET_INSTRUMENT_EMULATED=$emulated -DMOTET_GROUP_SIZE=$as_one -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG $frugal" \
  -DMOTET_STEERING_FLAGS=-O0 -DMOTET_MODELS="quick;quick_glue;quick_adapted;quick_experts;coca_quick;draw_quick;sense_quick;tiny"; then
  released=yes
  grep -A 10 '^-- motet' build/release.configure.log
  build release release "$jobs" || not_built release
else
  not_configured release
fi
if [ -z "$clang" ]; then
  echo "no clang here: headers were read by $(c++ --version | sed 1q) only"
  skipped=$((skipped + 1))
fi

nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
configure_cuda() {
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
  # nvcc takes minutes for the trainer, on one core; real GPUs have many tests.
  nvccs=1
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    targets="headers.cuda gpu_tests"
    host="-O3 -DNDEBUG"
    chips="80;90"
    passes=
    run=ON
    nvccs=$jobs
  fi
  CUDACXX=$nvcc configure cuda -DMOTET_CUDA_MODELS=quick -DMOTET_GPU_TESTS="$run" -DCMAKE_CXX_FLAGS_RELEASE="$host" -DCMAKE_CUDA_FLAGS_RELEASE="$host" \
    -DCMAKE_CUDA_ARCHITECTURES="$chips" -DCMAKE_CUDA_FLAGS="$passes" -DMOTET_BENCH=OFF -DMOTET_COMPILED_ARCHIVES="$compiled"
}

# Tests wait for each other, for processes and for disks. Builds take what is left of the processors then, and nothing that a test wants. Of each part a line
# tells whether it was built, was not, or was not even configured.
built=0 not_built=1 not_configured=2
build_the_rest() {
  patiently="nice -n 19"
  sanitize=$not_configured tsan=$not_configured cuda=$not_configured
  if [ -n "$sanitizing" ] && configure sanitize -DCMAKE_CXX_COMPILER="$sanitizing" -DMOTET_UNIT_TESTS=INSTRUMENTED -DMOTET_GROUP_SIZE=$as_one \
    -DMOTET_SEES_RACES="${racing:+ON}"; then
    sanitize=$built
  fi
  if [ -n "$nvcc" ]; then
    if configure_cuda; then
      # shellcheck disable=SC2086
      build cuda cuda $nvccs --target $targets &
      # Beside nvcc, the longest of what comes next.
      if [ $sanitize = $built ] && [ "$jobs" -gt $nvccs ]; then build sanitize.nets sanitize $((jobs - nvccs)) --target net_tests; fi
      if wait $!; then cuda=$built; else cuda=$not_built; fi
    fi
    echo $cuda >&3
  fi
  # Both at once, so that no processor waits for the longest file of either.
  races=
  if [ -n "$racing" ]; then
    # What warns there warned before.
    if configure tsan -DCMAKE_CXX_COMPILER="$racing" -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g0 -w" -DMOTET_GROUP_SIZE=$as_one; then
      build tsan tsan $(((jobs + 1) / 2)) --target thread_tests &
      races=$!
    fi
  fi
  if [ -n "$sanitizing" ]; then
    if [ $sanitize = $built ] && ! build sanitize sanitize "$jobs" --target unit_tests; then sanitize=$not_built; fi
    echo $sanitize >&3
  fi
  if [ -n "$racing" ]; then
    if [ -n "$races" ]; then
      if wait $races; then tsan=$built; else tsan=$not_built; fi
    fi
    echo $tsan >&3
  fi
}
mkfifo build/parts && exec 3<>build/parts && rm -f build/parts
trap 'kill $builder 2>/dev/null; exit 130' INT TERM
build_the_rest &
builder=$!
alone=0
# has NAME: waits for that part; whether it has tests to run.
has() {
  read -r part <&3
  case $part in
    "$not_built") not_built "$1" ;;
    "$not_configured") not_configured "$1"; return 1 ;;
  esac
}

say "release: tests"
fetched
if [ -n "$released" ]; then check release release; fi

if [ -z "$nvcc" ]; then
  say "cuda: no nvcc here, skipped"
  skipped=$((skipped + 1))
else
  say "cuda: headers, a model and GPU tests under nvcc"
  if has cuda; then
    # Toolkits may come without the programs that read machine code.
    if ! { command -v cuobjdump || [ -x "$(dirname "$nvcc")/cuobjdump" ]; } >/dev/null && [ -z "${MOTET_NO_INSTALL:-}" ]; then
      [ -x build/python/bin/python ] || python3 -m venv build/python >build/python.log 2>&1
      timeout 180 build/python/bin/python -m pip install --quiet nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm >>build/python.log 2>&1
      for folder in "$PWD"/build/python/lib/python3*/site-packages/nvidia/*/bin; do PATH=$PATH:$folder; done
    fi
    check cuda cuda -R '^headers.cuda$|^must_fail.*nvcc|^gpu[.]|^cuda[.]'
  fi
fi

# What either sanitizer may see is seen by one (tests/laws/drawn_cases.hpp), where both are here.
halved=
if [ -n "$sanitizing" ] && [ -n "$racing" ]; then halved=yes; fi
# Few builds are left beside these tests.
alone=1

say "sanitize: unit tests under the address and undefined-behaviour sanitizers"
if [ -z "$sanitizing" ]; then
  echo "programs under these sanitizers do not start here: unit tests ran without them"
  skipped=$((skipped + 1))
elif has sanitize; then
  if [ -n "$halved" ]; then export MOTET_TEST_HALF=0; fi
  check sanitize sanitize -L '^unit$'
fi

say "tsan: tests with threads under the thread sanitizer"
if [ -z "$racing" ]; then
  echo "programs under the thread sanitizer do not start here: skipped"
  skipped=$((skipped + 1))
elif has tsan; then
  # Some kernels place memory where this sanitizer does not expect it, unless addresses are not randomised.
  $racing -fsanitize=thread build/probe.cpp -o build/probe
  if ! build/probe 2>/dev/null; then without_aslr="setarch $(uname -m) -R"; fi
  if [ -n "$halved" ]; then export MOTET_TEST_HALF=1; fi
  check tsan tsan -L '^threads$'
fi
without_aslr=
wait $builder

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
