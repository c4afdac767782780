# SPDX-License-Identifier: Apache-2.0
# Where a run cannot save, or where somebody else does.

attack "a place that cannot be written is refused before the first step, and by --check"
: >file
try
expect 1 "$here/places/file: Not a directory.*MT-F05" $run --checkpoint file --steps 1
try
expect 1 'MT-F05' $run --checkpoint file/run --steps 1 --check
[ ! -s out ] || fail "a run without a place to save began"
mkdir there
try
succeed $run --checkpoint there/new/run --check
[ -z "$(ls -A there)" ] || fail "--check left something"
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked
  chmod 500 locked
  try
  expect 1 'MT-F05' $run --checkpoint locked/run --steps 1
  chmod 700 locked
fi
try
(
  ulimit -f 0
  exec "$train" $run --checkpoint there/run --steps 1 --check 2>&1
) | cat >err
grep -q 'MT-F06' err || fail "--check does not notice that no file can be written"

attack "a disk that is full in the midst of a checkpoint: the run ends and says so, what was whole stays whole"
succeed $run --checkpoint sound --steps 2
size=$(du -k sound/step-000002/*.safetensors | sort -n | tail -n 1 | cut -f 1)
for n in $(often 1); do
  try
  rm -rf full
  cp -r sound full
  (
    # In blocks of 512 bytes; what is written before the first step fits.
    ulimit -f $((64 + $(random $((2 * size - 64)))))
    timeout 100 "$train" $run --checkpoint full --resume --steps 6 --save-every 1 >out 2>err
    echo $? >status
  )
  [ "$(cat status)" -eq 1 ] && grep -q 'MT-F0[56]' err || fail "status $(cat status) with a full disk"
  succeed --data random --checkpoint full --resume --check
  grep -q '^checkpoint  .*step-000002, step 2$' out || fail "another checkpoint than the last whole one counts"
done

attack "a second run on the folder of a living one is refused, and moves nothing"
succeed $run --checkpoint shared --steps 1
start --checkpoint shared --resume
for n in $(often 1); do
  try
  expect 3 "shared is held by process $child on .*MT-R14" $run --checkpoint shared --steps 1
done
succeed $run --checkpoint another --steps 1
[ ! -e shared.old-1 ] || fail "a second run moved the folder of a living one"

attack "a folder that is removed while its run lives is made again"
for n in $(often 1); do
  try
  [ $n -eq 1 ] || start --checkpoint shared --save-every 1
  wait_up_to 100
  until rm -rf shared 2>/dev/null; do :; done
  kill -TERM "$child"
  end
  [ "$status" -eq 143 ] && saved shared || fail "status $status where the folder was removed meanwhile"
done
