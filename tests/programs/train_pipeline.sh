#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_pipeline.sh PROGRAMS SCRATCH: trains on shards by several schedules; one loss a step is that of a single rank; pictures and traces are written;
# what does not fit is said.
set -u
bin=$1
scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" || exit 2
failed=0
wanted() { # status, part of the message, command...
  status=$1 part=$2
  shift 2
  said=$(timeout 120 "$@" 2>&1)
  got=$?
  if [ $got -ne "$status" ] || ! printf '%s' "$said" | grep -qE -e "$part"; then
    echo "$*: status $got, wanted $status and \"$part\"; it said: $said"
    failed=1
  fi
}
"$bin/make_shapes" --output "$scratch/shapes" --count 300 --format ppm --quiet || exit 1
train="$bin/train_pipeline --data $scratch/shapes --batch 32 --steps 2"
wanted 0 'step 2 .*from a single rank [0-9.]*e-(0[6-9]|1)' $train --losses 1 --compare
wanted 0 'step 2 .*from a single rank [0-9.]*e-(0[6-9]|1)' $train --losses 1 --compare --schedule gpipe --picture-stages 4 --caption-stages 2
wanted 0 'rank 3 .*caption stage 1' $train --schedule zb_h1 --losses 8 --caption-stages 2
wanted 0 'simulated with the measured times' $train --stash 1 --svg "$scratch/run.svg" --trace "$scratch/run.json"
grep -q '</svg>' "$scratch/run.svg" && grep -q 'traceEvents' "$scratch/run.json" || { echo "no picture or no trace"; failed=1; }
wanted 2 'MT-X04' "$bin/train_pipeline"
wanted 3 'MT-F04|MT-D' "$bin/train_pipeline" --data "$scratch/nowhere"
wanted 0 'step 2 ' $train --losses 8 --schedule interleaved
wanted 3 'there are gpipe.*MT-P60' $train --schedule nonsense
wanted 3 'picture: got 5 stages, wanted at most 4.*MT-P09' $train --picture-stages 5
wanted 3 '8 for --losses 3.*MT-P04' $train --losses 3
wanted 3 'MT-P05' $train --stash 9
wanted 3 'MT-S10' $train --microbatches 64 --losses 1
# An order that begins backward before its loss can be known.
wanted 3 'MT-P[23]8' $train --schedule 1f1b --losses 2
exit $failed
