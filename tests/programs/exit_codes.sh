#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exit_codes.sh PROGRAMS SCRATCH: every program that was built ends by the one table: 2 where its command line is not understood, 3 where a file is not there
# or a plan is refused, 1 where it cannot write; and --help prints the table.
set -u
bin=$1
scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" || exit 2
cd "$scratch" || exit 2
failed=0
tried=0
ends() { # status, program, words...
  status=$1 program=$2
  shift 2
  [ -x "$bin/$program" ] || return 0
  tried=$((tried + 1))
  said=$(timeout 120 "$bin/$program" "$@" 2>&1 >out)
  got=$?
  if [ $got -ne "$status" ] || { [ "$status" -ne 0 ] && ! printf '%s' "$said" | grep -q '\[MT-[A-Z][0-9][0-9][0-9]\{0,1\}\]$'; }; then
    echo "$program $*: status $got, wanted $status and a sentence with its code; it said: $said"
    failed=1
  fi
}
for program in compare_runs draw embed export_hf generate import_hf make_shapes pack plan_cluster produce profile reorder schedule_explorer schedule_jobs \
  train_clip train_pipeline train_vlm; do
  ends 2 $program --bogus 1
  ends 0 $program --help
  [ ! -x "$bin/$program" ] || grep -q '^  3 .*is refused$' out || { echo "$program --help has no table"; failed=1; }
done
# A file or a folder that is not there.
ends 3 compare_runs --run absent --run missing
ends 3 embed --checkpoint absent --images . --output out.safetensors
ends 3 export_hf --checkpoint absent --output out
ends 3 generate --checkpoint absent --prompt a
ends 3 import_hf absent
ends 3 pack --from absent --output packed
ends 3 plan_cluster --model absent.json --cluster laptop --batch 64
ends 3 reorder --headers absent.csv --stages 2 --microbatches 2
ends 3 schedule_explorer --import absent.csv
ends 3 schedule_jobs --trace absent.csv --times absent.csv --cluster absent.json
ends 3 train_clip --data absent --model quick --steps 1 --no-report
ends 3 train_pipeline --data absent
ends 3 train_vlm --data absent --model say-quick --steps 1 --no-report
# A plan, or an order, that cannot be.
ends 3 plan_cluster --model quick --cluster laptop --batch 64 --pin picture:tensor=16
ends 3 profile --model quick --degrees 8 --samples 1 --repeats 1 --seconds 0
ends 3 schedule_jobs --trace absent.csv --times absent.csv --cluster nowhere
ends 3 train_clip --data random --model quick --steps 1 --no-report --plan tensor-7
ends 3 train_pipeline --data random --picture-stages 5
# What cannot be written.
ends 1 schedule_explorer --output absent/out.json
ends 1 plan_cluster --list-models --output absent/models.txt
[ $tried -gt 0 ] || exit 77
exit $failed
