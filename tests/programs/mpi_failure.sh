#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One rank of several fails, in every way: all ranks end soon, and say why. mpi_failure.sh PROGRAMS SCRATCH [KILLS], for so many ranks killed or stopped.
set -u

program=$1/tests/mpi_failure
[ -x "$program" ] || { echo "built without MPI"; exit 77; }
command -v mpirun >/dev/null 2>&1 || { echo "mpirun is missing (Debian: openmpi-bin)"; exit 77; }
kills=${3:-3}
rm -rf "$2"
mkdir -p "$2"
cd "$2" || exit 1
failures=0
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Ranks that do not hear of a failure would wait for a minute and longer; whoever ends within this has heard, however busy the machine is.
soon=40

# expect STATUSES HOW TEXT...: three ranks end soon, mpirun with one of these, and what they print has all the texts.
expect() {
  wanted=$1 how=$2
  shift 2
  begin=$(date +%s)
  timeout -k 5 60 mpirun -n 3 "$program" "$how" >out 2>&1
  status=$?
  seconds=$(($(date +%s) - begin))
  good=true
  case " $wanted " in *" $status "*) ;; *) false ;; esac || { echo "FAILED: $how: status $status"; good=false; }
  [ $seconds -le $soon ] || { echo "FAILED: $how: took $seconds s"; good=false; }
  for text in "$@"; do grep -q -e "$text" out || { echo "FAILED: $how: no \"$text\""; good=false; }; done
  $good || { sed 's/^/    /' out; failures=$((failures + 1)); }
}

# Most of it is waiting, so three rows of cases run beside each other, each in a folder of its own. They say how many failed by their exit code.
beside() {
  row=$1
  mkdir "$row"
  (cd "$row" || exit 1; "$row"; exit $failures) >"$row.log" 2>&1 &
}

of_ranks() {
  expect 0 well 'Open MPI: rank 0 of 3'
  # A bare world is told that rank 1 failed, not of what: mpirun passes on who ends first.
  expect '1 138' throw 'rank 1: motet: .*rank 1 broke in step 20.*MT-B01' 'rank 0: motet: stopped, as rank 1' 'rank 2: motet: stopped, as rank 1'
  expect 137 kill 'signal 9'
  expect 138 deaf 'rank 1 broke, and rank 2 does not listen' 'rank [01]: not all ranks ended in time after a failure; MPI ends all ranks'
  expect 138 stuck 'rank 0: motet: stopped, as rank 1 stopped because nothing moved for 0.3 s' 'rank 2: motet: stopped'
  expect '1 138' short 'MT-B01'

  # Started by itself, and by a launcher that MPI knows nothing of.
  "$program" throw >out 2>&1 && { echo "FAILED: runs without a launcher"; failures=$((failures + 1)); }
  grep -q 'MT-R23' out || { echo "FAILED: no MT-R23"; cat out; failures=$((failures + 1)); }
  RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 timeout 30 "$program" well >out 2>&1 && { echo "FAILED: believes torchrun"; failures=$((failures + 1)); }
  grep -q 'MPI says rank 0 of 1, the launcher said 2 ranks.*MT-B02' out || { echo "FAILED: no MT-B02"; cat out; failures=$((failures + 1)); }
  # No rank agrees: one that went on alone would be mpirun's to end, which is not our test.
  RANK=7 WORLD_SIZE=9 expect 3 well 'torchrun says RANK=7, WORLD_SIZE=9; Open MPI says OMPI_COMM_WORLD_RANK=' 'MT-R21'
}

# A program with checkpoints. expect_run STATUS HOW TEXT...
expect_run() {
  wanted=$1 how=$2
  shift 2
  rm -rf run
  begin=$(date +%s)
  timeout -k 5 60 mpirun -n 3 "$program" run run 20 4 "$how" >out 2>&1
  status=$?
  seconds=$(($(date +%s) - begin))
  good=true
  [ $status -eq "$wanted" ] || { echo "FAILED: run $how: status $status"; good=false; }
  [ $seconds -le $soon ] || { echo "FAILED: run $how: took $seconds s"; good=false; }
  for text in "$@"; do grep -q -e "$text" out || { echo "FAILED: run $how: no \"$text\""; good=false; }; done
  $good || { sed 's/^/    /' out; failures=$((failures + 1)); }
}
of_runs() {
  expect_run 0 well 'ended at step 20'
  # Who computes for twice the bound is waited for.
  expect_run 0 slow 'ended at step 20'
  # All ranks end in the code of the one that failed.
  expect_run 3 refuse 'rank 1: motet: a checkpoint is damaged: rank 1 reads.*MT-R52' 'rank 0: motet: stopped, as rank 1 .*MT-R52' 'rank 2: motet: stopped, as rank 1 .*MT-R52'
  expect_run 138 late 'rank [02].*step 8 takes more than 4' 'MT-R07'
  # Whoever is the first to ask says so.
  expect_run 138 deadlock 'rank [012], instruction [0-9]* (.*) waits.*wait as well; last checkpoint: run/step 5.*MT-R25'
  # Within an instruction that computes with others.
  expect_run 138 group 'rank [02], instruction [0-9]* (optimizer_step of module [01], stage 0) waits for rank 1 for .* in step 8; rank 1 does not answer'
  expect_run 3 program 'the instructions of the program is [0-9a-f]* on ranks 0, 2; [0-9a-f]* on rank 1.*MT-R26'
  expect_run 3 model 'the model is a model of mpi_failure on ranks 0, 1; another model on rank 2.*MT-R26'
}

# A rank is killed or stopped at some moment, with mpirun there or stopped as well: all ranks end soon after the bound, somebody says who is missing, every
# checkpoint is whole, and the next run goes on from the newest.
bound=5
random() { echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)); }
# A process that is there and no zombie.
lives() { [ -r "/proc/$1/stat" ] && ! sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | grep -q '^Z'; }
any_lives() { for each in $pids; do lives "$each" && return 0; done; return 1; }
# mpirun passes on what the ranks said, when it can.
reap() {
  kill -9 $pids 2>/dev/null
  kill -CONT "$launcher" 2>/dev/null
  tries=0
  while lives "$launcher" && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -9 "$launcher" 2>/dev/null
  wait "$launcher" 2>/dev/null
  status=$?
}

harm() {
  how=$1 victim=$(random 3) good=true
  # Two modules or three, in turn; the checkpoints are the same.
  [ "$played" = chain ] && played=pair || played=chain
  rm -f out
  : >out
  mpirun -n 3 "$program" run harmed 1000000 $bound $played >>out 2>&1 &
  launcher=$!
  tries=0
  while [ "$(grep -c '^rank [0-9] pid [0-9]* begins at step [0-9]*$' out)" -lt 3 ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
  pids=$(sed -n 's/^rank [0-9]* pid \([0-9]*\) begins.*/\1/p' out)
  target=$(sed -n "s/^rank $victim pid \([0-9]*\) begins.*/\1/p" out)
  began=$(sed -n 's/.*begins at step \([0-9]*\)$/\1/p' out | sort -u)
  [ "$began" = "$newest" ] || { echo "FAILED: $how: begins at step $began, the newest checkpoint is of step $newest"; good=false; }
  sleep "$(random 2).$(random 1000)"
  case $how in
    kill) kill -9 "$target" ;;
    stop) kill -STOP "$target" ;;
    alone) kill -STOP "$launcher"; kill -9 "$target" ;;
  esac
  # Turns of this shell are its clock: where the machine stands still it does as well. mpirun has its own second for what it ends.
  turns=0 most=$((bound * 10 + 90))
  if [ "$how" = alone ]; then
    while any_lives && [ $turns -lt $most ]; do sleep 0.1; turns=$((turns + 1)); done
  else
    while lives "$launcher" && [ $turns -lt $most ]; do sleep 0.1; turns=$((turns + 1)); done
  fi
  [ $turns -lt $most ] || { echo "FAILED: $how rank $victim: lives after $most tenths of a second"; good=false; }
  any_lives && { echo "FAILED: $how rank $victim: ranks are left over"; good=false; }
  reap
  # What is passed on says that the run goes on with --resume; mpirun itself was stopped where it is alone.
  case $how in
    kill) wanted=137 ;;
    stop) wanted=138 ;;
    *) wanted=$status ;;
  esac
  [ "$status" -eq "$wanted" ] || { echo "FAILED: $how rank $victim: status $status instead of $wanted"; good=false; }
  case $how in
    kill) text="rank $victim with PID.*signal 9" ;;
    *) text="waits for rank.* $victim does not answer; last checkpoint: .*MT-R25" ;;
  esac
  grep -q -e "$text" out || { echo "FAILED: $how rank $victim: no \"$text\""; good=false; }
  seen=$("$program" verify harmed) || { echo "FAILED: $how rank $victim: a checkpoint is damaged"; good=false; }
  # A checkpoint that nobody came to call the newest is whole as well, but it is from the one before that the next run goes on.
  newest=$(echo "$seen" | sed -n 's/^whole, step \([0-9]*\) of [0-9]*$/\1/p')
  [ -n "$newest" ] || { echo "FAILED: $how rank $victim: $seen"; good=false; newest=0; }
  echo "$how rank $victim of a $played: $turns tenths of a second, then step $newest"
  $good || { sed 's/^/    /' out; failures=$((failures + 1)); }
}
of_harm() {
  mkdir harmed
  newest=0 done=0 played=pair
  while [ $done -lt "$kills" ]; do
    case $((done % 3)) in
      1) harm stop ;;
      2) harm alone ;;
      *) harm kill ;;
    esac
    done=$((done + 1))
  done
}

beside of_ranks
first=$!
beside of_runs
second=$!
beside of_harm
third=$!
for each in $first $second $third; do wait $each || failures=$((failures + $?)); done
cat of_ranks.log of_runs.log of_harm.log
[ $failures -eq 0 ] && echo "all well"
exit $failures
