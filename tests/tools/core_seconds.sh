#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh tests/tools/core_seconds.sh COMMAND... -o MADE ...: runs the command, and writes to MADE.seconds what `times` says of it: user and system seconds, which
# what runs beside it changes little, as it would those by the clock.
"$@" || exit
for word in "$@"; do
  if [ "$option" = -o ]; then times >"$word.seconds"; fi
  option=$word
done
