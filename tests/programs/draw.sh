#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# draw.sh PROGRAMS SCRATCH: learns for some steps, with a loss that falls, and paints a sheet; the same seed paints the same; what does not fit is said.
set -u
bin=$1
scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" || exit 2
failed=0
wrong() {
  echo "$*"
  failed=1
}
draw() {
  timeout 120 "$bin/draw" --batch 4 --steps 8 --paint-steps 2 --threads 2 "$@"
}
said=$(draw --output "$scratch/one.ppm" 2>&1) || wrong "it failed: $said"
printf '%s' "$said" | grep -q 'painted 50 shapes' || wrong "it said: $said"
printf '%s\n' "$said" | awk '/^step/ { if (!first) first = $4; last = $4 } END { exit !(last < first) }' || wrong "the loss did not fall: $said"
[ "$(head -c 14 "$scratch/one.ppm" | tr '\n' ' ')" = "P6 320 160 255" ] || wrong "its sheet begins with $(head -c 14 "$scratch/one.ppm")"
draw --output "$scratch/two.ppm" >"$scratch/said" 2>&1
cmp "$scratch/one.ppm" "$scratch/two.ppm" || wrong "one seed painted two sheets"
draw --output "$scratch/other.ppm" --seed 2 >"$scratch/said" 2>&1
cmp -s "$scratch/one.ppm" "$scratch/other.ppm" && wrong "two seeds painted one sheet"
draw --steps 0 >"$scratch/said" 2>&1
[ $? -eq 2 ] && grep -q -e '--steps' "$scratch/said" || wrong "no steps: $(cat "$scratch/said")"
draw --output "$scratch/none/sheet.ppm" >"$scratch/said" 2>&1
[ $? -ne 0 ] && grep -q 'MT-F' "$scratch/said" || wrong "a folder that is not there: $(cat "$scratch/said")"
exit $failed
