# SPDX-License-Identifier: Apache-2.0
# A run that is killed goes on as if nothing had been.

attack "SIGKILL at some moment, gone on from, again and again: at the end the bits of a run that nobody disturbed"
draw_shapes shapes
steps=$((5 + 15 * times_of_long))
same="--data shapes --model quick --batch 8 --threads 1 --no-report --save-every 1"
succeed $same --steps $steps --checkpoint calm
for n in $(often 3); do
  "$train" $same --steps $steps --checkpoint killed $([ ! -d killed ] || echo --resume) >told 2>complaints &
  child=$!
  # Some before their first step, most at one of the next.
  [ $((n % 4)) -eq 0 ] || until_true told_step '[0-9]*'
  wait_up_to 120
  kill -KILL "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  # It was through before.
  [ ! -d "$(step_folder killed $steps)" ] || break
  try
  # Killed before its first checkpoint, it begins anew.
  ls killed/step-* >/dev/null 2>&1 || { rm -rf killed; continue; }
  succeed --data shapes --checkpoint killed --resume --check --threads 1
done
succeed $same --steps $steps --checkpoint killed $([ ! -d killed ] || echo --resume)
same_bits "$(step_folder calm $steps)" "$(step_folder killed $steps)" || fail "after kills the run ended with other bits"
[ -z "$(find killed -name '.*.tmp-*')" ] || fail "what a killed run left half done is still there"

attack "what a killed writer left half done is removed at the next start"
try
succeed $run --checkpoint left --steps 1
: >left/.tokenizer.json.tmp-1-1
succeed --data random --checkpoint left --resume --no-report --threads 2 --steps 2
[ -z "$(find left -name '.*.tmp-*')" ] || fail "what a killed run left half done is still there"
