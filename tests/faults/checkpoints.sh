# SPDX-License-Identifier: Apache-2.0
# Checkpoints that are not what was written, and weights that are no good.

attack "a damaged checkpoint is refused: bits flipped, bytes cut, doubled, exchanged or zeroed, files gone or another's"
succeed $run --checkpoint whole --steps 2
succeed $run --checkpoint whole --resume --steps 3
for n in $(often 4); do
  try
  rm -rf harmed
  cp -r whole harmed
  python3 "$faults/damage.py" harmed/step-000003 harmed/step-000002 "$n" >harm || { cat harm; exit 1; }
  timeout 100 "$train" --data random --checkpoint harmed --resume --check >out 2>err
  status=$?
  [ $status -eq 3 ] && grep -q 'MT-[RF][0-9]' err || fail "status $status with a checkpoint where $(cat harm)"
done

attack "a run that diverges ends before the bad update, and what it saved is finite"
for n in $(often 1); do
  for rate in 1e2 1e6; do
    try
    rm -rf wild
    timeout 100 "$train" $run --seed "$n" --checkpoint wild --steps 30 --save-every 1 --lr $rate --warmup $((n % 3)) --schedule constant >out 2>err
    status=$?
    [ $status -eq 1 ] && grep -q 'MT-R01' err || fail "status $status at a learning rate of $rate"
    for each in wild/step-*; do
      [ ! -d "$each" ] || python3 "$faults/finite.py" "$each" >harm || { cat harm; fail "a number of $each is not finite"; }
    done
  done
done

attack "a run that rises: --check tells it, and the best checkpoint stays"
try
draw_shapes shapes
ruin="--data shapes --checkpoint ruin --no-report"
succeed $ruin --model quick --batch 8 --threads 2 --steps 20 --save-every 10
succeed $ruin --resume --check
grep -q '^loss  ' out && grep -q '^all is well' out || fail "--check does not tell the loss"
# Some steps on it may stop at a number that is not finite, by how this processor rounds.
timeout 100 "$train" $ruin --resume --threads 1 --steps 30 --save-every 1 --lr 100 --warmup 0 >out 2>err
status=$?
[ $status -eq 0 ] || grep -q 'MT-R01' err || fail "status $status from a run that rises"
grep -q 'the saved run had 2 threads, this one has 1' out || fail "another number of threads is not told"
[ "$(ls -d ruin/step-* | wc -l)" -eq 3 ] || fail "the best checkpoint is not kept beside the newest two"
timeout 100 "$train" $ruin --resume --check >out 2>err
[ $? -eq 3 ] || fail "--check passes a ruined checkpoint"
grep -q 'this checkpoint looks ruined; the best one kept is step' out || fail "--check does not tell a ruined checkpoint"
