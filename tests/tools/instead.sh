#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh tests/tools/instead.sh COMPILER OTHER COMMAND...: runs the command with the compiler in the place of the other. CMake has one compiler for all targets,
# but each may say what launches it.
compiler=$1 other=$2
shift 2
for word in "$@"; do
  if [ "$word" = "$other" ]; then word=$compiler; fi
  set -- "$@" "$word"
  shift
done
exec "$@"
