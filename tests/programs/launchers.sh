#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that are started as launchers start theirs find each other by TCP, or say why not: launchers.sh PROGRAMS SCRATCH.
set -u

rank=$1/tests/meeting_rank
train=$1/train_clip
[ -x "$rank" ] || { echo "meeting_rank is not built"; exit 77; }
rm -rf "$2"
mkdir -p "$2"
cd "$2" || exit 1
failures=0
unset MASTER_ADDR MASTER_PORT MOTET_TOKEN RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_WORLD_SIZE

# as_torchrun RANK RANKS WORDS..., as_slurm: what these set for each of their processes on one machine.
as_torchrun() {
  one=$1 all=$2
  shift 2
  RANK=$one WORLD_SIZE=$all LOCAL_RANK=$one LOCAL_WORLD_SIZE=$all GROUP_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout -k 5 60 "$@" >out.$one 2>&1
  echo $? >status.$one
}
as_slurm() {
  one=$1 all=$2
  shift 2
  SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=$one SLURM_STEP_NUM_TASKS=$all SLURM_LOCALID=$one SLURM_STEP_NUM_NODES=1 MASTER_PORT=$port \
    timeout -k 5 60 "$@" >out.$one 2>&1
  echo $? >status.$one
}
# start LAUNCHER RANKS WORDS...: all of them, to their end. Somebody else may take the port in between; then with another one.
start() {
  by=$1 all=$2
  shift 2
  for try in 1 2 3; do
    rm -f out.* status.*
    port=$("$rank" port)
    r=0
    while [ $r -lt "$all" ]; do
      "$by" $r "$all" "$@" &
      r=$((r + 1))
    done
    wait
    grep -q 'cannot listen' out.* || return
  done
}
fail() {
  echo "FAILED: $*"
  for each in out.*; do sed "s/^/    $each: /" "$each"; done
  failures=$((failures + 1))
}
# all_say STATUS RANK...: these ranks ended so; says RANK TEXT.
all_say() {
  wanted=$1
  shift
  for r in "$@"; do [ "$(cat status.$r)" = "$wanted" ] || fail "rank $r: status $(cat status.$r) instead of $wanted"; done
}
says() {
  grep -q -e "$2" out.$1 || fail "rank $1 does not say \"$2\""
}

# ---- all come ----
for ranks in 2 4 8; do
  for by in as_torchrun as_slurm; do
    start $by $ranks "$rank" well 20
    last=$((ranks - 1))
    all_say 0 $(seq 0 $last)
    says $last "rank $last of $ranks, number $last on its machine of 1.*heard $ranks"
  done
done
export MOTET_TOKEN=0123456789abcdef0123456789abcdef
start as_torchrun 3 "$rank" well 20
all_say 0 0 1 2

# ---- one goes away between two meetings: all others say which ----
start as_torchrun 4 "$rank" die 20
all_say 3 1
all_say 138 0 2 3
says 0 'rank 1 .*MT-B18'
says 2 'rank 0 at .* heard nothing from rank 1.*MT-B18'
says 3 'rank 0 at .* heard nothing from rank 1.*MT-B18'

# ---- one does not come ----
port=$("$rank" port)
rm -f out.* status.*
as_torchrun 0 3 "$rank" well 3 &
as_torchrun 2 3 "$rank" well 3 &
wait
all_say 138 0 2
says 0 'these ranks did not come: 1, in 3.*MT-B18'
says 2 'MT-B18'

# ---- another token ----
port=$("$rank" port)
rm -f out.* status.*
as_torchrun 0 2 "$rank" well 3 &
MOTET_TOKEN=another as_torchrun 1 2 "$rank" well 3 &
wait
all_say 138 0 1
says 0 'these ranks did not come: 1, in 3'
says 1 'did not let rank 1 of 2 in (another token, or another run).*MT-B18'

# ---- two programs at one port: the one that came second says so, the first one does not notice ----
port=$("$rank" port)
rm -f out.* status.*
as_torchrun 0 2 "$rank" well 20 &
first=$!
tries=0 # until it listens, at the port after that of torchrun itself
until grep -q "$(printf ':%04X [0-9A-F:]* 0A ' $((port + 1)))" /proc/net/tcp || [ $tries -ge 200 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
(
  mkdir -p second
  cd second || exit 1
  export MOTET_TOKEN=fedcba9876543210fedcba9876543210
  as_torchrun 0 2 "$rank" well 5 &
  as_torchrun 1 2 "$rank" well 5 &
  wait
)
as_torchrun 1 2 "$rank" well 20
wait $first
all_say 0 0 1
cd second || exit 1
all_say 138 0 1
says 0 'cannot listen at 127.0.0.1:.*MT-B18'
says 1 'did not let rank 1 of 2 in'
cd ..

# ---- beyond this machine a token is wanted, and an address of rank 0 ----
unset MOTET_TOKEN
rm -f out.* status.*
RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_PORT=$port "$rank" well 3 >out.0 2>&1 && fail "no address of rank 0"
says 0 'MASTER_ADDR, the address of rank 0, is not set, and torchrun started ranks on 2 machines'
RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=192.0.2.1 MASTER_PORT=$port MOTET_TOKEN=short "$rank" well 3 >out.0 2>&1 && fail "a short token"
says 0 'a token of at least 16 characters is wanted, got 5'

# ---- launchers of pods: a process for each pod, or one that starts the ranks of its machine; all meet at the pod that they are told ----
as_jax() {
  one=$1 all=$2
  shift 2
  JAX_PROCESS_ID=$one JAX_NUM_PROCESSES=$all JAX_COORDINATOR_ADDRESS=127.0.0.1:$port JOB_COMPLETION_INDEX=$one timeout -k 5 60 "$@" >out.$one 2>&1
  echo $? >status.$one
}
as_indexed_job() {
  one=$1 all=$2
  shift 2
  JOB_COMPLETION_INDEX=$one WORLD_SIZE=$all MASTER_ADDR=localhost MASTER_PORT=$port timeout -k 5 60 "$@" >out.$one 2>&1
  echo $? >status.$one
}
as_kubeflow() { # two ranks on each of so many machines
  one=$1 all=$2
  shift 2
  PET_NODE_RANK=$one PET_NNODES=$all PET_NPROC_PER_NODE=2 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=$port JOB_COMPLETION_INDEX=$one \
    timeout -k 5 60 "$@" >out.$one 2>&1
  echo $? >status.$one
}
start as_jax 2 "$rank" well 20
all_say 0 0 1
says 1 'JAX: rank 1 of 2, number 0 on its machine of 2 .*heard 2'
start as_indexed_job 2 "$rank" well 20
all_say 0 0 1
says 1 'Kubernetes: rank 1 of 2.*heard 2'
start as_kubeflow 1 "$rank" well 20
all_say 0 0
says 0 'rank 0 of 2, number 0 on its machine of 1.*heard 2'
says 0 'rank 1 of 2, number 1 on its machine of 1.*heard 2'
start as_kubeflow 2 "$rank" well 20
all_say 0 0 1
says 0 'rank 0 of 4, number 0 on its machine of 2.*heard 4'
says 1 'rank 3 of 4, number 1 on its machine of 2.*heard 4'
# The first failure is the exit code of the one that started them; where another machine lost a rank, it is that of a lost peer.
start as_kubeflow 2 "$rank" die 20
all_say 3 0
all_say 138 1
says 1 'rank 0 at .* heard nothing from rank 1.*MT-B18'
# Who asks the one that started them asks all.
rm -f out.* status.*
port=$("$rank" port)
PET_NODE_RANK=0 PET_NNODES=1 PET_NPROC_PER_NODE=2 PET_MASTER_PORT=$port "$rank" stay 20 >out.0 2>&1 &
crew=$!
tries=0
until [ "$(grep -c 'heard 2' out.0)" = 2 ] || [ $tries -ge 200 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
kill -USR1 $crew
wait $crew
echo $? >status.0
all_say 143 0
# Two that say different things: both are named, with what they say.
PET_NODE_RANK=0 PET_NNODES=2 JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=4 "$rank" well 3 >out.0 2>&1
echo $? >status.0
all_say 3 0
says 0 'PyTorch elastic says PET_NODE_RANK=0, PET_NNODES=2; JAX says JAX_PROCESS_ID=1, JAX_NUM_PROCESSES=4.*MT-R21'
PET_NODE_RANK=0 PET_NNODES=2 PET_MASTER_ADDR=a MASTER_ADDR=b "$rank" well 3 >out.0 2>&1
says 0 'MASTER_ADDR is b, PET_MASTER_ADDR says a.*MT-R21'

# Slurm's variables without those of a step: 0 is the script that runs, and who has another number belongs to others.
SLURM_JOB_ID=7 SLURM_NTASKS=2 SLURM_PROCID=1 SLURM_LOCALID=1 "$rank" well 3 >out.0 2>&1
echo $? >status.0
all_say 3 0
says 0 'SLURM_PROCID=1, but no SLURM_STEP_ID.*MT-R22'

# ---- training over processes with a GPU each: as far as it goes without one ----
if [ -x "$train" ]; then
  start as_torchrun 2 "$train" --device cuda --model quick --plan data-2 --data random --steps 1 --no-report
  for r in 0 1; do
    [ "$(cat status.$r)" != 0 ] || [ -e /dev/nvidia0 ] || fail "rank $r trains without a GPU"
    [ "$(cat status.$r)" = 0 ] || says $r 'MT-[BX][0-9]'
  done
fi

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
