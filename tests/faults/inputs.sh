# SPDX-License-Identifier: Apache-2.0
# Mutated bytes for all that reads bytes. Unit tests try some thousand of each; the long form gives each fuzz target its own good files and lets it go on.

if is_long; then
  compiler=${MOTET_CLANG:-$(command -v clang++-16 || command -v clang++)}
  attack "mutated inputs for what reads tars, pictures, vocabularies, checkpoints, plans and schedules"
  mkdir good
  draw_shapes shapes 8
  succeed $run --checkpoint run --steps 1
  head -c 6000 shapes/train-000.tar >good/tar
  cp shapes/*.json run/*/*.json good/
  cp "$faults/../data"/*.json "$faults/../data"/*.csv good/ 2>/dev/null
  find "$faults/../data" -type f -size -5k \( -name '*.png' -o -name '*.jpg' -o -name '*.safetensors' -o -name '*.csv' -o -name '*.json' \) | head -n 60 | while read -r file; do
    cp "$file" "good/$(echo "${file#"$faults"/../data/}" | tr / _)"
  done
  for source in "$faults"/../fuzz/*.cpp; do
    name=$(basename "$source" .cpp)
    "$compiler" -std=c++20 -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I "$faults/../../include" -o "$name" "$source" >err 2>&1 || { : >out; fail "$name does not compile"; continue; }
    mkdir "$name.new"
    ASAN_OPTIONS=detect_leaks=0 "./$name" -runs=$((100000 * times_of_long)) -max_total_time=$times_of_long -max_len=8192 -timeout=20 -print_final_stats=1 "$name.new" good >out 2>err || fail "$name"
    tries=$((tries + $(sed -n 's/^stat::number_of_executed_units: *//p' err)))
  done
fi
