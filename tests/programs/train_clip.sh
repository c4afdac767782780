#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What train_clip says about bad input, and what it leaves behind: train_clip.sh PROGRAMS SCRATCH
set -u

. "$(dirname "$0")/begin/train_clip.sh"
run="--model quick --batch 8 --threads 2 --no-report"

"$programs/make_shapes" --output shapes --count 240 --format ppm --quiet || exit 1
"$programs/make_shapes" --output others --count 140 --format ppm --seed 5 --quiet || exit 1

# ---- the command line: status 2 ----
expect 2 'MT-X01.*' --dta shapes
expect 2 'did you mean --data' --dta shapes
expect 2 MT-X02 --data
expect 2 MT-X02 --data --steps 3
expect 2 MT-X03 --data shapes --steps many
expect 2 MT-X03 --data shapes --batch 0
expect 2 MT-X03 --data shapes --lr nan
expect 2 'tiny|small' --data shapes --model huge
case " ${MOTET_MODELS:-small} " in
  *" small "*) ;;
  *) expect 2 'compiled without this model; configure with -DMOTET_MODELS=small' --data random --model small --steps 1 ;;
esac
expect 2 MT-X03 --data shapes --batch 4 --accumulate 8
expect 2 '--precision fp8 with --device cpu: GPUs from sm_89.*MT-X03' --data random --precision fp8
expect 2 MT-X04 --steps 3
expect 2 MT-X04 --data shapes --resume
expect 2 MT-X05 shapes
expect 2 'cpu|cuda' --data shapes --device gpu
expect 2 'floats|bytes' --data shapes --pictures ints
export MOTET_KERNELS=sse4
expect 1 "which is no kernel's name; .* has portable.*MT-B20" --data random --model quick --batch 8 --steps 1 --no-report
unset MOTET_KERNELS
succeed --help
grep -q -e '--accumulate N' out || fail "--help lacks an option"

# ---- data ----
expect 3 MT-D01 --data nowhere
: >plain
expect 3 MT-D01 --data plain/below
mkdir empty
expect 3 MT-D02 --data empty
mkdir hollow
cp shapes/tokenizer.json hollow/
dd if=/dev/zero of=hollow/train-000.tar bs=1024 count=1 2>/dev/null
expect 3 MT-D10 --data hollow
mkdir wordless
cp shapes/train-000.tar wordless/
expect 3 tokenizer.json --data wordless
expect 3 MT-D11 --data shapes --batch 1000
if [ "$(id -u)" -ne 0 ]; then
  cp -r shapes locked
  chmod 000 locked
  expect 3 MT-D01 --data locked
  chmod 700 locked
fi
expect 3 MT-D03 --data 'shapes/train-{000..'
expect 3 '"shapes/train-{000..003}.tar": 1 of 4 is there, shapes/train-001.tar is not.*MT-D28' --data 'shapes/train-{000..003}.tar'

# ---- a run, and going on with it ----
MOTET_PEAK= succeed $run --data shapes --steps 4 --checkpoint run --save-every 2 --metrics metrics.jsonl
grep -q '^peak of MFU: [1-9][0-9.]* GFLOP/s, the best fp32 product (1024 x 768 x 3072) here, measured now$' out || fail "no peak is measured: $(cat out)"
tail -n 1 metrics.jsonl | grep -q '"zero_shot_accuracy"' || fail "the last line of the metrics has no zero_shot_accuracy"
tail -n 1 metrics.jsonl | grep -q '"caption_within_1".*"picture_within_10"' || fail "the last line of the metrics has no captions found"
[ -f run/step-000004/model.safetensors ] && [ -f run/step-000002/model.safetensors ] || fail "checkpoints are missing"
learns="--schedule constant --warmup 0 --optimizer lion --ema 0.9 --layer-rate 0.9 --rates caption=0.5:decay=0.01:delay=1:schedule=linear"
MOTET_PEAK=50 succeed $run --data shapes --steps 2 --checkpoint half $learns
grep -q '^peak of MFU: 50.0 GFLOP/s, as MOTET_PEAK tells$' out || fail "the peak is not the one that was told: $(cat out)"
succeed --data shapes --steps 4 --checkpoint half --resume --no-report --threads 2
succeed $run --data shapes --steps 4 --checkpoint straight $learns
for file in model optimizer; do
  cmp half/step-000004/$file.safetensors straight/step-000004/$file.safetensors >out 2>err || fail "a resumed run differs from a straight one in $file"
done
expect 3 'made by lion, and this run moves weights by adamw.*MT-R56' --data shapes --checkpoint half --resume --optimizer adamw
succeed $run --data shapes --explain $learns
grep -q '^producers [1-9][0-9]* keeps* up with the steps (--producers [1-9].* by forecast$' out || fail "--explain does not tell how many producers keep up"
grep -q 'optimizer lion' out && grep -q 'averages  of the weights, decay 0.9' out || fail "--explain does not tell how weights are moved"
grep -q 'caption *0.5 of the learning rate, weight decay 0.01, a schedule of its own: 1 steps of delay' out || fail "--explain does not tell a module's pace"
expect 2 'MODULE=SHARE.*MT-X03' --data random --rates caption=0.5:hurry=1
succeed $run --data shapes --steps 2 --checkpoint half
[ -f half.old-1/step-000004/index.json ] || fail "an earlier run was not kept"
succeed --data shapes --checkpoint run --resume --check
grep -q 'step 4' out || fail "--check does not name the step"

# ---- pictures as bytes, resized by what trains: the losses of the run before, within rounding ----
losses() {
  sed -n 's/.*"loss": *\([-+.0-9eE]*\).*/\1/p' "$1"
}
succeed $run --data shapes --steps 4 --pictures bytes --metrics bytes.jsonl
grep -q 'pictures as bytes' out || fail "nothing says that pictures come as bytes"
losses metrics.jsonl >floats.txt
losses bytes.jsonl >bytes.txt
paste floats.txt bytes.txt | awk '{ n += 1; d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4 * $1) exit 1 } END { if (n != 4) exit 1 }' ||
  fail "from bytes the losses are others"
expect 2 '--data random.*MT-X03' --data random --pictures bytes

# ---- blocks made again in backward: the same losses, from less memory ----
kept() {
  succeed --data random --model quick --batch 64 --threads 2 --explain "$@"
  awk '$1 == "kept" { print $2 }' out
}
whole=$(kept)
[ "$(kept --recompute)" -lt $((whole / 2)) ] || fail "--recompute keeps more than half of $whole bytes"
succeed $run --data shapes --steps 4 --recompute --rooms-by-rows --metrics again.jsonl
losses again.jsonl | cmp -s - floats.txt || fail "with --recompute and --rooms-by-rows the losses are others"
[ "$(kept --keep-outputs)" -gt $((whole + whole / 4)) ] || fail "--keep-outputs keeps no quarter more than $whole bytes"

# ---- features of files by a checkpoint: in the order of their names, whatever the batch; what is torn is named ----
mkdir -p files/below
tar xf shapes/train-000.tar -C files train0000000.ppm train0000001.ppm train0000002.ppm
mv files/train0000000.ppm files/below/z.ppm
head -c 500 files/train0000001.ppm >files/torn.jpg
"$programs/embed" --checkpoint run --images files --output three.safetensors --batch 2 >out 2>err || fail "embed"
grep -q '3 features of width 128 by step 4 of quick/infonce; 1 file skipped' out || fail "embed does not say what it made"
grep -q 'skipped: .*files/torn.jpg' err || fail "embed does not name a torn picture"
head -c 2000 three.safetensors | grep -a -q 'below/z.ppm.*train0000001.ppm.*train0000002.ppm' || fail "the names of pictures are not kept in order"
"$programs/embed" --checkpoint run/step-000004 --images files --output again.safetensors --batch 1 --threads 1 >out 2>err || fail "embed, one by one"
cmp three.safetensors again.safetensors >out 2>err || fail "features depend on the batch"
refuses() { # status, sentence, arguments
  status=$1 said=$2
  shift 2
  "$programs/embed" "$@" --output none.safetensors >out 2>err
  [ $? -eq "$status" ] && grep -q -e "$said" err || fail "embed $*"
}
# Texts are the lines of a file: a row each, the same whatever the batch, what ends the lines, and whether pictures come with them.
printf 'a red circle\nthere is a large green square\na red circle\n\n' >lines.txt
awk 'BEGIN { for (; n < 40; ++n) printf "a blue star and " }' >>lines.txt
sed 's/$/\r/' lines.txt >other.txt
"$programs/embed" --checkpoint run --texts lines.txt --output lines.safetensors --batch 2 >out 2>err || fail "embed of texts"
grep -q '5 features of width 128 by step 4 of quick/infonce; 1 text cut to 32 tokens' out || fail "embed does not say what it made of texts"
head -c 2000 lines.safetensors | grep -a -q 'texts.*a red circle.*a large green square.*a red circle' || fail "the texts are not kept in order"
"$programs/embed" --checkpoint run --images files --texts other.txt --tokenizer shapes/tokenizer.json --output all.safetensors --batch 5 --threads 1 >out 2>err ||
  fail "embed of both"
grep -q '8 features of width 128 .*; 1 file skipped; 1 text cut' out || fail "embed does not say what it made of both"
tail -c 2560 lines.safetensors >texts.rows
tail -c 2560 all.safetensors | cmp -s - texts.rows || fail "rows of texts depend on the batch, the pictures or what ends a line"
tail -c 4096 all.safetensors | head -c 1536 >pictures.rows
tail -c 1536 three.safetensors | cmp -s - pictures.rows || fail "rows of pictures depend on the texts"
row() { head -c $(($1 * 512)) texts.rows | tail -c 512 >"row.$1"; }
for k in 1 2 3 4 5; do row $k; done
cmp -s row.1 row.3 || fail "a text has two rows"
for pair in 1.2 1.4 1.5 2.4 2.5 4.5; do ! cmp -s "row.${pair%.*}" "row.${pair#*.}" || fail "two texts have one row: $pair"; done
refuses 2 MT-X30 --checkpoint run
printf 'whole\n\377\n' >torn.txt
refuses 3 'torn.txt, line 2.*MT-D17' --checkpoint run --texts torn.txt
: >empty.txt
refuses 3 'empty.txt: it has no lines.*MT-D10' --checkpoint run --texts empty.txt
refuses 2 'MT-X30' --checkpoint run --images files --tokenizer shapes/tokenizer.json
refuses 2 'goes together' --checkpoint run --images files --weights run
refuses 3 MT-R50 --checkpoint nowhere --images files
refuses 3 'no .png, .jpg' --checkpoint run --images run
[ ! -e none.safetensors ] || fail "embed left a file behind"
"$programs/embed" --help | grep -q '^  3 .*a checkpoint is refused' || fail "embed --help tells no exit codes"

# ---- checkpoints that do not serve ----
expect 3 MT-R50 --data shapes --checkpoint nowhere --resume
expect 3 MT-R53 --data shapes --checkpoint run --resume --model tiny
grep -q 'picture.blocks.0.mlp.up.weight' err && grep -q 'picture.blocks.2.attention.qkv.weight' err || fail "tensors that do not fit are not all named"
expect 3 MT-R53 --data shapes --checkpoint run --resume --loss sigmoid --check
grep -q 'join.bias' err || fail "the missing tensor is not named"
expect 3 MT-R04 --data others --checkpoint run --resume
expect 3 MT-R05 --data shapes --checkpoint run --resume --seed 77
damaged() {
  rm -rf damaged
  cp -r run damaged
}
damaged
sed 's/"version": 1/"version": 99/' run/step-000004/index.json >damaged/step-000004/index.json
expect 3 MT-R51 --data shapes --checkpoint damaged --resume
damaged
sed 's/"step": 4/"step": 5/' run/step-000004/index.json >damaged/step-000004/index.json
expect 3 MT-R52 --data shapes --checkpoint damaged --resume
damaged
head -c 100000 run/step-000004/model.safetensors >damaged/step-000004/model.safetensors
expect 3 MT-R52 --data shapes --checkpoint damaged --resume
damaged
printf 'zzzz' | dd of=damaged/step-000004/optimizer.safetensors bs=1 seek=200000 conv=notrunc 2>/dev/null
expect 3 'MT-R52' --data shapes --checkpoint damaged --resume
damaged
rm damaged/step-000004/optimizer.safetensors
expect 3 MT-R52 --data shapes --checkpoint damaged --resume
expect 3 MT-R52 --data shapes --checkpoint damaged --resume --check

# ---- a disk that is full while saving: said, and the last checkpoint stays whole ----
(
  ulimit -f 2000
  "$train" $run --data shapes --steps 6 --checkpoint run --resume >out 2>err
  echo $? >status
)
[ "$(cat status)" -eq 1 ] || fail "status $(cat status) when the disk is full"
grep -q 'MT-F06\|disk' err || fail "a full disk is not named"
succeed --data shapes --checkpoint run --resume --check
grep -q 'step 4' out || fail "the checkpoint before a full disk is lost"
[ -z "$(find run -name '.*tmp*')" ] || fail "a temporary file is left"

# ---- Ctrl-C in a step: it ends, is saved, and the run goes on exactly ----
"$train" $run --data shapes --steps 100000 --schedule constant --warmup 0 --checkpoint stopped >out 2>err &
child=$!
tries=0
until grep -q '^step 2/' out || [ $tries -ge 600 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -INT $child
wait $child
status=$?
[ $status -eq 130 ] || fail "status $status after Ctrl-C"
last=$(sed -n 's/^step \([0-9]*\).*/\1/p' out | tail -n 1)
[ -f "stopped/step-$(printf %06d "$last")/index.json" ] || fail "the interrupted step $last was not saved"
next=$((last + 2))
succeed --data shapes --checkpoint stopped --resume --steps $next --no-report --threads 2
succeed $run --data shapes --steps $next --schedule constant --warmup 0 --checkpoint whole
cmp "stopped/step-$(printf %06d $next)/model.safetensors" "whole/step-$(printf %06d $next)/model.safetensors" >out 2>err || fail "an interrupted run differs from a straight one"

# ---- a GPU: refused by a program that was compiled without CUDA, an error where there is none; neither leaves anything behind ----
"$train" $run --data shapes --steps 2 --device cuda --checkpoint gpu --metrics gpu.jsonl >out 2>err
status=$?
case $status in
0) [ -f gpu/step-000002/model.safetensors ] || fail "a run on a GPU saved nothing" ;;
1) grep -q MT-B11 err || fail "no MT-B11 without a GPU" ;;
2) grep -q 'MT-X03' err && grep -q 'compiled without CUDA' err || fail "a program without CUDA does not say so" ;;
*) fail "status $status from --device cuda" ;;
esac
if [ $status -ne 0 ]; then
  [ ! -e gpu ] && [ ! -e gpu.jsonl ] || fail "a refused run left something"
fi
if [ $status -lt 2 ]; then
  succeed --data random --model b16 --batch 64 --precision bf16 --device cuda --explain
  grep -q '^  inputs ' out && grep -q '^  total ' out || fail "--explain does not tell what a GPU's memory will hold"
  grep -q '^paths .*MT-B11' out || grep -q '^  picture: attention by ' out || fail "--explain does not tell which way attention goes, or why it cannot"
fi

# ---- what is told without training ----
succeed --data random --model tiny --explain
grep -q 'total *[0-9]* bytes' out && grep -q 'FLOPs of a step' out || fail "--explain lacks its numbers"
echo | "$train" --data random --model quick --batch 8 --paced >out 2>err || fail "--paced failed"
[ "$(head -n 1 out)" = ready ] && tail -n 1 out | grep -q '"peak_bytes"' || fail "--paced does not keep its protocol"

# ---- damaged data is skipped and counted, or refused ----
mkdir torn
cp shapes/tokenizer.json shapes/classes.json shapes/test-000.tar torn/
head -c 1000000 shapes/train-000.tar >torn/train-000.tar
succeed $run --data torn --steps 1
grep -q 'skipped: 1 damaged' out || fail "a torn shard is not counted"
expect 3 MT-D04 $run --data torn --steps 1 --strict

# ---- the report ----
succeed --model quick --batch 8 --data shapes --steps 2 --report report
grep -q '</html>' report/index.html && [ -f report/metrics.jsonl ] || fail "the report is not whole"
# A run's settings are a file, from which the same run comes again; the command line counts where both say something.
succeed --config report/config.json --report again --tensorboard events
ls events/events.out.tfevents.* >/dev/null || fail "no events"
[ "$(grep -o '"loss": [0-9.]*' report/metrics.jsonl)" = "$(grep -o '"loss": [0-9.]*' again/metrics.jsonl)" ] || fail "another run by its settings"
sed 's/"batch"/"bacth"/' report/config.json >misspelt.json
expect 2 "misspelt.json: --bacth; did you mean --batch" --config misspelt.json

# ---- what a run tells on the way, and what comes next ----
succeed --model quick --batch 8 --data shapes --steps 6 --threads 2 --report slow --validate-every 2 --checkpoint told --lr 0.01
grep -q '^6 steps of 8 samples, each about .* times; tests by .* held-out samples at the end; the loss of [0-9]* of them every 2 steps; saved in told at the end' out ||
  fail "a run does not say what it will do"
grep -q 'embed --checkpoint told --images' out && grep -q 'export_hf --checkpoint told' out || fail "a run does not say what may come next"
[ "$(grep -c '"validation_loss".*"logit_scale"' slow/metrics.jsonl)" -eq 3 ] || fail "not three losses of held-out samples"
awk 'BEGIN { RS = "," } /"mfu"/ { n += 1; sub(/.*: */, ""); if ($0 + 0 > 1) wrong = 1 } END { exit wrong || n != 6 }' slow/metrics.jsonl || fail "more than all of the peak"
head -n 1 slow/metrics.csv | grep -q '^step,loss,validation_loss,' && [ "$(grep -c '^6,' slow/metrics.csv)" -eq 3 ] || fail "the metrics with commas"
for text in 'held out' 'What similarities are multiplied by' 'Gradient norm' 'Memory, GB' '<td>motet</td><td>0\.' '<td>command</td><td>.*--validate-every 2'; do
  grep -q "$text" slow/index.html || fail "the report lacks $text"
done
"$programs/compare_runs" --run report --run slow --output compared.html >out 2>err || fail "compare_runs"
grep -q -e '^--lr  *report: 0.001; slow: 0.01$' out && grep -q '>slow, held out<' compared.html || fail "compare_runs does not tell what differs"
"$programs/compare_runs" --run report >out 2>err
[ $? -eq 2 ] || fail "compare_runs with one run"

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
