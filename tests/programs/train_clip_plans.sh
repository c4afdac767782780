#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plans of train_clip: train_clip_plans.sh PROGRAMS SCRATCH. All that have names fit every model; wrong ones are told; any of them trains as one rank
# does, goes on from any other's checkpoint, and runs over processes where there is MPI.
set -u

. "$(dirname "$0")/begin/train_clip.sh"
says() {
  grep -q -e "$1" out || fail "no \"$1\" on standard output"
}

# ---- plans that have names: for every model, without data ----
succeed --list-plans
names=$(cut -d' ' -f1 out)
[ "$(echo "$names" | wc -l)" -ge 12 ] || fail "fewer than twelve plans"
for name in $names; do
  for model in quick tiny small b16 l14; do
    succeed --plan "$name" --model $model --check
    says 'no rank waits for ever'
  done
done

# ---- who holds what ----
succeed --plan heavy --explain --batch 48
for text in 'rank 3  *picture stage 1 layers 2-3, tensor 1 of 2' 'rank 5  *caption layers 0-1, replica 1 of 3' 'predicted .* ms a step' '% of it bubbles' 'GFLOP/s'; do
  says "$text"
done
sed -n '/^{/,$p' out >heavy.json
succeed --plan heavy.json --check --batch 48
succeed --plan idle --explain
says 'rank 2  *nothing: an idle rank'

# ---- plans that do not fit: before any rank starts ----
expect 3 'MT-P73.*' --plan hevy --check
expect 3 'MT-F04' --plan nowhere.json --check
expect 3 'plan heavy is for 7 ranks, the command line says --ranks 4.*MT-P74' --plan heavy --ranks 4 --check
expect 3 'plan heavy is for 7 ranks, there are 4' --plan heavy --ranks 4 --data random
expect 3 'a batch of 33 in 2 groups.*MT-S11' --plan heavy --check --batch 33
expect 2 'MT-X04.*' --data random --ranks 4
succeed --plan data-2 --data random --precision bf16 --model quick --batch 8 --steps 1 --no-report
expect 2 '--plan with replicas, between which --resplit moves samples' --data random --resplit 5
expect 2 'accumulate' --plan data-2 --data random --accumulate 2
wrong() { # text, sed expression
  sed "$2" heavy.json >wrong.json
  expect 3 "$1.*wrong\.json\|wrong\.json.*$1" --plan wrong.json --check --batch 48
}
wrong 'modules.caption.degrees.dat; wanted one of.*MT-P70' 's/"data"/"dat"/'
wrong 'MT-F01' 's/"group"/group/'
wrong 'caption: got 3 ranks, wanted 1 stages x 2 data x 1 context x 1 tensor = 2.*MT-S02' 's/"data": 3}, "ranks": {"first": 4}/"data": 2}, "ranks": [4, 5, 6]/'
wrong 'caption: got rank 7, wanted ranks below 7.*MT-S03' 's/"first": 4/"first": 5/'
wrong 'picture: a group of 2 lies on the nodes 0 and 1.*MT-S05' 's/"ranks": 7/"ranks": 7, "ranks_per_node": 3/'
wrong 'no module of the model has this name: captoin; there are picture, caption; did you mean caption\. use a name that the model declares .MT-M03' 's/"caption"/"captoin"/'
wrong 'picture: got 8 stages, wanted at most 4.*MT-P09' 's/"stages": 2, "tensor": 2}, "ranks": {"first": 0}/"stages": 8}, "ranks": [0]/; s/\[0\]/[0, 1, 2, 3, 4, 5, 6, 7]/; s/"ranks": 7/"ranks": 8/'
wrong 'MT-S15' 's/batch_sync/batchsync/'

# ---- who started it ----
RANK=0 WORLD_SIZE=4 expect 3 'MT-R21' --plan data-2 --data random --ranks 2
RANK=0 expect 3 'MT-R22' --plan data-2 --data random
PMIX_RANK=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 expect 3 'MT-R21' --plan data-2 --data random

# Machines of two ranks each: a tensor group of four would cross them.
sed 's/"stages": 2, "tensor": 2/"tensor": 4/' heavy.json >wide.json
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=7 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_MCA_orte_num_nodes=4 \
  expect 3 'MT-S05\|MT-R24' --plan wide.json --data random --batch 48

# ---- training: the losses of one rank, whatever the plan ----
"$programs/make_shapes" --output shapes --count 240 --format ppm --quiet || exit 1
"$programs/make_shapes" --output others --count 240 --format ppm --seed 3 --quiet || exit 1
run="--model quick --data shapes --batch 16 --no-report --schedule constant --warmup 0"
losses() {
  sed -n 's/.*"step": [0-9]*, "loss": \([^,]*\),.*/\1/p' "$1"
}
# same FILE FILE: as many losses, equal but for rounding.
same() {
  losses "$1" >a
  losses "$2" >b
  [ -s a ] && paste a b | awk 'NF != 2 || ($1 - $2) ^ 2 > (2e-5 * $1) ^ 2 { wrong = 1 } END { exit wrong }' || fail "$1 and $2 differ"
}
succeed $run --steps 4 --plan one --metrics one.jsonl
for name in data-2 shared-4 mixed nodes zero-2; do
  succeed $run --steps 2 --plan $name --metrics $name.jsonl
  says "threads of one process"
  head -n 2 one.jsonl >two.jsonl
  same two.jsonl $name.jsonl
done
# Samples that move between replicas change nothing.
succeed $run --steps 4 --plan data-4 --resplit 1 --resplit-most 1.5 --metrics resplit.jsonl
same one.jsonl resplit.jsonl
# Two losses in a step, by this plan and by one rank's.
succeed $run --steps 2 --plan heavy --metrics heavy.jsonl
cat >two_losses.json <<'END'
{"cluster": {"ranks": 1}, "modules": {"picture": {"ranks": [0], "microbatches": 2, "group": 1}, "caption": {"ranks": [0], "microbatches": 2, "group": 1}}}
END
succeed $run --steps 2 --plan two_losses.json --metrics two_losses.jsonl
same heavy.jsonl two_losses.jsonl

# ---- a checkpoint of any plan goes on under any other ----
succeed $run --steps 2 --plan shared-3 --checkpoint run --metrics again.jsonl
succeed --data shapes --steps 3 --plan zero-2 --checkpoint run --resume --no-report --metrics again.jsonl
succeed --data shapes --steps 4 --checkpoint run --resume --no-report --metrics again.jsonl
same one.jsonl again.jsonl
says 'zero-shot accuracy'
succeed --data shapes --checkpoint run --resume --check --plan data-4
says 'step 4'
says 'no rank waits for ever'
succeed --data shapes --steps 5 --plan heavy --checkpoint run --resume --no-report
says 'the saved run had 1 losses in a step'

# ---- processes ----
mpi() { # ranks, arguments...
  ranks=$1
  shift
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 100 mpirun -n "$ranks" "$train" "$@" >out 2>err
}
if command -v mpirun >/dev/null 2>&1; then
  mpi 2 $run --steps 2 --plan zero-1 --metrics zero-1.jsonl --checkpoint processes
  status=$?
  if grep -q MT-R24 err; then
    echo "built without MPI"
  else
    [ $status -eq 0 ] || fail "status $status over two processes"
    says 'Open MPI: rank 0 of 2'
    same two.jsonl zero-1.jsonl
    mpi 3 --data shapes --steps 4 --plan gpipe --checkpoint processes --resume --no-report --metrics zero-1.jsonl || fail "status $? over three processes"
    same one.jsonl zero-1.jsonl
    # Processes that would go different ways are told what differs, where, and both values: of each case the sentence, what both ranks have
    # beside, and what the second one has; $around: what env does for the second.
    cp -r shapes alike
    cp others/train-000.tar alike/
    differs() { # sentence, words of both, words of the second; $around: what env does for the second
      OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 100 \
        mpirun -n 1 "$train" $run --steps 2 --plan data-2 $2 : -n 1 env $around "$train" $run --steps 2 --plan data-2 $2 $3 \
        </dev/null >out 2>err
      status=$?
      [ $status -eq 3 ] || fail "status $status where ranks differ: $3"
      grep -q -e "$1.*MT-R26" err || fail "no \"$1\" where ranks differ: $3"
    }
    around=
    while IFS='|' read -r sentence both second; do
      differs "$sentence" "$both" "$second"
    done <<'END'
the setting learning_rate is 0.001 on rank 0; 0.002 on rank 1||--lr 2e-3
the setting steps is 2 on rank 0; 3 on rank 1||--steps 3
the optimizer's decay is 0.1 on rank 0; 0.2 on rank 1||--weight-decay 0.2
the optimizer's clip is 1.0 on rank 0; 0.5 on rank 1||--clip 0.5
the type of numbers is F32, F32, F32 on rank 0; BF16, F32, F32 on rank 1||--precision bf16
the setting smallest_crop is [0-9.]* on rank 0; 0.75 on rank 1||--smallest-crop 0.75
the setting flip is true on rank 0; false on rank 1||--no-flip
the setting save_every is 1 on rank 0; 2 on rank 1|--checkpoint often --save-every 1|--save-every 2
the setting checkpoint is here on rank 0; there on rank 1|--checkpoint here|--checkpoint there
the vocabulary is [0-9]* on rank 0; [0-9]* on rank 1||--data others
the content of the samples looked at is [0-9]* on rank 0; [0-9]* on rank 1||--data alike
the checkpoint gone on from is none on rank 0; step 4, checksum [0-9]* on rank 1|--steps 6 --checkpoint processes|--resume
END
    # The same run by other ranks rounds unlike, and so has another checkpoint under the same name.
    mkdir elsewhere
    (cd elsewhere && timeout 100 "$train" $run --data ../shapes --steps 4 --checkpoint processes >out 2>err) || fail "no run elsewhere"
    around='-C elsewhere'
    differs 'the checkpoint gone on from is step 4, checksum [0-9]* on rank 0; step 4, checksum [0-9]* on rank 1' "--data $PWD/shapes --steps 6 --checkpoint processes --resume" ''
    around=MOTET_KERNELS=portable
    differs 'the choice of kernels (MOTET_KERNELS) is [a-z0-9_]* on rank 0; portable on rank 1.*set MOTET_KERNELS to kernels that all' '' ''
    mpi 2 $run --steps 2 --plan gpipe
    status=$?
    [ $status -eq 3 ] || fail "status $status of two processes with a plan for three"
    grep -q 'MT-P74' err || fail "no MT-P74 from two processes"
    mpi 2 $run --steps 2
    status=$?
    [ $status -eq 2 ] || fail "status $status of two processes without a plan"
    grep -q 'MT-X04' err || fail "no MT-X04 from two processes"
  fi
fi

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
