#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_clip as the launchers of clusters start it, two processes that MPI connects, each with that launcher's variables: train_clip_launchers.sh PROGRAMS SCRATCH
set -u

. "$(dirname "$0")/begin/train_clip.sh"
says() {
  grep -q -e "$1" out || fail "no \"$1\" on standard output"
}
run="--data random --model quick --batch 8 --threads 1 --steps 2 --plan data-2 --no-report"

# ---- ranks of one pod are threads on processors; a job that was started again says so ----
PET_NNODES=1 PET_NODE_RANK=0 PET_NPROC_PER_NODE=2 PET_MASTER_ADDR=pod0 PET_MASTER_PORT=29400 JOB_COMPLETION_INDEX=0 SLURM_RESTART_COUNT=1 \
  succeed $run --checkpoint pod
says 'PyTorch elastic: 2 ranks as threads of one process'
says 'started again 1 time (SLURM_RESTART_COUNT=1), but begun anew, without --resume'
SLURM_RESTART_COUNT=2 succeed --data random --checkpoint pod --resume --steps 3 --plan data-2 --threads 1 --no-report
says 'resumed after step 2'
says 'started again 2 times (SLURM_RESTART_COUNT=2)$'
PET_NNODES=2 PET_NODE_RANK=0 JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=3 expect 3 \
  'PyTorch elastic says PET_NODE_RANK=0, PET_NNODES=2; JAX says JAX_PROCESS_ID=0, JAX_NUM_PROCESSES=3.*MT-R21' $run

# ---- two processes, by the variables of each ----
cat >as.sh <<'END'
rank=$OMPI_COMM_WORLD_RANK by=$1
shift
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE
case $by in
  torchrun) export RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 GROUP_WORLD_SIZE=1 ;;
  Slurm) export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=$rank SLURM_STEP_NUM_NODES=1 ;;
  elastic) export PET_NODE_RANK=$rank PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_MASTER_ADDR=pod0 PET_MASTER_PORT=29400 JOB_COMPLETION_INDEX=$rank ;;
  JAX) export JAX_PROCESS_ID=$rank JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=pod0:6666 ;;
  Kubernetes) export JOB_COMPLETION_INDEX=$rank WORLD_SIZE=2 MASTER_ADDR=pod0 ;;
esac
exec "$@"
END
if command -v mpirun >/dev/null 2>&1; then
  for by in torchrun Slurm elastic JAX Kubernetes; do
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 100 \
      mpirun -n 2 sh as.sh $by "$train" $run >out 2>err
    status=$?
    if grep -q MT-R24 err; then
      echo "built without MPI"
      break
    fi
    [ $status -eq 0 ] || fail "status $status as $by starts it"
    says "ranks by .*\($by\|PMIx\).*: rank 0 of 2"
    says 'step 2/2'
  done
fi

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
