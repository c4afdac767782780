#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What bench/gpu.sh makes of programs that pass, fail and find no GPU, with programs and a GPU that are not real: gpu_bench.sh PROGRAMS SCRATCH
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
# run STATUS ARGUMENTS...
run() {
  wanted=$1
  shift
  PATH=$here/path:$PATH sh "$script" "$@" >out 2>err
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
case "$*" in -L) echo 'GPU 0: a "GPU"' ;; *compute_cap*) echo 9.0 ;; *) echo 'a "GPU", 580.1' ;; esac
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

[ $failures -eq 0 ] && echo "all is well"
