#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What this machine has for GPUs: toolkit, headers, libraries with their versions, driver, GPUs, tools. Run by itself it tells, read by another script
# (`. bench/inventory.sh`) it gives that one its functions.
#
#   sh bench/inventory.sh [--json] [--libraries DIR]... [--build]
#
#   --json            one line of JSON
#   --libraries DIR   looked into first, with DIR/lib, DIR/lib64 and DIR/include; as MOTET_LIBRARIES=DIR:DIR
#   --build           end with status 1, and a line for each thing that building lacks
#
# Libraries are found by their versioned names (libcudnn.so.9), as Python's packages ship no others: in folders given, in LD_LIBRARY_PATH, in the toolkit
# (CUDA_HOME, that of nvcc, /usr/local/cuda), in Python's `nvidia` packages and in what ldconfig knows.

# MOTET_SYSTEM=DIR: the system's own folders (/usr/local/cuda, /usr/include) are those beneath DIR; for tests.

# Lines `kind|name|path|version`; kinds: header, library, tool. Filled by inventory().
inventory_lines=
inventory_given=${MOTET_LIBRARIES:-}
inventory_system=${MOTET_SYSTEM:-}

inventory_of() { printf '%s\n' "$inventory_lines" | awk -F'|' -v kind="$1" -v name="$2" '$1 == kind && $2 == name { print $3; exit }'; }
inventory_version() { printf '%s\n' "$inventory_lines" | awk -F'|' -v kind="$1" -v name="$2" '$1 == kind && $2 == name { print $4; exit }'; }
inventory_add() {
  inventory_lines="$inventory_lines
$1|$2|$3|$4"
}
# Functions in ( ) leave the variables of their callers alone.
# Text as it may stand between quotes of JSON; lines are joined by \n.
json_text() { printf '%s' "$1" | tr '\t' ' ' | tr -d '\000-\011\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'; }

gpu_here() { nvidia-smi -L 2>/dev/null | grep -q '^GPU' || ls /dev/nvidia[0-9]* >/dev/null 2>&1; }

# Python's version, PyTorch's, and the `nvidia` folders of its packages: lines `what|answer`.
ask_python() {
  "${MOTET_PEER_PYTHON:-${MOTET_PYTHON:-python3}}" -c 'import importlib.metadata, os, platform, sys
print("python|" + platform.python_version())
for folder in sys.path:
    if folder and os.path.isdir(os.path.join(folder, "nvidia")): print("folder|" + os.path.join(folder, "nvidia"))
try: print("pytorch|" + importlib.metadata.version("torch"))
except importlib.metadata.PackageNotFoundError: pass' 2>/dev/null
}
python_folders() { printf '%s\n' "$inventory_of_python" | sed -n 's/^folder|//p'; }
toolkit_folders() (
  for each in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${inventory_nvcc%/bin/nvcc}" "$inventory_system/usr/local/cuda" "$inventory_system"/usr/local/cuda-[0-9]*; do
    if [ -n "$each" ] && [ -d "$each" ]; then echo "$each"; fi
  done
)
# Where to look, first things first, one folder a line. $1: lib or include.
folders_for() (
  {
    printf '%s\n' "$inventory_given" | tr ':' '\n' | while read -r each; do
      [ -n "$each" ] || continue
      case $1 in lib) printf '%s\n' "$each/lib" "$each/lib64" "$each" ;; include) printf '%s\n' "$each/include" "$each" ;; esac
    done
    [ "$1" = include ] || printf '%s\n' "${LD_LIBRARY_PATH:-}" | tr ':' '\n'
    toolkit_folders | while read -r each; do
      case $1 in
        lib) printf '%s\n' "$each/lib64" "$each/lib" "$each"/targets/*/lib "$each/extras/CUPTI/lib64" ;;
        include) printf '%s\n' "$each/include" "$each"/targets/*/include "$each/extras/CUPTI/include" ;;
      esac
    done
    python_folders | while read -r each; do printf '%s\n' "$each"/*/"$1"; done
    case $1 in
      lib) ldconfig -p 2>/dev/null | sed -n 's,^.* => \(/.*\)/lib\(cublasLt\|cudnn\|nccl\|cupti\|nvrtc\|cudart\)\.so[^/]*$,\1,p' | sort -u ;;
      include) printf '%s\n' "$inventory_system/usr/local/include" "$inventory_system/usr/include" "$inventory_system"/usr/include/*-linux-gnu ;;
    esac
  } | awk 'NF && !seen[$0]++' | while read -r each; do [ ! -d "$each" ] || echo "$each"; done
)

# The file of a library: that of the wanted major version in any folder, else any version. $1: name, $2: major version.
library_file() (
  printf '%s\n' "$inventory_lib_folders" | while read -r folder; do
    if [ -n "$folder" ] && [ -e "$folder/lib$1.so.$2" ]; then echo "$folder/lib$1.so.$2" && break; fi
  done | grep . && return
  printf '%s\n' "$inventory_lib_folders" | while read -r folder; do
    [ -n "$folder" ] || continue
    for file in "$folder/lib$1.so" "$folder/lib$1".so.[0-9]*; do
      if [ -e "$file" ]; then echo "$file" && break 2; fi
    done
  done
)
# Versions, as the libraries tell them; one that does not load says why. Lines `name|version`. What cannot be asked has the version of its file's name.
library_versions() (
  limit_of_inventory=
  if command -v timeout >/dev/null 2>&1; then limit_of_inventory='timeout 60'; fi
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$(library_path) $limit_of_inventory "${MOTET_PEER_PYTHON:-${MOTET_PYTHON:-python3}}" - "$@" <<'END' 2>/dev/null
import ctypes, sys

def version(name, path):
    library = ctypes.CDLL(path)
    number = ctypes.c_int()
    if name == "cublasLt":
        library.cublasLtGetVersion.restype = ctypes.c_size_t
        found = library.cublasLtGetVersion()
        return "%d.%d.%d" % (found // 10000, found // 100 % 100, found % 100)
    if name == "cudnn":
        library.cudnnGetVersion.restype = ctypes.c_size_t
        found = library.cudnnGetVersion()
        return "%d.%d.%d" % (found // 10000, found // 100 % 100, found % 100)
    if name == "nccl":
        library.ncclGetVersion(ctypes.byref(number))
        return "%d.%d.%d" % (number.value // 10000, number.value // 100 % 100, number.value % 100)
    if name == "cupti":
        library.cuptiGetVersion(ctypes.byref(number))
        return str(number.value)
    return ""

for word in sys.argv[1:]:
    name, path = word.split("=", 1)
    try:
        print(name + "|" + version(name, path), flush=True)
    except AttributeError:
        print(name + "|", flush=True)
    except OSError as problem:
        print(name + "|does not load: " + str(problem).replace("|", " ").replace("\n", " "), flush=True)
END
)

# Where programs find their libraries, of those that were found; folders of the system stay out, as all programs know them.
library_path() (
  {
    printf '%s\n' "$inventory_lines" | awk -F'|' '$1 == "library" { sub("/[^/]*$", "", $3); print $3 }'
    printf '%s\n' "${LD_LIBRARY_PATH:-}" | tr ':' '\n'
  } | grep -v -x -e /lib -e /usr/lib -e '/lib/[^/]*-linux-gnu' -e '/usr/lib/[^/]*-linux-gnu' | awk 'NF && !seen[$0]++' | paste -sd : -
)

find_tool() (
  for each in "$(command -v "$1" 2>/dev/null)" $(toolkit_folders | sed "s,\$,/bin/$1,") /opt/nvidia/nsight-compute/*/"$1" /opt/nvidia/nsight-systems/*/bin/"$1" \
    $(toolkit_folders | sed "s,\$,/$1/$1,"); do
    if [ -n "$each" ] && [ -x "$each" ] && [ ! -d "$each" ]; then echo "$each" && return; fi
  done
)

# Looks at everything. The libraries' own answers take seconds; inventory_asks=no does without.
inventory() {
  inventory_lines=
  inventory_of_python=$(ask_python)
  CUDACXX=${CUDACXX:-}
  inventory_nvcc=$(command -v "${CUDACXX:-nvcc}" 2>/dev/null)
  # dash names a file that is not there, too.
  if [ ! -x "$inventory_nvcc" ] || [ -d "$inventory_nvcc" ]; then inventory_nvcc=; fi
  for each in $(toolkit_folders | sed 's,$,/bin/nvcc,') $(python_folders | sed 's,$,/cu13/bin/nvcc,'); do
    if [ -z "$inventory_nvcc$CUDACXX" ] && [ -x "$each" ]; then inventory_nvcc=$each; fi
  done
  inventory_toolkit=$("${inventory_nvcc:-false}" --version 2>/dev/null | sed -n 's/^.*release \([0-9.]*\).*$/\1/p' | head -1)
  [ -z "$inventory_nvcc" ] || inventory_add tool nvcc "$inventory_nvcc" "$inventory_toolkit"
  inventory_lib_folders=$(folders_for lib)
  inventory_include_folders=$(folders_for include)
  for header in cuda_runtime.h cublasLt.h cudnn.h nccl.h cupti.h; do
    found=$(printf '%s\n' "$inventory_include_folders" | while read -r folder; do [ ! -e "$folder/$header" ] || { echo "$folder/$header" && break; }; done)
    [ -z "$found" ] || inventory_add header $header "$found" ''
  done
  header=$(inventory_of header cudnn.h)
  header=$(sed -n 's/^#define CUDNN_MAJOR *\([0-9]*\).*$/\1/p' "${header%.h}_version.h" "$header" 2>/dev/null | head -1)
  major=${inventory_toolkit%%.*}
  for each in "cublasLt ${major:-13}" "cudnn ${header:-9}" 'nccl 2' "cupti ${major:-13}" "nvrtc ${major:-13}"; do
    found=$(library_file "${each% *}" "${each#* }")
    # By the file that the name leads to.
    real=$(readlink -f "$found" 2>/dev/null)
    version=${real##*.so}
    [ -z "$found" ] || inventory_add library "${each% *}" "$found" "${version#.}"
  done
  asked=
  # shellcheck disable=SC2046
  [ "${inventory_asks:-yes}" = no ] || asked=$(library_versions $(printf '%s\n' "$inventory_lines" | awk -F'|' '$1 == "library" { print $2 "=" $3 }'))
  inventory_lines=$(printf '%s\n%s\n' "$asked" "$inventory_lines" | awk -F'|' -v OFS='|' 'NF == 2 { told[$1] = $2; next } NF { if ($1 == "library" && told[$2] != "") $4 = told[$2]; print }')
  for each in cmake ninja c++ compute-sanitizer ncu nsys timeout; do
    found=$(find_tool $each)
    [ -z "$found" ] || inventory_add tool $each "$found" ''
  done
  found=$(command -v "${MOTET_PEER_PYTHON:-${MOTET_PYTHON:-python3}}" 2>/dev/null)
  [ -z "$found" ] || inventory_add tool python "$found" "$(printf '%s\n' "$inventory_of_python" | sed -n 's/^python|//p')"
  found=$(printf '%s\n' "$inventory_of_python" | sed -n 's/^pytorch|//p')
  [ -z "$found" ] || inventory_add tool pytorch "Python's package" "$found"
  inventory_gpus=$(nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,memory.free --format=csv,noheader,nounits 2>/dev/null)
}

# A line for each thing that is missing, and how to point at it. $1: what for, build or run; more: of cudnn, nccl, cupti, those that are wanted.
inventory_missing() (
  what=$1
  shift
  point="--libraries DIR (or MOTET_LIBRARIES=DIR) names a folder that has it"
  if [ "$what" = build ]; then
    [ -n "$(inventory_of tool nvcc)" ] || echo "nvcc is missing: set CUDACXX or CUDA_HOME, or put its folder into PATH (CUDA toolkit 13; Python's package nvidia-cuda-nvcc has it, too)"
    for each in cuda_runtime.h cublasLt.h; do
      [ -n "$(inventory_of header $each)" ] || echo "$each is missing: $point, as DIR/include/$each (Python's packages nvidia-cuda-runtime, nvidia-cublas)"
    done
  fi
  [ -n "$(inventory_of library cublasLt)" ] || echo "libcublasLt.so.13 is missing: $point, as DIR/lib/libcublasLt.so.13 (Python's package nvidia-cublas)"
  for each in "$@"; do
    case $each in
      cudnn) file=libcudnn.so.9 package=nvidia-cudnn-cu13 without='; or --without cudnn: own kernels do all attention' ;;
      nccl) file=libnccl.so.2 package=nvidia-nccl-cu13 without='; or --without nccl: ranks then share one GPU' ;;
      cupti) file=libcupti.so.13 package=nvidia-cuda-cupti without='; without it there is no table of kernels' ;;
    esac
    if [ "$what" = build ] && [ -z "$(inventory_of header "$each.h")" ]; then
      echo "$each.h is missing: $point, as DIR/include/$each.h (Python's package $package)$without"
    fi
    if [ -z "$(inventory_of library "$each")" ]; then
      echo "$file is missing: $point, as DIR/lib/$file (Python's package $package)$without"
    fi
  done
  # cuDNN loads its parts by name, from beside it.
  found=$(inventory_of library cudnn)
  if [ -n "$found" ]; then
    major=${found##*.so.}
    for each in graph ops cnn heuristic engines_precompiled engines_runtime_compiled; do
      [ -e "${found%/*}/libcudnn_$each.so.${major%%.*}" ] || [ -e "${found%/*}/libcudnn_$each.so" ] ||
        echo "libcudnn_$each.so.${major%%.*} is missing beside $found: cuDNN loads it by name; copy all of libcudnn*.so* there"
    done
  fi
  if [ "$what" != build ] && [ -n "$found" ] && [ -z "$(inventory_of library nvrtc)" ]; then
    echo "libnvrtc.so.13 is missing: $point (Python's package nvidia-cuda-nvrtc); cuDNN compiles its attention by it"
  fi
  printf '%s\n' "$inventory_lines" | awk -F'|' '$1 == "library" && $4 ~ /^does not load/ { print $3 " " $4 }'
)

# What a program still misses, as ldd tells.
missing_libraries() { ldd "$1" 2>/dev/null | awk '/not found/ { print $1 }' | paste -sd ' ' -; }

inventory_text() (
  printf '%s\n' "$inventory_lines" | awk -F'|' 'NF >= 3 { printf "%-8s %-18s %-14s %s\n", $1, $2, ($4 == "" ? "-" : $4), $3 }'
  if [ -n "$inventory_gpus" ]; then printf '%s\n' "$inventory_gpus" | awk -F', *' '{ printf "GPU      %s: driver %s, compute capability %s, %s of %s MiB free\n", $1, $2, $3, $5, $4 }'
  else echo "GPU      none that nvidia-smi shows"; fi
  printf 'machine  %s cores, %s MiB of memory\n' "$(nproc 2>/dev/null)" "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)"
)
inventory_json() (
  of_kind() {
    printf '%s\n' "$inventory_lines" | while IFS='|' read -r kind name path version; do
      [ "$kind" != "$1" ] || printf '"%s": {"path": "%s", "version": "%s"}\n' "$name" "$(json_text "$path")" "$(json_text "$version")"
    done | paste -sd , -
  }
  gpus=$(printf '%s\n' "$inventory_gpus" | while IFS=, read -r name driver capability total free; do
    [ -z "$name" ] || printf '{"name": "%s", "driver": "%s", "compute_capability": "%s", "mib": "%s", "free_mib": "%s"}\n' "$(json_text "$name")" "${driver# }" \
      "${capability# }" "${total# }" "${free# }"
  done | paste -sd , -)
  printf '{"toolkit": "%s", "headers": {%s}, "libraries": {%s}, "tools": {%s}, "gpus": [%s], "cores": %s, "memory_mib": %s, "processor": "%s"}\n' \
    "$inventory_toolkit" "$(of_kind header)" "$(of_kind library)" "$(of_kind tool)" "$gpus" "$(nproc 2>/dev/null || echo 0)" \
    "$(awk '/^MemTotal/ { found = int($2 / 1024) } END { print found + 0 }' /proc/meminfo 2>/dev/null || echo 0)" \
    "$(json_text "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)")"
)

case $0 in
  *inventory.sh)
    set -u
    form=text
    build=no
    while [ $# -gt 0 ]; do
      case $1 in
        --json) form=json ;;
        --build) build=yes ;;
        --libraries)
          [ $# -gt 1 ] || { echo "inventory.sh: --libraries wants a folder" >&2 && exit 2; }
          inventory_given=$2${inventory_given:+:$inventory_given}
          shift
          ;;
        --help | -h) sed -n '3,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
        *) echo "inventory.sh: unknown option $1; --help lists them" >&2 && exit 2 ;;
      esac
      shift
    done
    inventory
    if [ $form = json ]; then inventory_json; else inventory_text; fi
    missing=$(inventory_missing build cudnn nccl cupti)
    [ -z "$missing" ] || printf '%s\n' "$missing" >&2
    [ $build = no ] || [ -z "$missing" ]
    ;;
esac
