#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A language model that sees learns captions: any plan learns what one rank does, a run goes on where it was, and what is learned is told:
# train_vlm.sh PROGRAMS SCRATCH
set -u

. "$(dirname "$0")/begin/train_clip.sh"
train=$programs/train_vlm
run="--data few --model say-quick --batch 8 --threads 2 --seed 3"
"$programs/make_shapes" --output shapes --count 240 --task captions --format ppm --quiet || exit 1
# A model that has hardly learned says much, and each run ends by asking: of what most runs are tested by, there are few.
mkdir few held
tar xf shapes/test-000.tar -C held && cp shapes/*.json shapes/train-000.tar few || exit 1
(cd held && tar cf ../few/test-000.tar test-two0000000.* test-words0000000.* test0000000.*) || exit 1
losses() { sed -n 's/.*"step": *\([0-9]*\), *"loss": *\([0-9.e-]*\),.*/\1 \2/p' "$1"; }

# ---- one rank, and the same by plans ----
succeed $run --steps 6 --no-report --metrics one.jsonl
[ "$(losses one.jsonl | wc -l)" -eq 6 ] || fail "not one line for each step"
losses one.jsonl >one.losses
# Four steps have batches, updates and orders that differ from each other; their rates are not those of the first four of six.
succeed $run --steps 4 --no-report --metrics four.jsonl
losses four.jsonl >four.losses
for plan in data-2 zero-3 tensor-2 apart on-last pipeline-3 uneven grouped nested filled filled-tensor filled-lane multiplexed offloaded; do
  succeed $run --steps 4 --no-report --metrics "$plan.jsonl" --plan $plan
  losses "$plan.jsonl" | paste -d ' ' - four.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 4 }' ||
    fail "$plan has other losses than one rank"
done
succeed $run --steps 1 --no-report --metrics far.jsonl --plan offloaded --offload-to .
[ "$(losses far.jsonl)" = "$(losses offloaded.jsonl | head -1)" ] || fail "what waits in files comes back another"
expect 1 'bytes in nowhere: No such file or directory.*MT-R70' $run --steps 1 --plan offloaded --offload-to nowhere
succeed $run --steps 1 --plan offloaded --explain
grep -q '^offloaded rank 0 [0-9.]* MB, rank 1 [0-9.]* MB$' out || fail "--explain does not tell what waits elsewhere"
# In any order of its samples a step is the same step, also when it is filled to a number of rows.
ordered() {
  word=$1 listed=$2
  shift 2
  succeed $run --steps 4 --no-report --metrics ordered.jsonl --reorder $word "$@"
  grep -q "^order $word: samples .*go to " out && grep -q 'reordered: steps [0-9][0-9.]* times as fast as their samples came, by simulation with measured times; an order took' out || fail "$* --reorder $word does not tell"
  grep -q '"reorder_seconds"' ordered.jsonl || fail "$* --reorder $word writes nothing"
  losses ordered.jsonl >ordered.losses
  losses "$listed" | paste -d ' ' - ordered.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-5 * $4) bad = 1 } END { exit bad || NR != 4 }' ||
    fail "$* --reorder $word has other losses: $(losses "$listed" | paste -d ' ' - ordered.losses)"
}
for plan in data-2 uneven; do ordered all $plan.jsonl --plan $plan; done
ordered ranks data-2.jsonl --plan data-2 --reorder-groups 1
two='"degrees": {"data": 2}, "microbatches": 2, "group": 1'
echo '{"cluster": {"ranks": 4}, "schedule": "1f1b", "modules": {' >pairs.json
echo "\"eye\": {$two, \"ranks\": {\"first\": 0}}, \"glue\": {$two, \"ranks\": {\"first\": 0}}, \"talk\": {$two, \"ranks\": {\"first\": 2}}}}" >>pairs.json
succeed $run --steps 4 --no-report --metrics pairs.jsonl --plan pairs.json
ordered modules pairs.jsonl --plan pairs.json
ordered all pairs.jsonl --plan pairs.json --reorder-groups 1
expect 2 'replicas reach over all of these groups, so that all 4 ranks are one' $run --steps 1 --plan pairs.json --reorder all --reorder-groups 2
expect 2 'which gives no rank another sample' $run --steps 1 --plan pairs.json --reorder slots --reorder-groups 1
succeed $run --steps 1 --plan pairs.json --reorder all --reorder-groups 1 --explain
grep -q '^groups    2 of ranks, out of which no sample goes$' out || fail "--explain does not tell of the groups"
expect 2 'so no row can cross; take --reorder all' $run --steps 1 --plan data-2 --reorder modules
succeed $run --rows 500 --steps 4 --no-report --metrics filled.jsonl --plan apart
ordered all filled.jsonl --rows 500 --plan apart
# By whatever score, too.
ordered all apart.jsonl --plan apart --conduct
grep -q '^conduct 1f1b, .* take turns' out && grep -q '^conducted: 1f1b played [1-4] steps*, ' out && grep -q '"played"' ordered.jsonl || fail "--conduct does not tell"
succeed $run --steps 1 --plan apart --conduct --check
grep -q '^conduct   1f1b, .*zb_h1.* take turns' out && grep -q '^conduct   without zb_v: ' out || fail "--check does not tell which scores take turns"
succeed $run --steps 1 --plan data-2 --reorder ranks --explain
grep -q '^order     ranks: samples go to the ranks that have least to do$' out || fail "--explain does not tell of the order"
grep -q '^producers [1-9][0-9]* keeps* up with the steps (--producers [1-9].* by forecast$' out || fail "--explain of a plan does not tell how many producers keep up"
grep -q '^counted   the mean of the first [1-4] steps* of ' out || fail "--explain does not tell whose work it counts"
expect 2 'which --reorder all gives samples to' $run --steps 1 --reorder all
# Two lanes take from each other what was measured of them.
succeed $run --steps 1 --plan beside-lane --threads 1 --explain
grep -q '^lanes     ranks of 1 thread have 2 lanes: ' out || fail "--explain does not tell who shares processors"
echo '{"machine": "m", "activation_bytes": 4, "modules": [], "pairs": [{"first": "eye", "second": "talk", "samples": 8, "points": [{"share": 0.5, "threads": [1, 1], "slowdowns": [9, 9]}]}]}' >pair.json
succeed $run --steps 1 --plan beside-lane --explain --profile pair.json
echo '{"machine": "m", "activation_bytes": 4, "modules": [], "couples": []}' >couples.json
expect 3 'MT-P70' $run --steps 1 --plan beside-lane --explain --profile couples.json
if command -v mpirun >/dev/null 2>&1; then
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  one="-n 1 $train --data few --model say-quick --batch 8 --threads 1 --steps 3 --no-report --plan data-2 --reorder"
  timeout -k 5 100 mpirun $one all : $one all >out 2>err
  status=$?
  grep -q MT-R24 err || {
    [ $status -eq 0 ] && grep -q 'step 3/3.*  reordered ' out || fail "status $status of two processes in the same order"
    timeout -k 5 100 mpirun $one all : $one slots >out 2>err
    [ $? -eq 3 ] && grep -q 'setting reorder.*MT-R26' err || fail "processes with other orders are not refused"
    # Each asks a conductor of its own, and all play the same.
    one="-n 1 $train --data few --model say-quick --batch 8 --threads 1 --seed 3 --steps 6 --no-report --metrics spread.jsonl --plan apart --reorder all --conduct --conduct-margin 0"
    timeout -k 5 100 mpirun $one : $one >out 2>err
    [ $? -eq 0 ] && grep -q '^conducted: 1f1b played [1-6] steps*, .* by simulation with measured times' out || fail "two processes are not conducted: $(cat out err)"
    losses spread.jsonl | paste -d ' ' - one.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 6 }' ||
      fail "two processes that are conducted have other losses than one rank"
  }
fi

# ---- a step as its ranks ran it ----
# Each of two ranks has all of its instructions, at least so many, planned and run: is_trace FILE COUNT
is_trace() {
  for rank in 0 1; do
    for what in plan run; do grep -q "\"name\": \"$what, rank $rank" "$1" || return 1; done
    planned=$(grep -c "\"ph\": \"X\", \"pid\": $rank," "$1")
    [ "$planned" -ge "$2" ] && [ "$planned" -eq "$(grep -c "\"ph\": \"X\", \"pid\": $((rank + 2))," "$1")" ] || return 1
  done
}
succeed $run --steps 3 --no-report --plan apart --record drawn.svg
grep -q '^step 3 as it ran: drawn.svg' out && grep -q 'train_vlm, plan apart, step 3' drawn.svg || fail "no picture of a step: $(cat out)"
for rank in 0 1; do grep -q ">rank $rank" drawn.svg || fail "the picture of a step lacks rank $rank"; done
succeed $run --steps 3 --no-report --plan apart --record drawn.json --record-step 2
is_trace drawn.json 5 || fail "the trace of a step lacks something"
succeed $run --steps 1 --no-report --record alone.svg
grep -q ">rank 0" alone.svg || fail "no picture of one rank"
if command -v mpirun >/dev/null 2>&1; then
  one="-n 1 $train --data few --model say-quick --batch 8 --threads 1 --steps 2 --no-report --plan apart --record spread.json"
  timeout -k 5 100 mpirun $one : $one >out 2>err
  status=$?
  grep -q MT-R24 err || {
    [ $status -eq 0 ] && is_trace spread.json 5 || fail "status $status of two processes that record: $(cat err)"
    timeout -k 5 100 mpirun $one : $one --record-step 1 >out 2>err
    [ $? -eq 3 ] && grep -q 'setting record_step.*MT-R26' err || fail "processes that record other steps are not refused"
  }
fi
expect 2 'step.png wants a file that ends in .svg, or .json' $run --steps 1 --record step.png
expect 2 'record-step 2 of 1 steps' $run --steps 1 --record step.svg --record-step 2
expect 1 'nowhere/step.svg.*MT-F05' $run --steps 1 --record nowhere/step.svg
expect 1 'nowhere/step.svg.*MT-F05' $run --steps 1 --record nowhere/step.svg --check
[ ! -e step.svg ] || fail "a refused run recorded a step"

case " ${MOTET_MODELS:-} " in
  *" small "*) ;;
  *) expect 2 'compiled without this model; configure with -DMOTET_MODELS=small or' --data shapes --model say-small --batch 8 --steps 1 ;;
esac
succeed --list-plans
grep -q "^on-last " out || fail "--list-plans lacks on-last"
expect 3 "there are one, parts, remade" $run --steps 1 --plan 1f1b
expect 3 'talk: got 4 stages, wanted at most 2 for as many layers' $run --steps 1 --plan filled-interleaved

# ---- a plan that the run finds ----
found="$run --orchestrate laptop --ranks 2 --no-report"
succeed $found --steps 6 --metrics found.jsonl --checkpoint found --save-every 3
grep -q '^orchestrated for laptop: [1-9][0-9]* plans considered' out && grep -q '^chosen    .* ms a step by forecast: eye on rank' out && grep -q '^next best .* % more: ' out ||
  fail "a plan that is found is not told: $(cat out)"
# The same by hand, to the bit; and gone on with by the same plan, on a machine that is not asked again.
succeed $run --steps 6 --no-report --metrics same.jsonl --plan found/plan.json
losses found.jsonl >found.losses
losses same.jsonl | cmp -s - found.losses || fail "the plan that was found has other losses by hand"
losses one.jsonl | paste -d ' ' - found.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 6 }' ||
  fail "the plan that was found has other losses than one rank"
rm -r found/step-000006
succeed --data few --threads 2 --steps 6 --no-report --metrics gone.jsonl --checkpoint found --resume
grep -q '^plan      found/step-000003 has one: eye on rank' out && ! grep -q '^orchestrated' out || fail "a resume looks for a plan again: $(cat out)"
losses gone.jsonl >gone.losses
sed -n 4,6p found.losses | cmp -s - gone.losses || fail "a run that was gone on with by its plan has other losses"
for tells in --check --explain; do
  rm -rf untouched
  succeed $found --steps 1 --checkpoint untouched $tells
  grep -q '^chosen    ' out && [ ! -e untouched ] || fail "$tells does not tell of the plan, or does more"
done
expect 2 '--plan data-2 with --orchestrate laptop' $found --steps 1 --plan data-2
expect 3 'laptip.*did you mean laptop.*MT-P75' $run --steps 1 --orchestrate laptip --ranks 2
expect 3 'ranks 9, and laptop has 8 devices.*MT-P93' $run --steps 1 --orchestrate laptop --ranks 9
echo '{"like": "laptop", "device": {"memory_bytes": 2000000}}' >tight.json
expect 3 'bytes short of 2000000 on each of 2 ranks of tight.json.*MT-P85' $run --steps 1 --orchestrate tight.json --ranks 2
# By measured times: blocks of the eye take long. Towers of another model are refused.
measured() { # layers of talk, and what a block of the eye takes, and one of talk
  echo '{"machine": "a test", "activation_bytes": 4, "modules": [
    {"tower": {"name": "eye", "layers": 4, "width": 128, "heads": 4, "tokens": 65},
     "points": [{"samples": 8, "before": [0, 0, 0], "block": ['"${2:-4e-1}, ${2:-4e-1}, ${2:-4e-1}"'], "behind": [0, 0, 0]}]},
    {"tower": {"name": "talk", "layers": '"$1"', "width": 128, "heads": 4, "hidden": 384, "tokens": 160, "vocabulary": 1024},
     "points": [{"samples": 8, "before": [0, 0, 0], "block": ['"${3:-1e-3}, ${3:-1e-3}, ${3:-1e-3}"'], "behind": [0, 0, 0]}]}]}'
}
measured 2 >measured.json
measured 3 >other.json
succeed $found --steps 1 --explain --profile measured.json
grep -q '^measured  eye, talk by measured.json; what is not takes what its FLOPs tell$' out || fail "measured times are not told: $(cat out)"
awk '/^chosen/ { found = $2 > 100 } END { exit !found }' out || fail "a slow eye is not in the forecast: $(cat out)"
expect 3 'talk of other.json has layers 3, and the module that is trained has 2.*MT-P95' $found --steps 1 --profile other.json

# Blocks that take as long as each other want the eye in tensor parts, beside talk on a rank of its own.
measured 2 1e-1 1e-1 >alike.json
succeed $run --orchestrate laptop --ranks 3 --profile alike.json --steps 4 --no-report --metrics alike.jsonl
grep -q '^chosen .*: eye on ranks 0-1 (stages 1 x data 1 x tensor 2), .*; talk on rank 2, ' out || fail "other ranks are chosen for blocks that are alike: $(cat out)"
losses alike.jsonl | paste -d ' ' - four.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 4 }' ||
  fail "a plan of three ranks that was found has other losses than one rank"

# ---- stopped and gone on with: the same numbers ----
succeed $run --steps 6 --no-report --metrics half.jsonl --checkpoint half --save-every 3 --line-every 3
rm -r half/step-000006
succeed $run --steps 6 --no-report --metrics again.jsonl --checkpoint half --resume
losses one.jsonl | sed 1,3d >wanted
losses again.jsonl | cmp -s - wanted || fail "a run that was gone on with has other losses"
succeed --data few --checkpoint half --resume --check
grep -q '^all is well' out || fail "--check"
succeed $run --explain --steps 1
grep -q 'say-quick, loss next_token' out || fail "--explain"
grep -q '^data      224 samples with 236 pictures in few$' out || fail "--explain does not tell of samples"

# ---- in phases, each with its own plan: the glue alone, then all; and weights of another run ----
case " ${MOTET_MODELS:-} " in
  *" quick_glue "*)
    echo '[{"name": "glue", "model": "say-quick-glue", "steps": 4, "plan": "apart"},
           {"name": "all", "steps": 3, "lr": 0.0005, "plan": "data-2"}]' >phases.json
    phased="$run --phases phases.json --checkpoint phased --no-report --metrics phased.jsonl"
    succeed $phased --check
    succeed $phased
    grep -q '^phase 1 of 2, glue: say-quick-glue, 4 steps$' out && grep -q '^phase 2 of 2, all: say-quick, 3 steps$' out || fail "phases are not told"
    grep -q '^begins with eye, glue, talk of phased/glue/step-000004, step 4$' out || fail "a phase does not tell what it begins with"
    [ "$(losses phased-glue.jsonl | wc -l)" -eq 4 ] || fail "not four steps of the first phase"
    # By hand it is the same, on other ranks within rounding.
    losses phased-all.jsonl >phased.losses
    succeed $run --steps 3 --lr 0.0005 --begin phased/glue --no-report --metrics begun.jsonl
    losses begun.jsonl | paste -d ' ' - phased.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 3 }' ||
      fail "a phase has other losses than the same run by hand"
    # The eye and the words are as they were drawn: with a glue that is drawn, too, all is as without other weights.
    succeed $run --steps 1 --begin eye=phased/glue,talk=phased/glue --no-report --metrics kept.jsonl
    losses kept.jsonl >kept.losses
    head -n 1 one.losses | cmp -s - kept.losses || fail "what did not learn has changed: $(cat kept.losses), $(head -n 1 one.losses)"
    # What is done stays; what was stopped goes on.
    rm -r phased/all
    succeed $phased --resume
    grep -q '^is done, in phased/glue/step-000004$' out || fail "a phase that is done runs again"
    losses phased-all.jsonl | cmp -s - phased.losses || fail "a phase begun again has other losses"
    succeed $phased --phase all
    expect 2 '--phase glu; there are glue, all; did you mean glue' $phased --phase glu
    expect 2 'phases, of which --phase all is one' $run --phase all --steps 1
    expect 3 'module eyes, and the model has' $run --steps 1 --begin eyes=phased/glue
    ;;
esac

# ---- adapters beside a language model that rests ----
case " ${MOTET_MODELS:-} " in
  *" quick_adapted "*)
    adapting="--data few --model say-quick-adapted --batch 8 --threads 2 --seed 3 --lr 0.003 --no-report"
    succeed $run --steps 4 --lr 0.003 --no-report --checkpoint base
    succeed $run --steps 1 --begin base --no-report --metrics whole.jsonl
    losses whole.jsonl >whole.losses
    succeed $adapting --steps 6 --begin base --metrics adapted.jsonl --checkpoint adapted
    grep -q '^begins with eye, glue, talk of base/step-000004, step 4$' out || fail "a run with adapters does not tell what it begins with"
    losses adapted.jsonl >adapted.losses
    head -n 1 adapted.losses | cmp -s - whole.losses || fail "adapters that begin as nothing change the loss: $(head -n 1 adapted.losses), $(cat whole.losses)"
    succeed $adapting --steps 50 --begin base --metrics learned.jsonl
    losses learned.jsonl | awk 'NR <= 10 { first += $2 } NR > 40 { last += $2 } END { exit !(NR == 50 && last < 0.85 * first) }' || fail "adapters do not learn: $(losses learned.jsonl)"
    # What rests has the bits that it began with, and what learned has others.
    succeed $run --steps 1 --begin eye=adapted,talk=adapted,glue=base --no-report --metrics kept.jsonl
    losses kept.jsonl | cmp -s - whole.losses || fail "what rests beside adapters has changed"
    succeed $run --steps 1 --begin eye=adapted,talk=adapted,glue=adapted --no-report --metrics kept.jsonl
    losses kept.jsonl | cmp -s - whole.losses && fail "the glue beside adapters does not learn"
    expect 3 MT-R38 $adapting --steps 1 --plan tensor-2
    for plan in data-2 apart pipeline-3; do
      succeed $adapting --steps 6 --begin base --metrics $plan.jsonl --plan $plan
      losses $plan.jsonl | paste -d ' ' - adapted.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 6 }' ||
        fail "with adapters $plan has other losses than one rank"
    done
    # The checkpoint speaks, and goes out with adapters merged, or beside the weights.
    tar xf shapes/test-000.tar test0000003.ppm
    "$programs/generate" --checkpoint adapted --picture test0000003.ppm --most 5 --quiet | grep -q . || fail "a model with adapters says nothing"
    "$programs/export_hf" --checkpoint adapted --output merged >out 2>&1 && "$programs/export_hf" --checkpoint adapted --output beside --adapters peft >out 2>&1 || fail "export_hf: $(cat out)"
    cmp -s merged/config.json beside/config.json || fail "the two exports are of other nets"
    cmp -s merged/model.safetensors beside/model.safetensors && fail "merged weights are those beside adapters"
    grep -q '"lora_alpha": *16' peft/adapter_config.json && [ -s peft/adapter_model.safetensors ] || fail "no adapters in PEFT's form"
    "$programs/export_hf" --checkpoint base --output none --adapters peft >out 2>&1
    [ $? -eq 2 ] && grep -q 'adapters peft: base/step-000004 has none.*MT-X30' out || fail "adapters of a run without are not refused: $(cat out)"
    ;;
esac

# ---- an eye that joins squares of its rows: a quarter of them go on ----
case " ${MOTET_MODELS:-} " in
  *" quick_joined "*)
    joining="--data few --model say-quick-joined --batch 8 --threads 2 --seed 3 --lr 0.003 --no-report"
    succeed $joining --steps 30 --metrics joined.jsonl --checkpoint joined
    losses joined.jsonl | awk 'NR <= 10 { first += $2 } NR > 20 { last += $2 } END { exit !(NR == 30 && last < 0.6 * first) }' || fail "joined rows teach nothing: $(losses joined.jsonl)"
    succeed $joining --steps 6 --metrics one.joined
    losses one.joined >joined.losses
    for plan in apart pipeline-3 uneven; do
      succeed $joining --steps 6 --metrics $plan.jsonl --plan $plan
      losses $plan.jsonl | paste -d ' ' - joined.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 6 }' ||
        fail "with joined rows $plan has other losses than one rank"
    done
    # The weights of the eye are those of another that joins nothing; the glue is of other sizes.
    succeed $joining --steps 1 --begin eye=half,talk=half
    tar xf shapes/test-000.tar test0000003.ppm
    "$programs/generate" --checkpoint joined --picture test0000003.ppm --quiet | grep -q '[a-z]' || fail "a model with joined rows says nothing"
    "$programs/generate" --checkpoint joined --picture test0000003.ppm --most 2 2>&1 >/dev/null | grep -q 'behind 17 rows' || fail "a picture does not take 16 rows"
    "$programs/export_hf" --checkpoint joined --output none >out 2>&1
    [ $? -eq 3 ] && grep -q 'eye joins squares of its rows' out || fail "joined rows are not refused: $(cat out)"
    ;;
esac

# ---- experts in the language model, which a tensor group or replicas share, and an eye that is cut within blocks ----
case " ${MOTET_MODELS:-} " in
  *" quick_experts "*)
    mixing="--data few --model say-quick-experts --batch 8 --threads 2 --seed 3 --lr 0.003 --no-report"
    succeed $mixing --steps 30 --metrics mixed.jsonl --checkpoint mixed
    losses mixed.jsonl | awk 'NR <= 10 { first += $2 } NR > 20 { last += $2 } END { exit !(NR == 30 && last < 0.6 * first) }' || fail "experts learn nothing: $(losses mixed.jsonl)"
    succeed $mixing --steps 4 --metrics one.mixed
    losses one.mixed >mixed.losses
    for plan in experts experts-zero experts-tensor experts-tensor-zero tensor-2 context-tensor pipeline-3 filled-halves; do
      succeed $mixing --steps 4 --metrics $plan.jsonl --plan $plan --checkpoint mixed-$plan
      losses $plan.jsonl | paste -d ' ' - mixed.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 4 }' ||
        fail "with experts $plan has other losses than one rank"
    done
    # A run goes on by another plan as by none.
    cp -r mixed-experts mixed-alone
    succeed $mixing --steps 6 --metrics further.jsonl --checkpoint mixed-experts --resume --plan tensor-2
    succeed $mixing --steps 6 --metrics alone.jsonl --checkpoint mixed-alone --resume
    losses alone.jsonl | tail -n 2 >alone.losses
    losses further.jsonl | tail -n 2 | paste -d ' ' - alone.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 2 }' ||
      fail "what experts on four ranks have learned does not go on"
    succeed $mixing --steps 1 --plan experts --explain
    grep -q ', experts over 4 replicas' out && grep -q 'talk layers 0-1, replica 3 of 4, experts 3 of 4' out || fail "--explain does not tell who has which experts: $(cat out)"
    # A search finds such plans, too; here one of them is the next best.
    succeed $mixing --data shapes --batch 16 --steps 1 --orchestrate laptop:1x4 --ranks 4 --explain
    grep -q '^next best .* with experts over 2 replicas' out || fail "--orchestrate knows no experts: $(cat out)"
    expect 3 'talk: 4 ranks share experts, and its layers have 0\. .*\[MT-S35\]' $run --steps 1 --plan experts
    succeed $mixing --steps 1 --plan filled-halves --explain
    grep -q '^  rank 0 .*eye stage 0 layers 0-4;' out && grep -q '^  rank 1 .*eye stage 1 layers 5-7;' out || fail "--explain does not tell of halves: $(cat out)"
    expect 3 'eye: got 5 + 3 = 8 on 2 stages, wanted 4 on 2 stages\. .*\[MT-S12\]' $run --steps 1 --plan filled-halves
    tar xf shapes/test-000.tar test0000003.ppm
    "$programs/generate" --checkpoint mixed --picture test0000003.ppm --quiet | grep -q '[a-z]' || fail "a model with experts says nothing"
    "$programs/export_hf" --checkpoint mixed --output none >out 2>&1
    [ $? -eq 3 ] && grep -q 'talk has experts' out || fail "experts are not refused: $(cat out)"
    ;;
esac

# ---- pairs compared and captioned at once: each loss is told beside their sum ----
case " ${MOTET_MODELS:-} " in
  *" coca_quick "*)
    both="--data shapes --model coca-quick --batch 8 --threads 2 --seed 3 --lr 0.003"
    succeed $both --steps 30 --report coca --checkpoint compared
    grep -q '^step 30/30 .*  loss [0-9.]* (info_nce of seen and said [0-9.]*, next_token of caption [0-9.]*)  norm' out || fail "lines do not tell both losses: $(cat out)"
    awk -F '"loss' '/next_token/ { split($2, a, /[ ,:]+/); split($3, b, /": */); split($4, c, /": */); all = a[2]; d = all - b[2] - 2 * c[2]; if (d < 0) d = -d; if (d > 1e-4 * all) bad = 1
      if (++n <= 10) first += c[2]; if (n > 20) last += c[2] } END { exit bad || n != 30 || last > 0.6 * first }' coca/metrics.jsonl || fail "the losses are not the sum, or teach nothing: $(cat coca/metrics.jsonl)"
    grep -q '"validation_loss"' coca/metrics.jsonl && grep -q '"logit_scale"' coca/metrics.jsonl || fail "no loss of held-out pairs"
    tail -n 1 coca/metrics.jsonl | grep -q '"zero_shot_accuracy".*"caption_accuracy"' || fail "pictures are not told apart, or not spoken of"
    grep -q 'Each loss by itself' coca/index.html && grep -q 'next_token of caption' coca/index.html || fail "the report names no losses"
    head -n 1 coca/metrics.csv | grep -q ',loss/info_nce of seen and said,loss/next_token of caption$' || fail "no column of each loss"
    succeed $both --steps 32 --report coca --checkpoint compared --resume
    # A step in two parts compares all of its pairs, and so does one on three ranks.
    both="--data shapes --model coca-quick --batch 8 --seed 3 --steps 4 --no-report"
    succeed $both --threads 2 --metrics one.compared
    losses one.compared >compared.losses
    echo '{"cluster": {"ranks": 3}, "schedule": "1f1b", "modules": {
      "eye": {"ranks": [0], "microbatches": 1, "group": 1}, "glue": {"ranks": [0], "microbatches": 1, "group": 1},
      "seen": {"ranks": [0], "microbatches": 1, "group": 1}, "words": {"ranks": [1], "microbatches": 1, "group": 1},
      "said": {"ranks": [1], "microbatches": 1, "group": 1}, "caption": {"ranks": [2], "microbatches": 1, "group": 1}}}' >three.json
    for how in '--accumulate 2' '--plan three.json'; do
      succeed $both --threads 1 --metrics otherwise.jsonl $how
      losses otherwise.jsonl | paste -d ' ' - compared.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (NF != 4 || $1 != $3 || d > 1e-4 * $4) bad = 1 } END { exit bad || NR != 4 }' ||
        fail "compared and captioned, $how has other losses than one rank"
    done
    expect 3 'there are eye, glue, words, seen, said, caption' $both --plan data-2
    ;;
esac

# ---- filled to a number of rows, and gone on with while samples wait for room ----
succeed $run --rows 500 --steps 4 --no-report --metrics rows.jsonl
losses rows.jsonl >rows.losses
succeed $run --rows 500 --steps 4 --no-report --metrics two.jsonl --checkpoint rows --save-every 2
rm -r rows/step-000004
grep -q '"waiting"' rows/step-000002/index.json || fail "no sample waits"
succeed $run --steps 4 --no-report --metrics more.jsonl --checkpoint rows --resume
sed 1,2d rows.losses >wanted
losses more.jsonl | cmp -s - wanted || fail "a run with rows that was gone on with has other losses"
expect 3 MT-D13 $run --rows 100 --steps 1 --no-report

# ---- heavy samples wait for each other, and a run goes on in the same windows alone ----
succeed $run --defer 3 --steps 6 --no-report --metrics wait.jsonl --checkpoint wait --save-every 4 --plan data-2
[ "$(losses wait.jsonl | wc -l)" -eq 6 ] || fail "not one line for each step in which samples wait"
losses wait.jsonl | paste -d ' ' - one.losses | awk '{ d = $2 - $4; if (d < 0) d = -d; if (d > 1e-3 * $4) waits = 1 } END { exit !waits }' || fail "no sample waits"
rm -r wait/step-000006
succeed $run --steps 6 --no-report --metrics waited.jsonl --checkpoint wait --resume --plan data-2
losses wait.jsonl | sed 1,4d >wanted
losses waited.jsonl | cmp -s - wanted || fail "a run in which samples wait has other losses when it is gone on with"
rm -r wait/step-000006
succeed $run --steps 6 --no-report --metrics produced.jsonl --checkpoint wait --resume --plan data-2 --producers 2
losses produced.jsonl | cmp -s - wanted || fail "samples that wait in producers' steps give other losses"
rm -r wait/step-000006
expect 3 MT-D27 $run --defer 2 --steps 6 --no-report --checkpoint wait --resume --plan data-2
expect 2 'whose samples are all alike' --model say-quick --data random --defer 2 --steps 1
expect 2 'where samples wait for room already' $run --defer 2 --rows 500 --steps 1

# ---- conversations with pictures beside, plain text, and what is damaged in them ----
mkdir talk
tar xf shapes/train-000.tar -C talk train0000000.ppm train0000001.ppm
turn() { printf '{"id":"%s","image":%s,"conversations":[{"from":"human","value":"%s"},{"from":"gpt","value":"%s"}]}' "$@"; }
for i in 1 2 3 4; do turn "c$i" '"train0000000.ppm"' '<image>what is this?' "a shape $i" && echo; done >talk/train.jsonl
{ turn both '["train0000000.ppm","train0000001.ppm"]' '<image><image>same?' no && echo && turn none null 'and without?' yes && echo; } >>talk/train.jsonl
turn asks '"train0000001.ppm"' 'held <image> out' 'a shape' >talk/test.jsonl
{ turn lost '"x.ppm"' '<image>' a && echo && turn mark '"train0000000.ppm"' 'no mark' a && echo && turn mute null 'well?' ' ' && echo; } >talk/bad.jsonl
cat talk/train.jsonl >>talk/bad.jsonl
succeed --data talk --model say-quick --batch 3 --threads 2 --steps 3 --report talk/report
grep -q '6 samples with 6 pictures in talk, which has no tokenizer.json: its texts taught one' out || fail "conversations: $(cat out)"
grep -q '"final": *true' talk/report/metrics.jsonl || fail "no last line"
succeed --data talk/bad.jsonl --model say-quick --batch 3 --check
grep -q '1 samples without picture (talk/bad.jsonl: lost .*1 samples whose pieces do not fit (talk/bad.jsonl: mark .*1 samples that ask for nothing (talk/bad.jsonl: mute ' out ||
  fail "what is damaged is not named"
expect 3 MT-D07 --data talk/bad.jsonl --model say-quick --batch 3 --check --strict
printf 'one line\nand another\n' >talk/plain.txt
succeed --data talk/plain.txt --model say-quick --batch 2 --threads 2 --steps 2 --no-report
grep -q '2 samples with 0 pictures' out || fail "plain text: $(cat out)"

# ---- what is learned is told: sentences about pictures that were never seen ----
succeed $run --data shapes --batch 16 --steps 40 --lr 0.003 --eval-every 20 --metrics told.jsonl --report report --checkpoint told
[ "$(grep -c '"caption_accuracy"' told.jsonl)" -eq 3 ] || fail "not two tests and the last line"
[ "$(grep -c '"validation_loss"' told.jsonl)" -eq 4 ] || fail "not four losses of held-out samples"
sed -n 's/.*"validation_loss": *\([0-9.e-]*\).*/\1/p' told.jsonl | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < 0.6 * first) }' || fail "the loss of held-out samples does not fall"
grep -q 'generate --checkpoint told --picture' out || fail "a run does not say what may come next"
grep -q 'of [0-9]* held-out samples with several pictures or sounds, in the very words' out || fail "no answers about several pictures"
grep -q 'caption accuracy .* held-out pictures are called what they are' out || fail "no caption accuracy"
losses told.jsonl | awk 'NR == 1 { first = $2 } { last = $2 } END { exit !(last < first / 3) }' || fail "the loss does not fall"
grep -q 'what the model says about it' report/index.html || fail "the report has no sentences"
grep -q '<div class="own">[a-z]' report/index.html || fail "the report has no captions"

# ---- and said about any picture: by the cache what the report says, word by word ----
said=$programs/generate
tar xf shapes/test-000.tar test0000003.ppm test0000007.ppm || fail "no held-out pictures"
$said --checkpoint told --picture test0000003.ppm >words 2>speed || fail "generate: $(cat speed)"
[ "$(wc -l <words)" -eq 1 ] && grep -q '[a-z]' words || fail "generate says nothing"
grep -q 'tokens behind 65 rows: the first after .* tokens/s' speed || fail "generate does not tell its speed"
$said --checkpoint told --picture test0000003.ppm --threads 1 --quiet 2>&1 | cmp -s - words || fail "one thread says something else"
# What is given is gone on with.
first=$(cut -d ' ' -f 1-2 words)
[ "$first$($said --checkpoint told --picture test0000003.ppm --prompt "$first" --quiet)" = "$(cat words)" ] || fail "a sentence goes on in another way"
$said --checkpoint told --picture test0000003.ppm --temperature 2 --seed 1 --quiet >one.words
$said --checkpoint told --picture test0000003.ppm --temperature 2 --seed 1 --quiet --precision bf16 >/dev/null || fail "generate in bf16"
$said --checkpoint told --picture test0000003.ppm --temperature 2 --seed 1 --quiet | cmp -s - one.words || fail "one seed says two things"
$said --checkpoint told --picture test0000003.ppm --temperature 2 --seed 2 --quiet | cmp -s - one.words && fail "two seeds say one thing"
$said --checkpoint told --prompt "a photo of" --most 3 --quiet >/dev/null || fail "generate without a picture"
refused() {
  wanted=$1 text=$2
  shift 2
  $said "$@" >out 2>&1
  got=$?
  [ $got -eq "$wanted" ] && grep -q -- "$text" out || fail "generate $*: exit $got, $(cat out)"
}
refused 3 MT-R50 --checkpoint nowhere
refused 2 'one of --checkpoint and --weights' --prompt a
refused 2 MOTET_EMBED_HF --weights shapes
refused 3 MT-D --checkpoint told --picture shapes/tokenizer.json
$said --checkpoint told --picture test0000003.ppm --picture test0000007.ppm --quiet | grep -q '[a-z]' || fail "generate says nothing about two pictures"
refused 3 'it has 193 rows, there is room for 160' --checkpoint told --picture test0000003.ppm --picture test0000003.ppm --picture test0000007.ppm
grep -q "$(cat words)" report/index.html || fail "the report and generate say different things: $(cat words)"

# ---- what it refuses ----
expect 2 'MT-X01' $run --loss sigmoid
expect 2 'say-quick|say-quick-glue|say-quick-adapted|say-quick-joined|say-quick-experts|coca-quick|say-small' $run --model quick
expect 3 MT-D01 --data nowhere
expect 2 'wants MODULE=SHARE' $run --steps 1 --rates eye
expect 1 'there are eye, glue, talk' $run --steps 1 --rates picture=0.5
expect 2 'MT-X04' --steps 1

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
