#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A picture is seen, words are read, and another picture is drawn: what learns so, on one rank and by a plan, goes on where it was, and paints:
# train_vlm_draws.sh PROGRAMS SCRATCH
set -u

case " ${MOTET_MODELS:-} " in
  *" draw_quick "*) ;;
  *) exit 77 ;;
esac
. "$(dirname "$0")/begin/train_clip.sh"
train=$programs/train_vlm
run="--data shapes --model draw-quick --batch 8 --threads 2 --seed 3 --lr 0.002"
"$programs/make_shapes" --output shapes --count 240 --task captions --format ppm --quiet || exit 1
losses() { sed -n 's/.*"step": *\([0-9]*\), *"loss": *\([0-9.e-]*\),.*/\1 \2/p' "$1"; }

# ---- it learns, and is told by what it draws ----
succeed $run --steps 30 --metrics told.jsonl --report report --checkpoint told --save-every 15
losses told.jsonl >told.losses
awk 'NR <= 5 { first += $2 } NR > 25 { last += $2 } END { exit !(NR == 30 && last < 0.8 * first) }' told.losses || fail "the loss does not fall: $(cat told.losses)"
tail -n 1 told.jsonl | grep -q '"final": *true.*"drawn_nearer": *0' || fail "no measured number at the end"
grep -q '"validation_loss"' told.jsonl || fail "no loss of held-out samples"
grep -q 'drawings .* nearer to the colour of their own picture' out || fail "drawings are not told"
# Words alone ask for no picture: they are left out, by name.
grep -q 'samples without picture (.*words.*it has 0, the model wants 1' out || fail "samples without a picture are not named"
grep -q 'draw --checkpoint told --prompt' out && ! grep -q 'generate --checkpoint' out || fail "a run does not say what may come next"
grep -q 'and what is drawn for them' report/index.html && [ "$(grep -o 'class="shot"' report/index.html | wc -l)" -gt 10 ] || fail "the report has no drawings"

# ---- stopped and gone on with, the same numbers; by a plan, and with pictures as bytes, within rounding ----
rm -r told/step-000030
succeed --data shapes --checkpoint told --resume --no-report --metrics again.jsonl
losses again.jsonl >again.losses
sed 1,15d told.losses | cmp -s - again.losses || fail "a run that was gone on with has other losses"
near() { losses "$1" | paste -d ' ' - told.losses | awk 'NF == 4 { d = $2 - $4; if (d < 0) d = -d; if ($1 != $3 || d > 1e-4 * $4) bad = 1; ++n } END { exit bad || n != 3 }'; }
# Nothing is held out here, so nothing is painted.
mkdir bare && cp shapes/train-000.tar shapes/tokenizer.json bare
short="--data bare --model draw-quick --batch 8 --threads 2 --seed 3 --lr 0.002 --warmup 3 --steps 3 --no-report"
succeed $short --metrics one.jsonl
losses one.jsonl >told.losses
[ "$(wc -l <told.losses)" -eq 3 ] || fail "not three steps"
for how in "--pictures bytes" "--accumulate 2" "--plan draws-data-2" "--plan draws-data-2 --reorder all" "--plan draws-apart" "--plan draws-filled"; do
  succeed $short --metrics other.jsonl $how
  near other.jsonl || fail "with $how there are other losses: $(losses other.jsonl | paste -d ' ' - told.losses)"
done

# ---- it paints ----
paint() { timeout 100 "$programs/draw" --checkpoint told --paint-steps 3 --threads 2 "$@"; }
tar xf shapes/test-000.tar test0000003.ppm || fail "no held-out picture"
paint --prompt "a red circle" --output one.ppm >out 2>err || fail "draw"
grep -q 'painted 1 pictures of "a red circle" in one.ppm' out || fail "draw does not say what it did"
[ "$(head -c 12 one.ppm | tr '\n' ' ')" = "P6 32 32 255" ] || fail "the painting begins with $(head -c 12 one.ppm)"
paint --prompt "a red circle" --output two.ppm >out 2>err
cmp -s one.ppm two.ppm || fail "one seed paints two pictures"
paint --prompt "a red circle" --output two.ppm --threads 1 >out 2>err
cmp -s one.ppm two.ppm || fail "one thread paints another picture"
for how in "--seed 2" "--picture test0000003.ppm" "--guidance 1"; do
  paint --prompt "a red circle" --output two.ppm $how >out 2>err || fail "draw $how"
  cmp -s one.ppm two.ppm && fail "draw $how changes nothing"
done
paint --prompt "a blue ring" --output two.ppm >out 2>err
cmp -s one.ppm two.ppm && fail "other words paint the same picture"
paint --prompt "a red circle" --count 3 --output three.ppm >out 2>err
[ "$(head -c 13 three.ppm | tr '\n' ' ')" = "P6 104 32 255" ] || fail "three pictures begin with $(head -c 13 three.ppm)"

# ---- what is refused ----
refused() {
  wanted=$1 text=$2
  shift 2
  timeout 100 "$programs/draw" "$@" >out 2>err
  got=$?
  [ $got -eq "$wanted" ] && grep -q -e "$text" err || fail "draw $*: exit $got"
}
refused 2 'prompt, which says what' --checkpoint told
refused 2 'too long: with what is seen it has .* rows, model "draw-quick/denoise" has room for 48' --checkpoint told --prompt "$(printf 'a red circle and %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)"
refused 2 '2 pictures, model "draw-quick/denoise" sees 1' --checkpoint told --prompt a --picture test0000003.ppm --picture test0000003.ppm
refused 2 'steps with --checkpoint' --checkpoint told --prompt a --steps 3
refused 2 'prompt without --checkpoint' --prompt a
refused 3 MT-R50 --checkpoint nowhere --prompt a
timeout 100 "$programs/generate" --checkpoint told --prompt a >out 2>err
[ $? -eq 2 ] && grep -q 'has model "draw-quick/denoise"; this program' err || fail "generate speaks by a model that draws"
expect 3 'draw: the plan places eye, glue, talk' $run --steps 1 --plan data-2
expect 2 'draws a picture of each sample' $run --rows 500 --steps 1
printf 'one line\nand another\n' >plain.txt
expect 3 MT-D25 --data plain.txt --model draw-quick --batch 2 --steps 1

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
