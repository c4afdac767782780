# SPDX-License-Identifier: Apache-2.0
# Producers come, go and are killed, another number of them from round to round, and the run is killed as well.

attack "producers killed at drawn moments, one to three of them, their run killed and gone on with: the bits of a run that loads by itself"
if [ ! -x "$programs/train_vlm" ] || [ ! -x "$programs/produce" ]; then return 0; fi
draw_shapes shapes
train=$programs/train_vlm
rounds=$((2 * times_of_long))
steps=$((6 * rounds))
same="--data shapes --model say-quick --batch 8 --threads 1 --no-report --save-every 1 --eval-every 0 --validate-every 0"
# Ports below those that the system gives to others.
first_port=$((20000 + $(random 9000)))
addresses=127.0.0.1:$first_port,127.0.0.1:$((first_port + 1)),127.0.0.1:$((first_port + 2))
produce() { # which of the three; its number is in producer_$1
  "$programs/produce" --data shapes --listen "127.0.0.1:$((first_port + $1))" >"produce_$1" 2>&1 &
  eval "producer_$1=$!"
}
kill_producer() {
  eval "victim=\${producer_$1:-}"
  [ -n "$victim" ] || return 1
  kill -KILL "$victim" 2>/dev/null
  wait "$victim" 2>/dev/null
  eval "producer_$1="
}
told_new_step() { [ -n "$(last_step)" ] && [ "$(last_step)" != "${step_before:-}" ]; }
# As long as it takes, which the long form decides.
undisturbed() { "$train" $same --steps $steps "$@" >out 2>err || fail "status $? from: train_vlm $*"; }
is_through() { told_new_step || ! kill -0 "$child" 2>/dev/null; }

undisturbed --checkpoint calm --metrics calm.jsonl
for n in $(seq $rounds); do
  # Another number of them than before, one at least.
  for which in 0 1 2; do
    if [ $((n % 3)) -eq $which ] || [ "$(random 2)" -eq 0 ]; then
      eval "[ -n \"\${producer_$which:-}\" ]" || produce $which
    else
      kill_producer $which && try
    fi
  done
  : >told
  "$train" $same --steps $steps --checkpoint disturbed --producers "$addresses" $([ ! -d disturbed ] || echo --resume) >told 2>complaints &
  child=$!
  step_before=
  # Two are killed while it trains, one of which is there again at once.
  for again in 1 2 3; do
    until_true is_through
    step_before=$(last_step)
    which=$(random 3)
    wait_up_to 60
    if kill_producer "$which"; then
      try
      [ $again -eq 3 ] || produce "$which"
    else
      produce "$which"
    fi
  done
  if [ "$n" -lt "$rounds" ]; then
    kill -KILL "$child" 2>/dev/null
    wait "$child" 2>/dev/null
    [ -d disturbed ] && ls disturbed/step-* >/dev/null 2>&1 || rm -rf disturbed
  else
    for which in 0 1 2; do eval "[ -n \"\${producer_$which:-}\" ]" || produce $which; done
    end
  fi
  [ ! -d "$(step_folder disturbed $steps)" ] || break
done
[ -d "$(step_folder disturbed $steps)" ] || undisturbed --checkpoint disturbed --resume --producers "$addresses"
same_bits "$(step_folder calm $steps)" "$(step_folder disturbed $steps)" || fail "after $tries kills of producers the run ended with other bits"
for which in 0 1 2; do kill_producer $which; done
train=$programs/train_clip
