#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the GPU tests and benches, without a network. It ends with a short table and writes one JSON file.
#
#   sh bench/gpu.sh [--deps DIR] [--libraries DIR] [--out DIR] [--only tests|benches] [--match PATTERN] [--smoke] [--peers]
#   sh bench/gpu.sh --build-only --deps DIR [--libraries DIR] [--headers-only] [--without NAME]... [--arch "80;90"]
#   sh bench/gpu.sh --build-here [--deps DIR] [--libraries DIR] [--without NAME]... [--arch LIST]      fills build/gpu/bin (or MOTET_GPU_BUILD/bin)
#   sh bench/gpu.sh --list [--only tests|benches] [--match PATTERN]                                    the names of all programs
#
# It begins with an inventory of what is here (bench/inventory.sh) and stops where something is missing.
#
#   --deps DIR        what a machine may lack: DIR/include (doctest), DIR/lib (shared libraries), DIR/bin (programs, which are then run as
#                     they are); --build-only makes this folder on a machine that has a network and the CUDA toolkit
#   --headers-only    DIR gets the headers alone (0.3 MB): enough where the other machine has nvcc, cuBLASLt, cuDNN and NCCL
#   --libraries DIR   looked into first for CUDA's libraries and headers (DIR, DIR/lib, DIR/include); may be given several times; as MOTET_LIBRARIES
#   --without NAME    cudnn, nccl: built without it; libraries: they are not copied to DIR/lib, as the other machine has them; cmake: each program is one
#                     call of nvcc, and lies there as soon as it is made
#   --arch LIST       chips to build for; by default the one that is here, or "80;90"
#   --only, --match   some of it: tests or benches, and of them those whose names match (as grep does)
#   --smoke           tiny benches: they show that all works, and measure nothing
#   --peers           also steps beside PyTorch's in turns (bench/peers/run.sh), where a Python with PyTorch is at hand
#   --out DIR         for gpu-<date>.json; by default bench/results
#
# Needs nvcc and a C++ compiler, or DIR/bin. CMake and ninja are used where they are. MOTET_JOBS=N compiles N files at a time.
# Status 0: all passed; 1: something failed; 77: there is no GPU.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
deps=
out=$root/bench/results
only=
match=.
smoke=
peers=no
build_only=no
build_here=no
list=no
headers_only=no
cudnn=yes
nccl=yes
libraries=yes
cmake=yes
arch=
. "$root/bench/inventory.sh"
die() { printf 'gpu.sh: %s\n' "$*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --build-only) build_only=yes ;;
    --build-here) build_here=yes ;;
    --list) list=yes ;;
    --headers-only) headers_only=yes ;;
    --smoke) smoke=--smoke ;;
    --peers) peers=yes ;;
    --help | -h) sed -n '3,28s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --deps | --out | --only | --match | --without | --arch | --libraries)
      [ $# -gt 1 ] || die "$1 wants a value"
      case $1 in
        --deps) deps=$2 ;;
        --out) out=$2 ;;
        --only) only=$2 ;;
        --match) match=$2 ;;
        --arch) arch=$2 ;;
        --libraries) inventory_given=$2${inventory_given:+:$inventory_given} ;;
        --without)
          case $2 in cudnn) cudnn=no ;; nccl) nccl=no ;; libraries) libraries=no ;; cmake) cmake=no ;;
            *) die "--without cudnn, nccl, libraries or cmake, not $2" ;; esac ;;
      esac
      shift ;;
    *) die "unknown option $1; --help lists them" ;;
  esac
  shift
done
case $only in '' | tests | benches) ;; *) die "--only tests or benches, not $only" ;; esac
[ $build_only = no ] || [ -n "$deps" ] || die "--build-only needs --deps, the folder to fill"
if [ -n "$deps" ]; then
  if [ $build_only = yes ]; then mkdir -p "$deps" || die "cannot make $deps"; fi
  deps=$(cd "$deps" 2>/dev/null && pwd) || die "no folder $deps"
fi
jobs=${MOTET_JOBS:-$(nproc 2>/dev/null || echo 2)}
has() { command -v "$1" >/dev/null 2>&1; }
say() { printf '== %s\n' "$*" >&2; }

# ---- the programs ----
# Lines `name source`.
sources() {
  if [ "$only" != tests ]; then
    for source in "$root"/bench/gpu/*.cu; do echo "bench_gpu_$(basename "$source" .cu) $source"; done
  fi
  [ "$only" = benches ] || grep -rl --include='*.cpp' '^#include "support/cuda/emulate.hpp"' "$root/tests/unit" | while read -r source; do
    name=${source#"$root/tests/unit/"}
    case $name in support/*) continue ;; esac
    [ $nccl = yes ] || ! grep -q '^#include <\(nccl.h\|motet/backend/transport/nccl\)' "$source" || continue
    echo "gpu.$(echo "${name%.cpp}" | tr / .) $source"
  done
}
# Of lines that begin with a program, those whose program has a name that is asked for.
wanted() { sort | while read -r program rest; do ! basename "$program" | grep -q -e "$match" || echo "$program${rest:+ $rest}"; done; }
if [ $list = yes ]; then
  sources | wanted | cut -d ' ' -f 1
  exit 0
fi

# ---- a GPU, before anything is built or written ----
if [ $build_only$build_here = nono ] && ! gpu_here; then
  echo "gpu.sh: no GPU here (neither nvidia-smi nor /dev/nvidia* shows one), so nothing was built, run or written"
  exit 77
fi

# ---- the folder that the other machine gets ----
header_of() { printf '#include <%s>\n' "$1" | c++ -std=c++20 -M -x c++ - 2>/dev/null | tr ' ' '\n' | grep "/$1\$" | head -1; }
copy_headers() {
  doctest=$(header_of doctest/doctest.h)
  [ -n "$doctest" ] || die "doctest is needed (Debian: doctest-dev)"
  mkdir -p "$deps/include/doctest" "$deps/lib/cmake/doctest"
  cp -L "$doctest" "$deps/include/doctest/"
  # shellcheck disable=SC2016
  {
    echo "add_library(doctest::doctest INTERFACE IMPORTED)"
    echo 'target_include_directories(doctest::doctest INTERFACE "${CMAKE_CURRENT_LIST_DIR}/../../../include")'
  } >"$deps/lib/cmake/doctest/doctest-config.cmake"
}
# What the programs of a folder are linked to, and what those libraries load by name.
copy_libraries() {
  mkdir -p "$deps/lib"
  find "$deps/bin" -type f | while read -r program; do ldd "$program" 2>/dev/null; done |
    awk '/lib(cudart|cublas|cublasLt|cudnn|nccl|nvrtc|nvJitLink|cupti)[^ ]*\.so/ && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
    cp -Ln "$library" "$deps/lib/" 2>/dev/null
    case $library in
      *libcudnn.so*) for part in "${library%/*}"/libcudnn_*.so.*; do cp -Ln "$part" "$deps/lib/$(basename "$part")" 2>/dev/null; done ;;
    esac
  done
}
size_of() { du -skL "$1" 2>/dev/null | awk '{ printf "%.1f", $1 / 1024 }'; }

# ---- what is here ----
# Libraries that came along are looked at first.
[ -z "$deps" ] || [ ! -d "$deps/lib" ] || inventory_given=$deps${inventory_given:+:$inventory_given}
inventory
CUDACXX=$(inventory_of tool nvcc)
export CUDACXX
LD_LIBRARY_PATH=$(library_path)
export LD_LIBRARY_PATH
look_for_missing() {
  say "here:"
  inventory_text >&2
  wanted_libraries=
  [ $cudnn = no ] || wanted_libraries=cudnn
  [ $nccl = no ] || wanted_libraries="$wanted_libraries nccl"
  # shellcheck disable=SC2086
  missing=$(inventory_missing "$1" $wanted_libraries)
  [ -z "$missing" ] || die "cannot $1:
$missing"
}

# ---- building ----
[ -n "$arch" ] || arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sort -u | grep -E '^[0-9]+$' | paste -sd ';' -)
[ -n "$arch" ] || arch="80;90"
build=${MOTET_GPU_BUILD:-$root/build/gpu}
log=$build/build.log

programs_in() {
  [ "$only" = benches ] || find "$1" -type f -name 'gpu.*' ! -name '*.*.o' 2>/dev/null
  [ "$only" = tests ] || find "$1" -type f -name 'bench_gpu_*' 2>/dev/null
}

# Machine code as small as it gets, where it is to travel.
small_code() { [ $build_only = no ] || ! "$CUDACXX" --help 2>/dev/null | grep -q -e --compress-mode || echo --compress-mode=size; }

with_cmake() {
  [ $cmake = yes ] && has cmake && has c++ || return 1
  generator=
  if has ninja; then generator='-G Ninja'; fi
  tests=ON
  [ "$only" != benches ] || tests=OFF
  # shellcheck disable=SC2086
  cmake -S "$root" -B "$build" $generator -DCMAKE_BUILD_TYPE=Release -DMOTET_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$arch" -DMOTET_EXAMPLES=OFF \
    -DMOTET_TESTS=$tests -DMOTET_MPI=OFF -DMOTET_SPNG=OFF -DMOTET_JPEG=OFF -DMOTET_INSTALL=OFF "-DCMAKE_PREFIX_PATH=$deps" \
    "-DCMAKE_CUDA_FLAGS=$(small_code)" "-DMOTET_LIBRARIES=$(printf '%s' "$inventory_given" | tr ':' ';')" \
    "-DMOTET_CUDNN=$([ $cudnn = yes ] && echo ON || echo OFF)" "-DMOTET_NCCL=$([ $nccl = yes ] && echo ON || echo OFF)" >>"$log" 2>&1 || return 1
  targets=$(sources | wanted | cut -d ' ' -f 1 | tr '\n' ' ')
  [ -n "$targets" ] || die "nothing is called $match"
  keep_going=
  has ninja && keep_going='-- -k 0' || keep_going='-- -k'
  # A program that does not compile is reported when it is missed; the others still run.
  # shellcheck disable=SC2086
  cmake --build "$build" --parallel "$jobs" --target $targets $keep_going >>"$log" 2>&1 || {
    grep -E 'error|FAILED' "$log" | head -20 >&2
    missed=$(for each in $targets; do find "$build/bin" -type f -name "$each" | grep -q . || echo "$each"; done)
  }
  return 0
}

# The same without CMake: one call of nvcc for each program.
with_nvcc() {
  [ -n "$CUDACXX" ] || return 1
  mkdir -p "$build/bin/tests"
  flags="-std=c++20 -O3 $(small_code) -I$root/include -I$root/tests -I$root/tests/laws -I$root/examples -Xcudafe --diag_suppress=177 -Xcudafe --diag_suppress=550 -DMOTET_HAS_JPEG=0 -DMOTET_HAS_SPNG=0"
  # doctest is looked for in DIR first.
  [ -z "$deps" ] || flags="$flags -isystem $deps/include -L$deps/lib"
  for chip in $(echo "$arch" | tr ';' ' '); do flags="$flags -gencode=arch=compute_$chip,code=sm_$chip"; done
  # The headers' folders; those of the system are known, and may not come sooner than they would.
  for header in cublasLt.h cudnn.h nccl.h cupti.h; do
    folder=$(dirname "$(inventory_of header $header)")
    case " $flags " in *" $folder "*) continue ;; esac
    case $folder in . | /usr/include | /usr/local/include | "${CUDACXX%/bin/nvcc}/include") ;; *) flags="$flags -isystem $folder" ;; esac
  done
  # By their files, as versioned names are no names for -l; past nvcc, which knows no file that ends with a version.
  links="-Xlinker $(inventory_of library cublasLt) -lpthread -ldl"
  if [ $cudnn = yes ]; then flags="$flags -DMOTET_HAS_CUDNN=1" links="$links -Xlinker $(inventory_of library cudnn)"; fi
  if [ $nccl = yes ]; then flags="$flags -DMOTET_HAS_NCCL=1" links="$links -Xlinker $(inventory_of library nccl)"; fi
  sources | wanted >"$build/list"
  [ -s "$build/list" ] || die "nothing is called $match"
  if grep -q '^gpu\.' "$build/list"; then
    # An archive of them, such as a build has, may be named instead.
    kernels=${MOTET_COMPILED_KERNELS:-}
    if [ -z "$kernels" ]; then
      # shellcheck disable=SC2016
      printf '%s\n' "$root"/include/motet/backend/cpu/compiled/*.cpp | root=$root deps=$deps build=$build xargs -P "$jobs" -I SOURCE sh -c '
        c++ -std=c++20 -O3 -DMOTET_COMPILED_KERNELS=1 "-I$root/include" ${deps:+-isystem "$deps/include"} -c SOURCE \
          -o "$build/compiled_$(basename SOURCE .cpp).o"' >>"$log" 2>&1 || return 1
      kernels=$(printf '%s ' "$build"/compiled_*.o)
    fi
    # shellcheck disable=SC2086
    "$CUDACXX" $flags -x cu -c "$root/tests/gpu_main.cpp" -o "$build/gpu_main.o" >>"$log" 2>&1 || return 1
  fi
  while read -r name source; do
    case $name in
      gpu.*)
        printf '#define MOTET_TEST_DATA "%s"\n#define DOCTEST_CONFIG_SUPER_FAST_ASSERTS\n#include <motet/backend/cpu/compiled.hpp>\n#include "%s"\n' \
          "$root/tests/data" "$source" >"$build/$name.cu"
        echo "tests/$name $build/$name.cu"
        ;;
      *) echo "$name $source" ;;
    esac
  done <"$build/list" >"$build/chosen"
  # shellcheck disable=SC2016
  flags=$flags links=$links build=$build kernels=${kernels:-} xargs -P "$jobs" -L 1 sh -c '
    case $1 in tests/*) more="-DMOTET_COMPILED_KERNELS=1 $build/gpu_main.o" ;; *) more= kernels= ;; esac
    # Whole or not at all, as others may be waiting for it.
    nvcc=$CUDACXX && $nvcc $flags $more "$2" $kernels -o "$build/bin/$1.part" $links >"$build/bin/$1.log" 2>&1 && mv "$build/bin/$1.part" "$build/bin/$1" ||
      rm -f "$build/bin/$1.part"' one <"$build/chosen"
  missed=$(while read -r name _; do [ -x "$build/bin/$name" ] || basename "$name"; done <"$build/chosen")
  find "$build/bin" -name '*.log' -exec cat {} + >>"$log"
  find "$build/bin" -name '*.log' -exec rm -f {} +
  return 0
}

missed=
if [ $build_only = yes ] && [ $headers_only = yes ]; then
  copy_headers
  say "$deps: headers $(size_of "$deps") MiB"
  exit 0
fi
if [ $build_only$build_here = nono ] && [ -n "$deps" ] && [ -n "$(programs_in "$deps/bin" | wanted)" ]; then
  bin=$deps/bin
  say "programs of $bin, here:"
  inventory_text >&2
else
  look_for_missing build
  mkdir -p "$build"
  say "building in $build for $arch (log: $log)"
  # Programs of an earlier run would be taken for new ones.
  rm -rf "${build:?}/bin"
  : >"$log"
  with_cmake || { say "nvcc alone, as CMake is not here, not wanted or did not get through"; with_nvcc; } || { tail -20 "$log" >&2; die "building failed, see $log"; }
  bin=$build/bin
fi

if [ $build_here = yes ]; then
  [ -z "$missed" ] || say "not built: $(echo "$missed" | tr '\n' ' ')"
  [ -z "$missed" ]
  exit
fi
if [ $build_only = yes ]; then
  copy_headers
  mkdir -p "$deps/bin"
  rm -rf "${deps:?}/bin"/*
  for program in $(programs_in "$bin" | wanted); do
    cp "$program" "$deps/bin/"
    strip "$deps/bin/$(basename "$program")" 2>/dev/null
  done
  # Goldens that tests read, at the place that they were compiled with, cannot go along; a test that misses one says so.
  rm -f "$deps"/lib/*.so*
  [ $libraries = no ] || copy_libraries
  { "$CUDACXX" --version | tail -2; c++ --version | head -1; } >"$deps/built_with.txt" 2>/dev/null
  printf '%-34s %8s MiB\n' "$deps/include" "$(size_of "$deps/include")" "$deps/bin ($(ls "$deps/bin" | wc -l) programs)" "$(size_of "$deps/bin")" \
    "$deps/lib" "$(size_of "$deps/lib")" "together" "$(size_of "$deps")"
  [ $libraries = no ] || echo "libraries are most of it: --without libraries where the other machine has them, --without cudnn, --without nccl"
  if [ -n "$missed" ]; then
    echo "not built: $(echo "$missed" | tr '\n' ' ')"
    exit 1
  fi
  exit 0
fi

# ---- running ----
work=$(mktemp -d) || die "no temporary folder"
trap 'rm -rf "$work"' EXIT
: >"$work/lines"
: >"$work/table"
limit() { if has timeout; then timeout "$@"; else shift; "$@"; fi; }
passed=0
failed=0
skipped=0
for program in $(programs_in "$bin" | wanted); do
  name=$(basename "$program")
  began=$(date +%s)
  misses=$(missing_libraries "$program")
  if [ -n "$misses" ]; then
    say "$name cannot start: ldd does not find $misses; --libraries DIR (or MOTET_LIBRARIES=DIR) names a folder that has it"
    printf '{"program": "%s", "status": 127, "said": "ldd does not find %s"}\n' "$name" "$misses" >>"$work/lines"
    printf 'FAILED %s: libraries are missing: %s\n' "$name" "$misses" >>"$work/table"
    failed=$((failed + 1))
    continue
  fi
  case $name in
    gpu.*)
      limit 600 "$program" >"$work/out" 2>&1
      status=$?
      case $status in
        0) result=passed passed=$((passed + 1)) ;;
        77) result=skipped skipped=$((skipped + 1)) ;;
        *) result=failed failed=$((failed + 1)) ;;
      esac
      printf '{"test": "%s", "result": "%s", "status": %d, "seconds": %d}\n' "$name" $result $status $(($(date +%s) - began)) >>"$work/lines"
      if [ $result = failed ]; then
        say "$name failed with status $status"
        tail -40 "$work/out" >&2
        printf 'FAILED %s (status %d)\n' "$name" $status >>"$work/table"
      fi
      ;;
    *)
      say "$name"
      limit 1500 "$program" $smoke >"$work/out" 2>"$work/problems"
      status=$?
      # Whole lines of JSON; a program that ended in the middle of one leaves it out.
      grep -E '^\{.*\}$' "$work/out" | grep -v '^{"short"' | sed "s/^{/{\"program\": \"$name\", /" >>"$work/lines"
      sed -n 's/^{"short": "\(.*\)"}$/\1/p' "$work/out" >>"$work/table"
      if [ $status -ne 0 ]; then
        tail -5 "$work/problems" >&2
        printf '{"program": "%s", "status": %d, "said": "%s"}\n' "$name" $status "$(json_text "$(tail -1 "$work/problems")")" >>"$work/lines"
      fi
      case $status in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *)
          failed=$((failed + 1))
          printf 'FAILED %s (status %d)\n' "$name" $status >>"$work/table"
          ;;
      esac
      ;;
  esac
done
# Each pair of models: one line of JSON, the last one of what the runner prints.
peer() {
  say "beside PyTorch: $*"
  MOTET_PEER_OURS=$1
  [ -x "$1" ] || MOTET_PEER_OURS=
  export MOTET_PEER_OURS
  shift
  if limit 1500 sh "$root/bench/peers/run.sh" --device cuda --precision bf16 "$@" >"$work/out" 2>"$work/problems"; then
    tail -1 "$work/out" | sed 's/^{/{"program": "peers", /' >>"$work/lines"
    tail -1 "$work/out" |
      sed -n 's/.*"model": "\([^"]*\)".*"batch": \([0-9]*\).*"ratio": \([0-9.]*\).*"memory_ratio": \([0-9.]*\).*"peer": "\([^"]*\)".*/\1 batch \2: \3x as fast as \5, \4 of its memory/p' \
      >>"$work/table"
    passed=$((passed + 1))
  else
    tail -3 "$work/problems" >&2
    printf '{"program": "peers", "asked": "%s", "said": "%s"}\n' "$(json_text "$*")" "$(json_text "$(tail -1 "$work/problems")")" >>"$work/lines"
    failed=$((failed + 1))
    printf 'FAILED beside PyTorch: %s\n' "$*" >>"$work/table"
  fi
}
if [ $peers = yes ]; then
  peer "$bin/bench_gpu_step" --model l14 --batch 256
  peer "$bin/bench_gpu_step" --model b16 --batch 512
  peer "$bin/bench_gpu_decoder" --model decoder --batch 8
fi
for name in $missed; do
  failed=$((failed + 1))
  printf '{"program": "%s", "status": -1, "said": "not built"}\n' "$name" >>"$work/lines"
  printf 'NOT BUILT %s\n' "$name" >>"$work/table"
done
if [ $passed -eq 0 ] && [ $failed -eq 0 ]; then
  echo "gpu.sh: nothing ran: $skipped programs found no GPU; nothing was written"
  exit 77
fi

# ---- one file, whole or not at all ----
mkdir -p "$out" || die "cannot make $out"
file=$out/gpu-$(date -u +%Y%m%dT%H%M%SZ).json
machine=$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2>/dev/null | head -1)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)
built=$(if [ -n "$CUDACXX" ] && [ "$bin" = "$build/bin" ]; then "$CUDACXX" --version | tail -1; else cat "$deps/built_with.txt" 2>/dev/null; fi | tr '\n' ' ')
commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null)
{
  printf '{"date": "%s", "machine": "%s", "gpus": %d, "cpu": "%s", "built_with": "%s", "architectures": "%s", "commit": "%s", "smoke": %s,\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(json_text "$machine")" "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" "$(json_text "$cpu")" "$(json_text "$built")" \
    "$arch" "$(json_text "$commit")" "$([ -n "$smoke" ] && echo true || echo false)"
  printf ' "inventory": %s,\n' "$(inventory_json)"
  printf ' "passed": %d, "failed": %d, "skipped": %d,\n "lines": [\n' $passed $failed $skipped
  sed '$!s/$/,/' "$work/lines"
  printf ' ]}\n'
} >"$work/json"
if ! cp "$work/json" "$file.part" || ! mv "$file.part" "$file"; then
  rm -f "$file.part"
  die "cannot write $file"
fi

# ---- at most 40 lines, what failed first ----
{
  grep -E '^(FAILED|NOT BUILT)' "$work/table" | head -12
  grep -vE '^(FAILED|NOT BUILT)' "$work/table"
} >"$work/shown"
head -37 "$work/shown"
[ "$(wc -l <"$work/shown")" -le 37 ] || echo "... and $(($(wc -l <"$work/shown") - 37)) lines more in the file"
printf '%s\n%d passed, %d failed, %d skipped\n' "$file" $passed $failed $skipped
[ $failed -eq 0 ]
