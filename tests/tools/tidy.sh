#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh [FILE...]: clang-tidy over every header, or over these sources. Status 77 when no clang-tidy 16 is there (others know other checks).
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/tools/packages.sh
tool=$(motet_llvm_16 clang-tidy)
if [ -z "$tool" ]; then
  echo "no clang-tidy 16 here; skipped"
  exit 77
fi
made=$(mktemp -d) || exit 2
trap 'rm -rf "$made"' EXIT
found="-I$PWD/include"
if mpi=$(mpicxx --showme:compile 2>/dev/null); then found="$found -DMOTET_HAS_MPI=1 $(echo "$mpi" | sed 's/-I */-isystem /g')"; fi
if [ $# -eq 0 ]; then
  # MPI's come with others where it is, CUDA's with cuda.hpp.
  find include -name '*.hpp' | grep -Ev '^include/motet/(cuda\.hpp|backend/cuda/|backend/transport/(mpi|nccl|shared_gpu)|front/cuda_)' |
    sort | sed 's|^include/\(.*\)$|#include <\1>|' >"$made/all.cpp"
  for folder in /usr/local/cuda/include /usr/include; do
    if [ -f $folder/cuda_runtime_api.h ] && [ -f $folder/cublasLt.h ]; then
      found="$found -isystem $folder"
      if [ -f $folder/cudnn.h ]; then found="$found -DMOTET_HAS_CUDNN=1"; fi
      if [ -f $folder/nccl.h ]; then found="$found -DMOTET_HAS_NCCL=1"; fi
      printf '#include <motet/cuda.hpp>\n' >>"$made/all.cpp"
      break
    fi
  done
  set -- "$made/all.cpp"
fi
# shellcheck disable=SC2086
"$tool" --quiet --config-file="$PWD/.clang-tidy" "$@" -- -std=c++20 $found >"$made/log" 2>"$made/rest"
status=$?
grep -E 'warning:|error:' "$made/log" | sort -u
if [ $status -ne 0 ] && [ ! -s "$made/log" ]; then cat "$made/rest"; fi
exit $status
