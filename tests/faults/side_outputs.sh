# SPDX-License-Identifier: Apache-2.0
# What ends no run: metrics and reports. What does, and saves first: data that turn out to be damaged.

attack "metrics that cannot be written are told once, and the run ends well and saved"
try
start --checkpoint full --metrics full.jsonl
# The run makes a file anew that is gone when it writes.
until rm -f full.jsonl && mkdir full.jsonl 2>/dev/null; do :; done
sleep 1
kill -TERM "$child"
end
[ "$status" -eq 143 ] && saved full || fail "status $status where metrics cannot be written"
[ "$(grep -c 'full.jsonl cannot be written' err)" -eq 1 ] || fail "metrics that cannot be written are not told once"

attack "a report that cannot be written is told"
try
draw_shapes shapes
mkdir -p report/index.html
succeed --data shapes --model quick --batch 8 --threads 2 --steps 1 --report report --checkpoint reported
grep -q 'no report: .*report/index.html.*MT-F05' err && [ -d reported/step-000001 ] || fail "a report that cannot be written is not told"

attack "a picture that turns out to be damaged late: what is trained is saved and reported, and the run ends as refused"
for n in $(often 1); do
  try
  rm -rf late late-run late-report
  draw_shapes late
  python3 - $((100 + $(random 90))) <<'END'
import sys
import tarfile
with tarfile.open("late/train-000.tar") as tar:
    at = [each for each in tar.getmembers() if each.name.endswith(".ppm")][int(sys.argv[1])].offset_data
with open("late/train-000.tar", "r+b") as shard:
    shard.seek(at)
    shard.write(b"XX")
END
  timeout 100 "$train" --data late --strict --model quick --batch 8 --threads 2 --seed "$n" --steps 60 --report late-report --checkpoint late-run >out 2>err
  status=$?
  [ $status -eq 3 ] && grep -q 'picture cannot be decoded.*MT-D05' err || fail "status $status with a picture that is damaged"
  cp out told
  # In its first batch there is nothing to save.
  [ -z "$(last_step)" ] || { saved late-run && [ -f late-report/index.html ]; } || fail "a data error lost steps or the report"
done
