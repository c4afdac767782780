#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a run of train_clip loses when it is asked to leave, killed, started twice, or has nowhere to save: train_clip_faults.sh PROGRAMS SCRATCH
set -u

. "$(dirname "$0")/begin/train_clip.sh"
run="--data random --model quick --batch 8 --threads 2 --no-report"
# A run that goes on until it is told to stop, of which two steps are done; its number is $child.
start() {
  : >told
  "$train" $run --steps 100000 "$@" >told 2>complaints &
  child=$!
  tries=0
  until grep -q '^step 2/' told || [ $tries -ge 600 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
}
saved() { # the newest checkpoint of a folder is that of the last step that was told
  last=$(sed -n 's/^step \([0-9]*\).*/\1/p' told | tail -n 1)
  [ -f "$1/step-$(printf %06d "$last")/index.json" ]
}

# ---- nowhere to save: refused before the first step and by --check, which leave nothing; a folder that is not there yet serves ----
: >file
expect 1 "$here/file: Not a directory.*MT-F05" $run --checkpoint file --steps 1
expect 1 'MT-F05' $run --checkpoint file/run --steps 1 --check
[ ! -s out ] || fail "a run without a place to save began"
mkdir there
succeed $run --checkpoint there/new/run --check
[ -z "$(ls -A there)" ] || fail "--check left something"
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked
  chmod 500 locked
  expect 1 'MT-F05' $run --checkpoint locked/run --steps 1
  chmod 700 locked
fi
(
  ulimit -f 0
  exec "$train" $run --checkpoint there/run --steps 1 --check 2>&1
) | cat >err
grep -q 'MT-F06' err || fail "--check does not notice that no file can be written"

# ---- asked to leave: each way ends in its code, and the step that was under way is saved ----
for ask in INT:130 TERM:143 HUP:143 USR1:143; do
  start --checkpoint "asked-$ask"
  kill -"${ask%:*}" $child
  wait $child
  status=$?
  cp told out
  cp complaints err
  [ $status -eq "${ask#*:}" ] || fail "status $status after SIG${ask%:*}"
  saved "asked-$ask" || fail "SIG${ask%:*} lost a step"
done
# Nobody reads what is printed.
{ "$train" $run --steps 30 --checkpoint unread 2>err; echo $? >status; } | head -n 1 >out
[ "$(cat status)" -eq 0 ] && [ -d unread/step-000030 ] || fail "status $(cat status) when nobody reads"

# ---- the same run twice, a folder that is removed meanwhile, a run that is killed ----
succeed $run --checkpoint shared --steps 1
start --checkpoint shared --resume
expect 3 "shared is held by process $child on .*MT-R14" $run --checkpoint shared --steps 1
succeed $run --checkpoint another --steps 1
[ ! -e shared.old-1 ] || fail "a second run moved the folder of a living one"
rm -rf shared
kill -TERM $child
wait $child
status=$?
cp told out
cp complaints err
[ $status -eq 143 ] && saved shared || fail "status $status where the folder was removed meanwhile"
cp -r another killed
start --checkpoint killed --resume --save-every 1
kill -KILL $child
wait $child 2>/dev/null
: >killed/.tokenizer.json.tmp-1-1
succeed --data random --checkpoint killed --resume --check
succeed --data random --checkpoint killed --resume --no-report --threads 2 --steps 1
[ -z "$(find killed -name '.*.tmp-*')" ] || fail "what a killed run left half done is still there"

# ---- metrics that cannot be written, a report that cannot: told, and the run ends well and saved ----
start --checkpoint full --metrics full.jsonl
# The run makes a file anew that is gone when it writes.
until rm -f full.jsonl && mkdir full.jsonl 2>/dev/null; do :; done
sleep 1
kill -TERM $child
wait $child
status=$?
cp told out
cp complaints err
[ $status -eq 143 ] && saved full || fail "status $status where metrics cannot be written"
[ "$(grep -c 'full.jsonl cannot be written' err)" -eq 1 ] || fail "metrics that cannot be written are not told once"
"$programs/make_shapes" --output shapes --count 240 --format ppm --quiet || exit 1
mkdir -p report/index.html
succeed --data shapes --model quick --batch 8 --threads 2 --steps 1 --report report --checkpoint reported
grep -q 'no report: .*report/index.html.*MT-F05' err && [ -d reported/step-000001 ] || fail "a report that cannot be written is not told"

# ---- a picture that turns out to be damaged late: what is trained is saved and reported, and the run ends as refused ----
"$programs/make_shapes" --output late --count 240 --format ppm --quiet || exit 1
python3 - <<'END'
import tarfile
with tarfile.open("late/train-000.tar") as tar:
    at = [each for each in tar.getmembers() if each.name.endswith(".ppm")][100].offset_data
with open("late/train-000.tar", "r+b") as shard:
    shard.seek(at)
    shard.write(b"XX")
END
expect 3 'picture cannot be decoded.*MT-D05' --data late --strict --model quick --batch 8 --threads 2 --steps 60 --report late-report --checkpoint late-run
cp out told
saved late-run && [ -f late-report/index.html ] || fail "a data error lost steps or the report"

# ---- a run that rises: --check tells it, the best checkpoint stays, and other threads are told ----
ruin="--data shapes --checkpoint ruin --no-report"
succeed $ruin --model quick --batch 8 --threads 2 --steps 20 --save-every 10
succeed $ruin --resume --check
grep -q '^loss  ' out && grep -q '^all is well' out || fail "--check does not tell the loss"
succeed $ruin --resume --threads 1 --steps 30 --save-every 1 --lr 100 --warmup 0
grep -q 'the saved run had 2 threads, this one has 1' out || fail "another number of threads is not told"
[ "$(ls -d ruin/step-* | wc -l)" -eq 3 ] || fail "the best checkpoint is not kept beside the newest two"
timeout 100 "$train" $ruin --resume --check >out 2>err
[ $? -eq 3 ] || fail "--check passes a ruined checkpoint"
grep -q 'this checkpoint looks ruined; the best one kept is step' out || fail "--check does not tell a ruined checkpoint"

# ---- numbers beyond what is kept, threads that cannot be made, pipes named like shards ----
expect 2 '--threads wants at most 4096, got 2147483648.*MT-X03' --data random --threads 2147483648
expect 2 '--ranks wants at most 2147483647, got 4294967298.*MT-X03' --data random --plan data-2 --ranks 4294967298
expect 2 '--batch wants at most 2147483647, got 4611686018427387904.*MT-X03' --data random --batch 4611686018427387904
expect 2 '--batch wants a whole number, got "9223372036854775808".*MT-X03' --data random --batch 9223372036854775808
(
  ulimit -v 16000000
  "$train" --data random --model quick --batch 8 --threads 4096 --no-report --steps 1 >out 2>err
  echo $? >status
)
grep -q 'wanted 4096, got [0-9]* .*MT-B22' err && [ "$(cat status)" -eq 1 ] || fail "status $(cat status) where threads cannot be made"
mkdir pipes
mkfifo pipes/train-000.tar pipes/tokenizer.json
expect 3 'pipes/.*MT-' --data pipes
rm shapes/train-000.tar
mkfifo shapes/train-000.tar
expect 3 'shapes/train-000.tar (not a regular file).*MT-D01' --data shapes

# ---- exit codes: one table, printed by --help, and one of each besides those above ----
succeed --help
for code in 0 1 2 3 4 130 138 143; do
  grep -q "^  $code  *[a-z]" out || fail "--help does not tell the exit code $code"
done
expect 2 MT-X01 --no-such-option
expect 3 MT-D01 --data nowhere
(
  ulimit -v 600000
  "$train" --data random --model tiny --batch 30000 --threads 1 --no-report --steps 1 >out 2>err
  echo $? >status
)
[ "$(cat status)" -eq 4 ] || fail "status $(cat status) without memory"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
