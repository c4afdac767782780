#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh examples/quickstart.sh [captions]: from a fresh clone to a trained two-tower model in a few minutes on two cores; with `captions`, to a language
# model that says what pictures show. Installs what is missing, builds two programs, draws a captioned picture set into ./shapes (./shapes-captions) and trains on it. Runs
# from any directory; a second run builds and draws nothing anew. What else is given on the command line goes to the program that trains:
# `sh examples/quickstart.sh --steps 100`.
set -eu

# ---- the run ----
# Folders, relative to the repository.
MAKE_SHAPES_FLAGS="--count 20000 --size 64 --seed 1"
TRAIN_FLAGS="--batch 64 --smallest-crop 0.9 --seed 1"
if [ "${1:-}" = captions ]; then
  shift
  PROGRAM=train_vlm
  DATA=${DATA:-shapes-captions} # picture set, drawn when absent
  MAKE_SHAPES_FLAGS="--task captions $MAKE_SHAPES_FLAGS" # besides pairs, samples with two pictures and with text alone
  OUTPUT=${OUTPUT:-report-captions} # index.html, metrics.jsonl, checkpoint
  TRAIN_FLAGS="--model say-quick --steps 800 --lr 0.001 --warmup 60 --eval-every 200 $TRAIN_FLAGS"
else
  PROGRAM=train_clip
  DATA=${DATA:-shapes}
  OUTPUT=${OUTPUT:-report}
  TRAIN_FLAGS="--model quick --optimizer muon --steps 400 --lr 0.003 --warmup 40 --eval-every 100 $TRAIN_FLAGS"
fi
# -----------------

cd "$(dirname "$0")/.."
. tests/tools/packages.sh
motet_packages required optional

bin=build/quickstart/bin
if [ ! -f build/quickstart/CMakeCache.txt ]; then
  # g++ looks for memory that it no longer needs whenever its heap has doubled, which takes a tenth of a compile: below a gigabyte it need not.
  frugal=--param=ggc-min-heapsize=1000000
  printf 'int main() { return 0; }\n' | ${CXX:-c++} -Werror $frugal -fsyntax-only -x c++ - 2>/dev/null || frugal=
  # The preset compiles what is trained here and no more; a newer compiler's warnings are no reason not to try it.
  CXXFLAGS="${CXXFLAGS:-} $frugal" cmake --preset quickstart
fi
cmake --build --preset quickstart --target make_shapes

# Pictures are drawn while the program that trains is compiled.
drawing=
if [ ! -f "$DATA/classes.json" ]; then
  # Drawn beside and renamed, so that an interrupted run leaves no half of a set behind.
  rm -rf "$DATA.partial"
  # shellcheck disable=SC2086
  $bin/make_shapes --output "$DATA.partial" $MAKE_SHAPES_FLAGS &
  drawing=$!
  trap 'kill $drawing 2>/dev/null || :' EXIT
fi
cmake --build --preset quickstart --target $PROGRAM
if [ -n "$drawing" ]; then
  wait "$drawing"
  trap - EXIT
  rm -rf "$DATA"
  mv "$DATA.partial" "$DATA"
fi

case $OUTPUT in
  /*) ;;
  *) OUTPUT=$PWD/$OUTPUT ;;
esac
mkdir -p "$OUTPUT"
# At its end the program says where the report is.
# shellcheck disable=SC2086
exec $bin/$PROGRAM --data "$DATA" --checkpoint "$OUTPUT/checkpoint" --report "$OUTPUT" $TRAIN_FLAGS "$@"
