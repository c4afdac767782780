#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plain.sh COMPILER INCLUDE PREFIX [FLAG...]: builds without CMake, as docs/start.md says: headers find the picture libraries by themselves, a definition turns
# them off, pkg-config finds what was installed under PREFIX. Installed programs run. Status 77 where the libraries are missing.
set -eu
compiler=$1 include=$2 prefix=$3
shift 3
source=$(dirname "$0")/pictures.cpp
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
fails() {
  echo "plain.sh: $*"
  exit 1
}

"$compiler" "$@" -std=c++20 -DMOTET_HAS_SPNG=0 -DMOTET_HAS_JPEG=0 -I "$include" "$source" -o "$made/without" -pthread
if "$made/without" 2>"$made/said"; then fails "a picture was decoded without a library"; fi
grep -q 'MOTET_HAS_SPNG.*\[MT-D06\]' "$made/said" || fails "said $(cat "$made/said")"

for program in "$prefix"/bin/*; do
  [ -x "$program" ] || continue
  "$program" --help >"$made/help" || fails "$program --help"
  grep -q "${program##*/}" "$made/help" || fails "$program --help says $(cat "$made/help")"
done

printf '#include <cstdio>\n#include <spng.h>\n#include <jpeglib.h>\n' | "$compiler" -x c++ -fsyntax-only - 2>/dev/null || exit 77
"$compiler" "$@" -std=c++20 -I "$include" "$source" -o "$made/with" -pthread -lspng -ljpeg
"$made/with"
if command -v pkg-config >/dev/null; then
  words=$(PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config --cflags --libs motet)
  # shellcheck disable=SC2086
  "$compiler" "$@" -std=c++20 "$source" -o "$made/found" $words -lspng -ljpeg
  "$made/found"
fi
