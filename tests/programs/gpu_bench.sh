#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What bench/gpu.sh makes of programs that pass, fail, find no GPU and miss libraries, and what bench/inventory.sh finds, with programs, libraries and a GPU
# that are not real: gpu_bench.sh PROGRAMS SCRATCH
set -u

here=$2
script=$MOTET_SOURCE/bench/gpu.sh
rm -rf "$here"
mkdir -p "$here/deps/bin" "$here/none/bin" "$here/path" || exit 1
cd "$here" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  sed 's/^/    /' out err
  failures=$((failures + 1))
}
program() {
  cat >"$1"
  chmod +x "$1"
}
# run STATUS ARGUMENTS...; `with` has more of the environment
with=
run() {
  wanted=$1
  shift
  # shellcheck disable=SC2086
  env $with PATH="$here/path:$PATH" sh "$script" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] || fail "status $status instead of $wanted: gpu.sh $*"
}

program path/nvidia-smi <<'END'
#!/bin/sh
exit 9
END
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  run 77 --deps deps --out results
  grep -q 'no GPU here' out || fail "it does not say that there is no GPU"
  [ ! -e results ] || fail "something was written"
fi
run 2 --only nonsense
run 2 --nonsense
run 2 --build-only

program path/nvidia-smi <<'END'
#!/bin/sh
case "$*" in -L) echo 'GPU 0: a "GPU"' ;; *driver_version,compute_cap*) echo 'a "GPU", 580.1, 9.0, 143771, 143000' ;; *compute_cap*) echo 9.0 ;; *) echo 'a "GPU", 580.1' ;; esac
END
program deps/bin/bench_gpu_many <<'END'
#!/bin/sh
i=0
while [ $i -lt 100 ]; do
  echo "{\"number\": $i}"
  echo "{\"short\": \"line $i\"}"
  i=$((i + 1))
done
END
# Ends within a line.
program deps/bin/bench_gpu_broken <<'END'
#!/bin/sh
echo '{"whole": 1}'
echo '{"half": "w'
echo 'said "no" \ [MT-B14]' >&2
exit 1
END
program deps/bin/gpu.a.good <<'END'
#!/bin/sh
exit 0
END
program deps/bin/gpu.a.bad <<'END'
#!/bin/sh
echo what went wrong
exit 3
END
program deps/bin/gpu.a.skipped <<'END'
#!/bin/sh
exit 77
END
cp deps/bin/gpu.a.skipped none/bin/

run 77 --deps none --out results
[ ! -e results ] || fail "a file without results was written"
run 1 --deps deps --out results
[ "$(wc -l <out)" -le 40 ] || fail "the table has more than 40 lines"
head -2 out | grep -q 'FAILED gpu.a.bad' || fail "what failed does not come first"
tail -1 out | grep -q '^2 passed, 2 failed, 1 skipped$' || fail "the last line is wrong"
grep -q 'what went wrong' err || fail "what the failed test printed is not shown"
[ "$(ls results | wc -l)" -eq 1 ] || fail "not one file"
"${MOTET_PYTHON:-python3}" - results/*.json <<'END' >>out 2>&1 || fail "the file is wrong"
import json, sys
found = json.load(open(sys.argv[1]))
lines = found["lines"]
assert found["machine"] == 'a "GPU", 580.1' and (found["passed"], found["failed"], found["skipped"]) == (2, 2, 1), found
assert sum(line.get("number") is not None for line in lines) == 100
broken = [line for line in lines if line.get("program") == "bench_gpu_broken"]
assert broken == [{"program": "bench_gpu_broken", "whole": 1},
                  {"program": "bench_gpu_broken", "status": 1, "said": 'said "no" \\ [MT-B14]'}], broken
assert {line["test"]: line["result"] for line in lines if "test" in line} == {"gpu.a.good": "passed", "gpu.a.bad": "failed", "gpu.a.skipped": "skipped"}
END
run 0 --deps deps --out results2 --only tests --match 'good$'
tail -1 out | grep -q '^1 passed, 0 failed, 0 skipped$' || fail "--only and --match chose wrong"

# ---- the inventory, of a machine whose folders are made up: only versioned libraries, of Python's packages and of a folder given ----
mkdir -p system/usr/local given/include given/lib site/nvidia/cu13/include site/nvidia/cu13/lib site/nvidia/nccl/include site/nvidia/nccl/lib site/nvidia/cudnn/lib
touch given/include/cudnn.h given/lib/libcudnn.so.9 site/nvidia/cudnn/lib/libcudnn.so.9 site/nvidia/cu13/include/cublasLt.h \
  site/nvidia/cu13/lib/libcublasLt.so.13 site/nvidia/cu13/lib/libcupti.so.12 site/nvidia/nccl/include/nccl.h site/nvidia/nccl/lib/libnccl.so.2
printf '#define CUDNN_MAJOR 9\n' >given/include/cudnn_version.h
program path/ldconfig <<'END'
#!/bin/sh
exit 0
END
# look STATUS ARGUMENTS...
look() {
  wanted=$1
  shift
  MOTET_SYSTEM=$here/system PYTHONPATH=$here/site LD_LIBRARY_PATH='' CUDACXX=$compiler CUDA_HOME='' CUDA_PATH='' PATH=$here/path:$PATH \
    MOTET_PYTHON=${MOTET_PYTHON:-python3} sh "$MOTET_SOURCE/bench/inventory.sh" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] || fail "status $status instead of $wanted: inventory.sh $*"
}
compiler=$here/nowhere
look 1 --build --libraries "$here/given"
for each in "cudnn .* $here/given/lib/libcudnn.so.9" "nccl .* $here/site/nvidia/nccl/lib/libnccl.so.2" "cublasLt .* $here/site/nvidia/cu13/lib/libcublasLt.so.13" \
  "cupti .* $here/site/nvidia/cu13/lib/libcupti.so.12" "cudnn.h .* $here/given/include/cudnn.h"; do
  grep -q "$each" out || fail "it does not find $each"
done
for each in 'nvcc is missing: set CUDACXX or CUDA_HOME' 'cuda_runtime.h is missing: --libraries DIR (or MOTET_LIBRARIES=DIR) names a folder that has it' \
  'cupti.h is missing' "libcudnn_graph.so.9 is missing beside $here/given/lib/libcudnn.so.9" 'libcudnn.so.9 does not load: '; do
  grep -q "$each" err || fail "it does not say: $each"
done
! grep -q 'nccl.h is missing\|libcublasLt.so.13 is missing' err || fail "what is there is called missing"
look 0 --json
"${MOTET_PYTHON:-python3}" -c 'import json, sys
found = json.load(open("out"))
assert found["gpus"] == [{"name": "a \"GPU\"", "driver": "580.1", "compute_capability": "9.0", "mib": "143771", "free_mib": "143000"}], found
assert found["libraries"]["cudnn"]["path"].endswith("/site/nvidia/cudnn/lib/libcudnn.so.9"), found
assert "nvcc" not in found["tools"]' 2>>err || fail "the inventory in JSON is wrong"
look 2 --nonsense
# Building stops before anything is made, and says what to do. No --without helps against a compiler that is not there.
with="CUDACXX=$here/nowhere MOTET_SYSTEM=$here/system LD_LIBRARY_PATH= CUDA_HOME= CUDA_PATH="
run 2 --build-only --deps made --only benches --match "^bench_gpu_nothing"
grep -q 'nvcc is missing: set CUDACXX' err || fail "it does not say that nvcc is missing"
program path/nvcc <<'END'
#!/bin/sh
echo 'Cuda compilation tools, release 13.0, V13.0.88'
END
compiler=$here/path/nvcc
rm site/nvidia/nccl/lib/libnccl.so.2
with="CUDACXX=$here/path/nvcc MOTET_SYSTEM=$here/system PYTHONPATH=$here/site LD_LIBRARY_PATH= CUDA_HOME= CUDA_PATH="
run 2 --build-only --deps made --only benches --match "^bench_gpu_nothing"
for each in 'cudnn.h is missing.*--without cudnn' 'libnccl.so.2 is missing.*nvidia-nccl-cu13.*--without nccl'; do grep -q "$each" err || fail "it does not say: $each"; done
[ ! -e made/bin ] || fail "it has built something"
with=

# CMake finds the same.
touch site/nvidia/nccl/lib/libnccl.so.2
if command -v cmake >/dev/null 2>&1; then
  cat >find.cmake <<END
include($MOTET_SOURCE/cmake/motetOptional.cmake)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
motet_gpu_folders(motet_gpu_hints motet_gpu_packages)
motet_use_gpu_library(CUDNN cudnn.h cudnn 9 package)
motet_use_gpu_library(NCCL nccl.h nccl 2 package)
message("\${MOTET_CUDNN_LIBRARY} \${MOTET_NCCL_LIBRARY} \${MOTET_CUDA_DEFINITIONS}")
END
  MOTET_LIBRARIES=$here/nowhere:$here/given PYTHONPATH=$here/site cmake -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -P find.cmake >out 2>err
  grep -q "^$here/given/lib/libcudnn.so.9 $here/site/nvidia/nccl/lib/libnccl.so.2 MOTET_HAS_CUDNN=1;MOTET_HAS_NCCL=1\$" err || fail "CMake finds other libraries"
fi

# ---- a program whose library is not there is told of, and the others run ----
if command -v cc >/dev/null 2>&1 && command -v ldd >/dev/null 2>&1; then
  mkdir -p missing/bin away
  echo 'int motet_nothing(void) { return 0; }' >library.c
  echo 'int motet_nothing(void); int main(void) { return motet_nothing(); }' >program.c
  cc -shared -fPIC -Wl,-soname,libmotet_nothing.so.9 library.c -o away/libmotet_nothing.so.9 && cc program.c away/libmotet_nothing.so.9 -o missing/bin/gpu.a.linked || fail "cc"
  cp deps/bin/gpu.a.good missing/bin/
  run 1 --deps missing --out results3
  grep -q 'FAILED gpu.a.linked: libraries are missing: libmotet_nothing.so.9' out || fail "it does not say which library is missing"
  grep -q 'gpu.a.linked cannot start: ldd does not find libmotet_nothing.so.9; --libraries DIR' err || fail "it does not say how to point at it"
  tail -1 out | grep -q '^1 passed, 1 failed, 0 skipped$' || fail "the others did not run"
  with=LD_LIBRARY_PATH=$here/away
  run 0 --deps missing --out results4
fi

[ $failures -eq 0 ] && echo "all is well"
