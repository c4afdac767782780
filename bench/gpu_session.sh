#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A first session on a GPU machine that is offline, gives a command ten minutes and takes 64 MiB, in five slices. docs/backend/first_session.md says how.
#
#   sh bench/gpu_session.sh --pack DIR [--libraries DIR]    the folder for that machine: programs for sm_90. Made on a machine with the toolkit, without a GPU
#   sh bench/gpu_session.sh N --deps DIR --out DIR          slice N, 1 to 5, there
#   sh bench/gpu_session.sh --table OUT                     what the lines of OUT say, and what began but never ended
#   sh bench/gpu_session.sh --rehearse [--brief]            all slices at toy sizes on emulated GPUs: needs CUDA's headers and a C++ compiler, no nvcc
#
#   --deps DIR        what --pack made
#   --out DIR         for slice-N.jsonl, to which a line is added as soon as there is something to say
#   --libraries DIR   looked into first for CUDA's libraries; may be given several times
#   --minutes M       of the whole slice, 9.5; what no longer fits is left out, by name
#   --match PATTERN   only the tasks whose names match (as grep does)
#   --toy             every bench with --smoke
#   --brief           of the rehearsal: one bench and two tests through the slices 1 and 3
#   --scratch DIR     of the rehearsal: where it builds; by default build/rehearsal
#
# 1 inventory, smoke of every bench, tests, the sanitizer on three; the other tests are built meanwhile   2 products, attention, operations
# 3 steps with a table of kernels   4 beside PyTorch   5 ranks that share the GPU, Nsight Compute on the worst kernels of slice 3, the other tests
#
# Status 0: all that ran has passed; 1: something has not; 2: not understood; 77: there is no GPU.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/inventory.sh"
die() { printf 'gpu_session.sh: %s\n' "$*" >&2; exit 2; }
say() { printf '== %s\n' "$*" >&2; }

# Tests of slice 1: what a training step is made of, from its copies to a whole trainer. Those that the sanitizer looks at come last.
first_tests='backend.cuda.device backend.cuda.device.copies backend.cuda.rows.elementwise backend.cuda.rows.packed_patches_kernel
 backend.cuda.rows.patches backend.cuda.products.gemm_kernel backend.cuda.products.gemm_matrix_kernel backend.cuda.products.gemm
 backend.cuda.products.linear backend.cuda.attention.attention backend.cuda.attention.attention_matrix_kernel
 backend.cuda.attention.library_attention backend.cuda.rows.activation backend.cuda.rows.embedding backend.cuda.kernels.token_sums
 backend.cuda.losses.cross_entropy backend.cuda.losses.info_nce backend.cuda.parameters.optimizer backend.cuda.device.graphs
 backend.cuda.products.weight_copies backend.cuda.rows.norm runtime.cuda_trainer'
first_tests=${MOTET_SESSION_TESTS:-$first_tests}
first_benches=${MOTET_SESSION_BENCHES:-operations products attention step decoder collectives sharing}
sanitized_tests='backend.cuda.rows.packed_patches_kernel backend.cuda.rows.norm backend.cuda.attention.attention_matrix_kernel'
ncu_metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__bytes.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
ncu_metrics=$ncu_metrics,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
most_mib=45

slice=
deps=
out=
minutes=9.5
match=.
toy=
action=
brief=no
scratch=$root/build/rehearsal
while [ $# -gt 0 ]; do
  case $1 in
    [1-5]) slice=$1 ;;
    --rehearse) action=rehearse ;;
    --brief) brief=yes ;;
    --toy) toy=--smoke ;;
    --help | -h) sed -n '3,24s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --pack | --table | --deps | --out | --libraries | --minutes | --match | --scratch)
      [ $# -gt 1 ] || die "$1 wants a value"
      case $1 in
        --pack) action=pack deps=$2 ;;
        --table) action=table out=$2 ;;
        --deps) deps=$2 ;;
        --out) out=$2 ;;
        --libraries) inventory_given=$2${inventory_given:+:$inventory_given} ;;
        --minutes) minutes=$2 ;;
        --match) match=$2 ;;
        --scratch) scratch=$2 ;;
      esac
      shift ;;
    *) die "unknown word $1; --help lists them" ;;
  esac
  shift
done
budget=$(awk -v minutes="$minutes" 'BEGIN { if (minutes !~ /^[0-9]+(\.[0-9]+)?$/) exit 1; print int(60 * minutes) }') || die "--minutes wants a number, not $minutes"

# Of names, one a line, what matches them and nothing else.
pattern_of() { sed 's/\./\\./g' | paste -sd '~' - | sed 's/~/\\|/g; s/^/^\\(/; s/$/\\)$/'; }

# ---- the folder for the other machine ----
pack() {
  names=$({
    for each in $first_benches; do echo "bench_gpu_$each"; done
    for each in $first_tests; do echo "gpu.$each"; done
  } | pattern_of)
  # What a session's benches and first tests are; the other tests are built where nvcc is.
  set -- --build-only --deps "$deps" --arch 90 --without libraries --without cmake --match "$names"
  [ -z "$inventory_given" ] || set -- "$@" --libraries "$inventory_given"
  sh "$root/bench/gpu.sh" "$@" || die "not everything was built; what was is in $deps"
  # A third as large, since what programs share is most of them.
  tar -C "$deps" -czf "$deps/bin.tar.gz" bin && rm -r "${deps:?}/bin" || die "cannot write $deps/bin.tar.gz"
  found=$(du -k "$deps/bin.tar.gz" | awk '{ printf "%d", ($1 + 1023) / 1024 }')
  [ "$found" -le $most_mib ] || die "$deps/bin.tar.gz has $found MiB, more than the $most_mib that such a machine takes beside the sources; take tests out of it"
  echo "$deps is ready: $found MiB of programs. On the machine with the GPU: sh bench/gpu_session.sh 1 --deps DIR --out DIR"
}

# ---- what lines say ----
field() { sed -n 's/^.*"'"$1"'": "\{0,1\}\([^",}]*\).*$/\1/p'; }
table() {
  for told in "$@"; do
    [ -e "$told" ] || { echo "${told%/*} has no slice-N.jsonl"; return 1; }
    awk '
      # The text of "name": "...", with its escapes, or the number of it.
      function value(name, at, rest) {
        at = index($0, "\"" name "\": ")
        if (at == 0) return ""
        rest = substr($0, at + length(name) + 4)
        if (substr(rest, 1, 1) != "\"") { sub(/[,}].*$/, "", rest); return rest }
        rest = substr(rest, 2)
        gsub(/\\"/, "\001", rest)
        sub(/".*$/, "", rest)
        gsub(/\001/, "\"", rest)
        return rest
      }
      /^\{"slice"/ && !/\}$/ { print "HALF A LINE " $0; next }
      /"began":/ { open[value("task")] = value("began"); next }
      /"ended":/ {
        delete open[value("task")]
        results[value("result")]++
        printf "%-12s %5s s  %s\n", value("result"), value("seconds"), value("task")
        if (value("result") != "passed" && value("said") != "") { text = value("said"); gsub(/\\n/, "\n                  ", text); print "                  " text }
        next
      }
      /"left_out":/ { printf "%-12s          %s: %s\n", "LEFT OUT", value("left_out"), value("why"); next }
      /"missing":/ { print "MISSING      " value("missing"); next }
      /"short":/ { print "                  " value("short"); next }
      END {
        for (each in open) printf "%-12s          %s: it began at %s s and never ended\n", "CUT OFF", each, open[each]
        line = FILENAME ":"
        for (each in results) line = line " " results[each] " " each
        print line
      }' "$told"
  done
}

# ---- a slice ----
began_at=$(date +%s)
elapsed() { echo $(($(date +%s) - began_at)); }
# A line goes to the file at once and whole.
note() { put "$1}"; }
put() {
  printf '{"slice": %s, %s\n' "$slice" "$1" >"$work/line"
  cat "$work/line" >>"$file"
}
# task LIMIT NAME COMMAND...: seconds at most, and what it is called. JSON that the command prints becomes lines; of tests, the end of the output is told
# where they fail.
task() {
  limit=$1 name=$2
  shift 2
  printf '%s\n' "$name" | grep -q -e "$match" || return 0
  text=$(json_text "$name")
  left=$((budget - $(elapsed)))
  if [ $left -lt 10 ]; then
    note "\"left_out\": \"$text\", \"why\": \"$left s are left of $budget\""
    return 0
  fi
  case $1 in
    /*)
      if [ ! -x "$1" ]; then
        note "\"left_out\": \"$text\", \"why\": \"there is no program $(json_text "$1")\""
        return 0
      fi
      misses=$(missing_libraries "$1")
      if [ -n "$misses" ]; then
        note "\"task\": \"$text\", \"ended\": $(elapsed), \"status\": 127, \"seconds\": 0, \"result\": \"failed\", \"said\": \"ldd does not find $misses; --libraries DIR or MOTET_LIBRARIES=DIR names a folder that has it\""
        failed=$((failed + 1))
        return 0
      fi ;;
  esac
  [ "$limit" -le $left ] || limit=$left
  note "\"task\": \"$text\", \"began\": $(elapsed), \"limit\": $limit"
  say "$name"
  from=$(date +%s)
  : >"$work/said"
  {
    timeout -k 5 "$limit" "$@" 2>"$work/problems" </dev/null
    printf '\nstatus of the task: %s\n' $?
  } | while IFS= read -r line; do
    case $line in
      'status of the task: '*) echo "${line#status of the task: }" >"$work/status" ;;
      '') ;;
      '{"'*'}') put "\"task\": \"$text\", ${line#?}" ;;
      *) printf '%s\n' "$line" >>"$work/said" ;;
    esac
  done
  status=$(cat "$work/status")
  rm -f "$work/status"
  case $status in
    0) result=passed ;;
    77) result=skipped ;;
    124 | 137) result='out of time' ;;
    *) result=failed ;;
  esac
  said=
  if [ "$result" != passed ]; then said=$(cat "$work/said" "$work/problems" | tail -40); fi
  case $result in failed | 'out of time') failed=$((failed + 1)) ;; esac
  note "\"task\": \"$text\", \"ended\": $(elapsed), \"status\": $status, \"seconds\": $(($(date +%s) - from)), \"result\": \"$result\", \"said\": \"$(json_text "$said")\""
}
bench() {
  limit=$1 name=$2
  shift 2
  task "$limit" "bench_gpu_$name${*:+ $*}" "$deps/bin/bench_gpu_$name" "$@" $toy
}
program_of() { if [ -x "$deps/bin/$1" ]; then echo "$deps/bin/$1"; else echo "$others/$1"; fi; }
gpu_test() { task "$2" "gpu.$1" "$(program_of "gpu.$1")"; }

slice_1() {
  note "\"inventory\": $(inventory_json), \"commit\": \"$(git -C "$root" rev-parse --short HEAD 2>/dev/null)\", \"date\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\""
  inventory_missing run cudnn nccl cupti >"$work/missing"
  while read -r each; do note "\"missing\": \"$(json_text "$each")\""; done <"$work/missing"
  build_others
  for each in $first_benches; do task 60 "bench_gpu_$each --smoke" "$deps/bin/bench_gpu_$each" --smoke; done
  for each in $first_tests; do gpu_test "$each" 60; done
  sanitizer=$(inventory_of tool compute-sanitizer)
  for each in $sanitized_tests; do
    if [ -n "$sanitizer" ] && [ -x "$deps/bin/gpu.$each" ]; then
      task 120 "compute-sanitizer gpu.$each" "$sanitizer" --tool memcheck --error-exitcode 86 --leak-check no "$deps/bin/gpu.$each"
    else
      note "\"left_out\": \"compute-sanitizer gpu.$each\", \"why\": \"$([ -n "$sanitizer" ] && echo "there is no program $deps/bin/gpu.$each" || echo 'it is not here')\""
    fi
  done
}
# The other tests, by nvcc, in a session of processes of its own, so that it goes on after this slice. They run in slice 5.
build_others() {
  others_wanted=$(sh "$root/bench/gpu.sh" --list --only tests | while read -r each; do [ -x "$deps/bin/$each" ] || echo "$each"; done | grep -e "$match")
  if [ -z "$(inventory_of tool nvcc)" ] || [ -z "$others_wanted" ]; then
    note "\"left_out\": \"build of the other tests\", \"why\": \"$([ -n "$others_wanted" ] && echo 'no nvcc is here' || echo 'there are no others')\""
    return
  fi
  jobs=$(($(nproc 2>/dev/null || echo 2) * 3 / 4))
  MOTET_JOBS=$((jobs > 0 ? jobs : 1)) MOTET_GPU_BUILD=$state/build setsid nice -n 19 sh "$root/bench/gpu.sh" --build-here --without cmake --deps "$deps" --only tests \
    --match "$(printf '%s\n' "$others_wanted" | pattern_of)" >"$state/build.log" 2>&1 </dev/null &
  note "\"building\": $(printf '%s\n' "$others_wanted" | wc -l), \"log\": \"$state/build.log\""
}
slice_2() {
  bench 150 products --turns 9
  bench 200 products --turns 9 --autotune
  bench 120 attention
  bench 90 attention --nondeterministic
  bench 120 operations
}
slice_3() {
  bench 220 step --model l14 --batch "${toy_batch:-256}" --turns 6 --kernels
  bench 220 step --model l14 --batch "${toy_large:-512}" --turns 6 --kernels
  bench 150 step --model b16 --batch "${toy_batch:-512}" --turns 6 --kernels
  bench 220 step --model l14 --batch "${toy_large:-512}" --turns 6 --streams bf16 --keep-outputs
  # Of this run alone, as the file may have an older one's.
  tail -n "+$((${lines_before:-0} + 1))" "$file" | grep '"kernel": ' >"$state/kernels.jsonl"
}
slice_4() {
  # The other program keeps its own libraries: those that we found are for ours alone.
  for each in step decoder; do
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@" %s\n' "$LD_LIBRARY_PATH" "$deps/bin/bench_gpu_$each" "$toy" >"$work/$each"
    chmod +x "$work/$each"
  done
  for mode in compile eager; do
    peer "$mode" step l14 "${toy_batch:-256}"
    peer "$mode" step b16 "${toy_batch:-512}"
    peer "$mode" decoder decoder "${toy_batch:-8}"
  done
}
peer() {
  task 240 "peers $3 --batch $4 --modes $1" env "LD_LIBRARY_PATH=$libraries_before" "MOTET_PEER_OURS=$work/$2" "MOTET_PEER_PYTHON=${MOTET_PEER_PYTHON:-python3}" \
    sh "$root/bench/peers/run.sh" --device cuda --precision bf16 --model "$3" --batch "$4" --modes "$1" --steps "${toy_batch:-12}"
}
slice_5() {
  bench 120 sharing
  bench 90 collectives
  worst=$(awk '/"kernel": / && !/"kernel": "(copy|fill)/' "$state/kernels.jsonl" "${earlier:-/dev/null}" 2>/dev/null | head -3)
  ncu=$(inventory_of tool ncu)
  if [ -z "$ncu" ] || [ -z "$worst" ]; then
    note "\"left_out\": \"ncu\", \"why\": \"$([ -n "$ncu" ] && echo 'no table of kernels is left of slice 3 on this machine' || echo 'it is not here')\""
  else
    printf '%s\n' "$worst" >"$work/worst"
    while IFS= read -r line <&3; do profile_kernel; done 3<"$work/worst"
  fi
  # shellcheck disable=SC2086
  printf 'gpu.%s\n' $first_tests >"$work/tests"
  sh "$root/bench/gpu.sh" --list --only tests | grep -v -x -F -f "$work/tests" >"$work/others"
  while read -r each <&3; do task 60 "$each" "$(program_of "$each")"; done 3<"$work/others"
}
# One launch of the kernel of $line, by Nsight Compute, with the GPU's clocks left as they are.
profile_kernel() {
  compiled=$(printf '%s\n' "$line" | field compiled)
  model=$(printf '%s\n' "$line" | field step)
  [ "$model" = b16 ] || model=l14
  # The row of its table becomes a line of JSON: "metric [unit]": value.
  cat >"$work/ncu.awk" <<'AWK'
/^"/ {
  gsub(/^"|"$/, "")
  row++
  columns = split($0, found, "\",\"")
  for (k = 1; k <= columns; ++k) cell[row, k] = found[k]
}
END {
  for (k = 1; k <= columns; ++k) {
    if (row < 3 || cell[2, k] == "") continue
    gsub(/,/, "", cell[3, k])
    text = text sprintf("%s\"%s [%s]\": \"%s\"", (text == "" ? "" : ", "), cell[1, k], cell[2, k], cell[3, k])
  }
  if (text != "") print "{" text "}"
}
AWK
  # shellcheck disable=SC2016
  task 150 "ncu $(printf '%s\n' "$line" | sed -n 's/^.*"kernel": "\([^"]*\)".*$/\1/p' | cut -c 1-100)" sh -c '
    work=$1 && shift
    MOTET_CUDA_GRAPHS=0 "$@" >"$work/ncu.csv"
    status=$?
    awk -f "$work/ncu.awk" "$work/ncu.csv"
    [ $status = 0 ] || tail -5 "$work/ncu.csv"
    exit $status' ncu "$work" "$ncu" --clock-control none --kernel-name-base mangled --kernel-name "$compiled" --launch-skip 2 --launch-count 1 --kill yes \
    --csv --page raw --metrics "$ncu_metrics" "$deps/bin/bench_gpu_step" --model "$model" --batch "${toy_batch:-64}" --turns 1 $toy
}

run_slice() {
  [ -n "$deps" ] || die "--deps names the folder that --pack made"
  deps=$(cd "$deps" 2>/dev/null && pwd) || die "no folder $deps"
  if [ ! -d "$deps/bin" ] && [ -e "$deps/bin.tar.gz" ]; then tar -C "$deps" -xzf "$deps/bin.tar.gz" || die "cannot unpack $deps/bin.tar.gz"; fi
  [ -d "$deps/bin" ] || die "$deps has no bin: sh bench/gpu_session.sh --pack DIR makes it"
  [ -n "$out" ] || die "--out names a folder for the results"
  if ! gpu_here; then
    echo "gpu_session.sh: no GPU here (neither nvidia-smi nor /dev/nvidia* shows one), so nothing was run or written"
    exit 77
  fi
  mkdir -p "$out" || die "cannot make $out"
  out=$(cd "$out" && pwd)
  # What later slices read of earlier ones, on this machine.
  state=${MOTET_SESSION_STATE:-${TMPDIR:-/tmp}/motet_session}
  mkdir -p "$state" || die "cannot make $state"
  others=$state/build/bin/tests
  earlier=$(ls "$out/slice-3.jsonl" 2>/dev/null)
  work=$(mktemp -d) || die "no temporary folder"
  trap 'rm -rf "$work"' EXIT
  file=$out/slice-$slice.jsonl
  toy_batch=${toy:+4}
  toy_large=${toy:+8}
  failed=0
  lines_before=$([ ! -e "$file" ] || wc -l <"$file")
  libraries_before=${LD_LIBRARY_PATH:-}
  [ ! -d "$deps/lib" ] || inventory_given=$deps${inventory_given:+:$inventory_given}
  [ "$slice" = 1 ] || inventory_asks=no
  inventory
  LD_LIBRARY_PATH=$(library_path)
  export LD_LIBRARY_PATH
  slice_"$slice"
  note "\"slice_seconds\": $(elapsed), \"failed\": $failed"
  table "$file" | tail -60
  [ $failed -eq 0 ]
}

case $action in
  pack) pack ;;
  table) table "$out"/slice-*.jsonl ;;
  rehearse) exec sh "$root/bench/gpu_rehearsal.sh" "$scratch" "$brief" ;;
  *)
    [ -n "$slice" ] || die "which slice, 1 to 5? --help tells more"
    run_slice
    ;;
esac
