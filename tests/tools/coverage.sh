#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh [PROGRAM...]: which lines of include/ the unit tests run, all of them or those of these test programs, such as tests.schedule.1. The table goes
# to build/coverage/lines.txt, its last line to stdout. Status 77 without clang 16 and its tools. Emulated GPUs are left out, as they need g++.
# Counters lie in the file that a process writes, so those of one that ends by a signal, or without destructors, count as well (docs/decisions/0179).
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/tools/packages.sh
clang=$(motet_llvm_16 clang++)
cov=$(motet_llvm_16 llvm-cov)
if [ -z "$clang" ] || [ -z "$cov" ]; then
  echo "no clang 16 or no llvm-cov 16 here (Debian: clang-16 llvm-16); skipped"
  exit 77
fi
mkdir -p build
rm -rf build/coverage/counts
CXX=$clang cmake --preset coverage >build/coverage.configure.log 2>&1 || { tail -20 build/coverage.configure.log; exit 1; }
if [ $# -eq 0 ]; then set -- unit_tests; fi
# Where some were built, the tests of the others are not found.
cmake --build --preset coverage --parallel "${MOTET_JOBS:-$(nproc)}" --target "$@" >build/coverage.log 2>&1 || { tail -20 build/coverage.log; exit 1; }
chosen=$(awk -v wanted=" $* " 'wanted == " unit_tests " || index(wanted, " " $2 " ") { gsub("[.]", "[.]", $1); printf "%s%s", separator, $1; separator = "|" }' build/coverage/tests/unit_tests.txt)
ctest --preset coverage --parallel "${MOTET_JOBS:-$(nproc)}" -R "^($chosen)\$" >build/coverage.tests.log 2>&1 || { tail -20 build/coverage.tests.log; exit 1; }
$(echo "$cov" | sed 's/llvm-cov/llvm-profdata/') merge --sparse -o build/coverage/counts/all.profdata build/coverage/counts/*.profraw || exit 1
# Program by program: of several at once llvm-cov 16 takes a function from the first that has it, also where nobody calls it there.
awk -v wanted=" $* " 'wanted == " unit_tests " || index(wanted, " " $2 " ") { print $2 }' build/coverage/tests/unit_tests.txt | sort -u | while read -r program; do
  $cov export --format=lcov --instr-profile=build/coverage/counts/all.profdata "build/coverage/bin/tests/$program" "$PWD/include" 2>/dev/null || exit 1
done >build/coverage/lines.info || exit 1
awk -F '[:,]' -v include="$PWD/include/" '
  /^SF:/ { file = substr($0, 4 + length(include)) }
  /^DA:/ { at = file SUBSEP $2; if (!(at in ran)) { ran[at] = 0; ++lines[file] } if ($3 > 0 && !ran[at]) { ran[at] = 1; ++run[file] } }
  END {
    for (file in lines) { printf "%-70s %6d lines %6d missed %7.2f%%\n", file, lines[file], lines[file] - run[file], 100 * run[file] / lines[file] | "sort"; all += lines[file]; seen += run[file] }
    close("sort")
    printf "%-70s %6d lines %6d missed %7.2f%%\n", "all", all, all - seen, 100 * seen / all
  }' build/coverage/lines.info >build/coverage/lines.txt
tail -1 build/coverage/lines.txt
