#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh check|fix: clang-format over the sources, and lines of comments of at most 110 columns, which it does not wrap. Status 77 when no clang-format 16
# is there (other versions format differently).
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/tools/packages.sh
tool=$(motet_llvm_16 clang-format)
if [ -z "$tool" ]; then
  echo "no clang-format 16 here; skipped"
  exit 77
fi
files=$(find include tests examples bench -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' -o -name '*.inc' \) | sort)
case "${1:-check}" in
  check)
    long=$(awk 'length > 110 && /^ *\/\/ [^ ]/ && !(FILENAME ~ /must_fail/ && /^\/\/ [a-z]+: /) { print FILENAME ":" FNR ": a comment of " length " columns, at most 110" }' $files)
    if [ -n "$long" ]; then
      printf '%s\n' "$long"
      exit 1
    fi
    wrong=$($tool --dry-run -Werror $files 2>&1 | sed -n 's/^\([^: ]*\):\([0-9]*\):.*code should be clang-formatted.*/\1/p' | uniq -c)
    if [ -n "$wrong" ]; then
      printf '%s\nplaces to change in these files; tests/tools/format.sh fix changes them\n' "$wrong"
      exit 1
    fi
    ;;
  fix) exec $tool -i $files ;;
  *) echo "usage: format.sh check|fix" >&2; exit 2 ;;
esac
