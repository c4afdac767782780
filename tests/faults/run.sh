#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attacks the programs and says how often each attack was tried and how often something gave way: run.sh [--long] [PROGRAMS SCRATCH]. The short form
# is a test; the long one is run by hand and takes its numbers to docs/reliability.md. MOTET_FAULTS names the files of some attacks alone.
set -u

times_of_long=1
if [ "${1:-}" = --long ]; then
  times_of_long=${MOTET_FAULT_TIMES:-20}
  shift
fi
faults=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || set -- "$faults/../../build/release/bin" "$(mktemp -d)"
[ -x "$1/train_clip" ] || { echo "no train_clip in $1"; exit 77; }
set -- "$(cd "$1" && pwd)" "$(realpath -m "$2")"
. "$faults/../programs/begin/train_clip.sh"
. "$faults/attack.sh"

for each in ${MOTET_FAULTS:-places leaving kills checkpoints side_outputs words ranks inputs producers}; do
  mkdir "$each"
  cd "$each" || exit 1
  . "$faults/$each.sh"
  cd ..
done
tell_counts
[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
