# SPDX-License-Identifier: Apache-2.0
# To be sourced: motet_packages <required|optional|mpi|checks|browser>... looks for what is needed and installs what is missing with apt-get, as root or by sudo.
# Status 1 when something required is missing in the end. MOTET_NO_INSTALL=1 forbids installing.

motet_has_header() { printf '#include <%s>\n' "$1" | c++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }
motet_has_program() { command -v "$1" >/dev/null 2>&1; }
# Whether programs start with this library before their own; the loader says so when it finds none.
motet_preloads() { [ -z "$(LD_PRELOAD=$1 env true 2>&1)" ]; }
# The name under which a tool of LLVM 16 is here, or nothing: other versions format and check differently.
motet_llvm_16() {
  for motet_candidate in "$1-16" "$1"; do
    if motet_has_program "$motet_candidate" && "$motet_candidate" --version | grep -q 'version 16\.'; then
      echo "$motet_candidate"
      return
    fi
  done
}

# Prints the Debian names of what is missing in one group.
motet_missing() {
  case $1 in
    required)
      motet_has_program c++ || echo g++
      motet_has_program cmake || echo cmake
      motet_has_program ninja || echo ninja-build
      ;;
    optional)
      motet_has_header spng.h || echo libspng-dev
      # jpeglib.h leans on <stdio.h> being included before it.
      printf '#include <stdio.h>\n#include <jpeglib.h>\n' | c++ -E -x c++ - >/dev/null 2>&1 || echo libjpeg-dev
      motet_has_header benchmark/benchmark.h || echo libbenchmark-dev
      ;;
    mpi)
      motet_has_program mpicxx || echo libopenmpi-dev
      motet_has_program mpirun || echo openmpi-bin
      ;;
    checks)
      motet_has_header doctest/doctest.h || echo doctest-dev
      motet_has_program python3 || echo python3
      python3 -c 'import yaml' 2>/dev/null || echo python3-yaml
      python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
      motet_has_program cmark-gfm || echo cmark-gfm
      motet_has_program lua5.4 || echo lua5.4 # in which Slurm's plug-ins are written
      motet_has_program clang++-16 || echo clang-16
      motet_has_program ld.lld-16 || echo lld-16
      motet_preloads libjemalloc.so.2 || echo libjemalloc2
      # What programs under its sanitizers are linked with.
      [ -f /usr/lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.asan-x86_64.a ] || [ "$(uname -m)" != x86_64 ] || echo libclang-rt-16-dev
      motet_has_program clang-format-16 || echo clang-format-16
      motet_has_program clang-tidy-16 || echo clang-tidy-16
      ;;
    browser) # what opens the docs' site; a run without one skips that
      for motet_candidate in chromium-headless-shell chromium chromium-browser google-chrome; do
        if motet_has_program "$motet_candidate"; then return; fi
      done
      echo chromium-headless-shell
      ;;
  esac
}

motet_packages() {
  motet_wanted=
  for motet_group in "$@"; do motet_wanted="$motet_wanted $(motet_missing "$motet_group" | tr '\n' ' ')"; done
  if [ -n "$(echo "$motet_wanted" | tr -d ' ')" ] && [ -z "${MOTET_NO_INSTALL:-}" ] && motet_has_program apt-get; then
    motet_root=
    if [ "$(id -u)" -ne 0 ]; then
      if ! motet_has_program sudo; then motet_root=false; elif [ -t 0 ]; then motet_root=sudo; else motet_root="sudo -n"; fi
    fi
    echo "installing: $motet_wanted"
    export DEBIAN_FRONTEND=noninteractive
    $motet_root apt-get update -qq >/dev/null 2>&1
    # shellcheck disable=SC2086
    # All at once, or else each for itself: one that this distribution lacks must not keep the others away.
    if ! $motet_root apt-get install -y -qq --no-install-recommends $motet_wanted >/dev/null 2>&1; then
      for motet_package in $motet_wanted; do
        $motet_root apt-get install -y -qq --no-install-recommends "$motet_package" >/dev/null 2>&1 || echo "could not install $motet_package"
      done
    fi
  fi
  motet_wanted=$(for motet_group in "$@"; do case $motet_group in optional | mpi | browser) ;; *) motet_missing "$motet_group" ;; esac; done | grep -v -e '^clang' -e '^cmark' -e '^libclang' -e '^lld' -e '^python3-venv' | tr '\n' ' ')
  if [ -n "$motet_wanted" ]; then
    echo "missing: $motet_wanted"
    return 1
  fi
  motet_version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  # shellcheck disable=SC2086
  set -- $motet_version
  if [ "$1" -lt 3 ] || { [ "$1" -eq 3 ] && [ "$2" -lt 25 ]; }; then
    echo "cmake $1.$2 is too old: 3.25 or newer is needed (Debian 12, Ubuntu 24.04, or pip install cmake)"
    return 1
  fi
}
