# SPDX-License-Identifier: Apache-2.0
# What all attacks have in common.
run="--data random --model quick --batch 8 --threads 2 --no-report"
counts=$here/counts
attack=

# attack NAME: what is tried from here on counts under it; try: once more.
attack() {
  close_attack
  attack=$1 tries=0 failed_before=$failures
}
try() { tries=$((tries + 1)); }
close_attack() {
  [ -z "$attack" ] || printf '%7d tried, %d gave way: %s\n' "$tries" $((failures - failed_before)) "$attack" >>"$counts"
}
tell_counts() {
  close_attack
  cat "$counts"
}
# often N: the numbers 1 to N, and in the long form as many times more as it is longer.
often() { seq $(($1 * times_of_long)); }
is_long() { [ "$times_of_long" -gt 1 ]; }
# A number below $1 by chance.
random() { echo $(($(od -An -N4 -tu4 /dev/urandom) % $1)); }
# Some milliseconds, at most $1.
wait_up_to() { sleep "$(printf '%d.%03d' $((${moment:=$(random "$1")} / 1000)) $((moment % 1000)))"; moment=; }
moment=

# Until COMMAND succeeds, for 30 seconds at most.
until_true() {
  looks=0
  until "$@"; do
    looks=$((looks + 1))
    [ $looks -lt 600 ] || { fail "$*: in vain"; return 1; }
    sleep 0.05
  done
}
told_step() { grep -q "^step $1/" told 2>/dev/null; }
# A run that goes on until it is told to stop, of which two steps are done; its number is $child.
start() {
  : >told
  "$train" $run --steps 100000 "$@" >told 2>complaints &
  child=$!
  until_true told_step 2
}
# Its end: $status, and what it said for fail to show.
end() {
  wait "$child" 2>/dev/null
  status=$?
  cp told out
  cp complaints err
}
last_step() { sed -n 's/^step \([0-9]*\).*/\1/p' told | tail -n 1; }
step_folder() { printf '%s/step-%06d' "$1" "$2"; }
saved() { # the newest checkpoint of a folder is that of the last step that was told
  [ -f "$(step_folder "$1" "$(last_step)")/index.json" ]
}
# The weights and moments of two checkpoints are the same bits.
same_bits() {
  for of in "$1"/*.safetensors; do cmp -s "$of" "$2/$(basename "$of")" || return 1; done
  [ -e "$of" ]
}
draw_shapes() { # folder, samples
  "$programs/make_shapes" --output "$1" --count "${2:-240}" --format ppm --quiet || exit 1
}
