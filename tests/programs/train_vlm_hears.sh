#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A language model that sees and hears: from sounds in shards to what it says of one, on one rank, by plans, with producers and after a stop:
# train_vlm_hears.sh PROGRAMS SCRATCH
set -u

case " ${MOTET_MODELS:-} " in
  *" sense_quick "*) ;;
  *) exit 77 ;;
esac
. "$(dirname "$0")/begin/train_clip.sh"
train=$programs/train_vlm
"$programs/make_shapes" --output shapes --count 600 --task sounds --format ppm --quiet || exit 1
# Of most runs sounds alone are asked for, which are learned in seconds.
mkdir tones apart
for part in train test; do
  tar xf shapes/$part-000.tar -C apart --wildcards "$part-sound*" && (cd apart && tar cf ../tones/$part-000.tar $part-sound*) || exit 1
done
cp shapes/*.json tones
losses() { sed -n 's/.*"step": *\([0-9]*\), *"loss": *\([0-9.e-]*\),.*/\1 \2/p' "$1"; }
# near GOT WANTED: the same steps, with losses that are the same to rounding.
near() {
  losses "$2" >wanted.losses
  losses "$1" | paste -d ' ' - wanted.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR == 0 }' ||
    fail "$1 has other losses than $2: $(losses "$1" | paste -d ' ' - wanted.losses)"
}
run="--data tones --model sense-quick --batch 16 --threads 2 --seed 3 --lr 0.002"

# ---- it learns what it hears: one of twenty tones, where chance would name one in twenty ----
succeed $run --steps 80 --metrics told.jsonl --report report --checkpoint told --save-every 77
losses told.jsonl | awk 'NR == 1 { first = $2 } { last = $2 } END { exit !(NR == 80 && last < first / 10) }' || fail "the loss does not fall: $(losses told.jsonl | tail -n 1)"
tail -n 1 told.jsonl | sed -n 's/.*"sound_accuracy": *\([0-9.e-]*\).*/\1/p' | awk '{ right = $1 } END { exit !(NR == 1 && right >= 0.5) }' || fail "held-out sounds are not known: $(tail -n 1 told.jsonl)"
grep -q '^sound accuracy .* held-out sounds are called what they are' out || fail "sounds are not told: $(cat out)"
grep -q 'generate --checkpoint told --sound FILE' out || fail "a run does not say what may come next"
grep -q 'sound accuracy' report/index.html && grep -q 'plays' report/index.html || fail "the report does not tell of sounds"

# ---- stopped and gone on with ----
rm -r told/step-000080
succeed --data tones --checkpoint told --resume --no-report --metrics again.jsonl
losses told.jsonl | sed 1,77d >wanted
losses again.jsonl | cmp -s - wanted || fail "a run that was gone on with has other losses"

# ---- by plans, in parts, filled, and made by producers; nothing is held out here ----
mkdir bare && cp shapes/train-000.tar shapes/tokenizer.json bare
short="--data bare --model sense-quick --batch 8 --seed 3 --steps 3 --no-report"
succeed $short --threads 2 --metrics one.jsonl
cat >uneven.json <<'END'
{"cluster": {"ranks": 3}, "schedule": "1f1b", "modules": {
  "eye": {"ranks": [0, 1], "degrees": {"data": 2}, "microbatches": 2, "group": 1}, "glue": {"ranks": [0], "microbatches": 2, "group": 1},
  "ear": {"ranks": [2], "microbatches": 2, "group": 1}, "tune": {"ranks": [0], "microbatches": 2, "group": 1},
  "talk": {"ranks": [1, 2], "degrees": {"tensor": 2}, "microbatches": 2, "group": 1}}}
END
for how in '--accumulate 2' '--plan hears-data-2' '--plan hears-apart --reorder slots' '--plan hears-filled' '--plan uneven.json'; do
  succeed $short --threads 1 --metrics other.jsonl $how
  near other.jsonl one.jsonl
done
succeed $short --threads 2 --metrics other.jsonl --producers 2
losses other.jsonl | cmp -s - wanted.losses || fail "producers make other steps: $(losses other.jsonl)"
succeed $short --threads 2 --rows 400 --metrics filled.jsonl
succeed $short --threads 1 --rows 400 --metrics other.jsonl --plan hears-apart
near other.jsonl filled.jsonl

# ---- it says what it hears, and sees ----
tar xf shapes/test-000.tar test-sound0000007.0.wav test-both0000003.0.ppm test-both0000003.1.wav || fail "no held-out sound"
speak() { timeout 100 "$programs/generate" --checkpoint told --quiet "$@" 2>err; }
speak --sound test-sound0000007.0.wav >words || fail "generate --sound"
grep -q '[a-z]' words || fail "generate says nothing"
speak --sound test-sound0000007.0.wav --threads 1 | cmp -s - words || fail "one thread says something else"
grep -q "$(cat words)" report/index.html || fail "the report and generate say different things: $(cat words)"
timeout 100 "$programs/generate" --checkpoint told --picture test-both0000003.0.ppm --sound test-both0000003.1.wav >both 2>err && grep -q '[a-z]' both || fail "generate of both"
grep -q 'tokens behind 97 rows' err || fail "a picture, a sound and a begin are not 64, 32 and 1 rows: $(cat err)"
speak --picture test-both0000003.0.ppm | grep -q '[a-z]' || fail "generate of a picture alone"
# Pictures have any shape: 96 x 32 pixels are 12 x 4 patches.
{ printf 'P6\n96 32\n255\n' && head -c 9216 /dev/zero | tr '\0' 'z'; } >wide.ppm
timeout 100 "$programs/generate" --checkpoint told --picture wide.ppm --sound test-both0000003.1.wav >both 2>err && grep -q '[a-z]' both || fail "generate of a wide picture"
grep -q 'tokens behind 81 rows' err || fail "a wide picture, a sound and a begin are not 48, 32 and 1 rows: $(cat err)"
{ printf 'P6\n3000 2\n255\n' && head -c 18000 /dev/zero; } >strip.ppm
speak --picture strip.ppm && fail "a strip is seen"
grep -q 'strip.ppm has 3000 x 2 pixels, one side more than 64 times the other.*MT-D26' err || fail "a strip: $(cat err)"
speak --prompt "a flute" --most 3 >words || fail "generate of text alone"
speak --sound test-sound0000007.0.wav --timestamps && fail "a model without times tells them"
grep -q 'model "sense-quick.*tells no times, as its tokenizer has no <|notimestamps|>' err || fail "no times: $(cat err)"
speak --timestamps && fail "times of no sound"
grep -q -- '--timestamps needs --sound' err || fail "times of no sound: $(cat err)"
speak --sound test-both0000003.0.ppm && fail "a picture is heard"
grep -q 'MT-D21.*test-both0000003.0.ppm' err || fail "generate does not say that it is no sound: $(cat err)"

# ---- conversations with sounds beside, and what is damaged in them ----
mkdir talk
cp test-sound0000007.0.wav talk/a.wav && head -c 3000 talk/a.wav >talk/cut.wav && printf 'not a sound' >talk/none.flac
turn() { printf '{"id":"%s","audio":"%s","conversations":[{"from":"human","value":"<audio>what is it?"},{"from":"gpt","value":"a tone"}]}\n' "$@"; }
{ head -c 24 talk/a.wav && printf '\100\037\0\0' && tail -c +29 talk/a.wav; } >talk/slow.wav # 8,000 numbers a second
{ turn c1 a.wav && turn c2 a.wav && turn c3 slow.wav; } >talk/train.jsonl
{ turn cut cut.wav && turn none none.flac && turn lost b.wav; } >>talk/train.jsonl
succeed --data talk --model sense-quick --batch 3 --threads 2 --steps 3 --no-report
grep -q '4 samples with 0 pictures and 4 sounds in talk' out || fail "conversations: $(cat out)"
cat out err | grep -q '1 samples without sound (talk/train.jsonl: lost ' || fail "a sound that is not there is not named: $(cat out)"
cat out err | grep -q '2 damaged sounds (talk/train.jsonl: none (.*begins like neither WAV nor FLAC.*talk/train.jsonl: cut (.*it ends after' || fail "damaged sounds are not named: $(cat out)"
cat out err | grep -q 'resampled: 1 samples with sounds of another rate (talk/train.jsonl: c3 (8000 to 16000 numbers a second))' || fail "a sound of another rate is not told: $(cat out)"
expect 3 MT-D --data talk --model sense-quick --batch 3 --check --strict

# ---- pictures of unlike shapes, by plans and by producers; a strip is left out and named ----
mkdir shapes-of && cp wide.ppm strip.ppm test-both0000003.0.ppm shapes-of
picture() { printf '{"id":"%s","image":"%s","conversations":[{"from":"human","value":"<image>what is it?"},{"from":"gpt","value":"%s"}]}\n' "$@"; }
for i in 1 2 3 4; do picture "w$i" wide.ppm grey && picture "s$i" test-both0000003.0.ppm shape; done >shapes-of/train.jsonl
picture strip strip.ppm strip >>shapes-of/train.jsonl
short="--data shapes-of --model sense-quick --batch 6 --seed 3 --steps 3 --no-report"
succeed $short --threads 2 --metrics one.jsonl
cat out err | grep -q 'strip (it has a picture of 3000 x 2 pixels, one side more than 64 times the other' || fail "a strip is not named: $(cat out err)"
losses one.jsonl >wanted.losses
succeed $short --threads 2 --metrics other.jsonl --producers 2
losses other.jsonl | cmp -s - wanted.losses || fail "producers make other steps of shapes: $(losses other.jsonl)"
succeed $short --threads 1 --metrics other.jsonl --plan hears-data-2
near other.jsonl one.jsonl

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
