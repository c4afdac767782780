#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One rank of several fails, in every way: all ranks end soon, and say why. mpi_failure.sh PROGRAMS SCRATCH
set -u

program=$1/tests/mpi_failure
[ -x "$program" ] || { echo "built without MPI"; exit 77; }
command -v mpirun >/dev/null 2>&1 || { echo "mpirun is missing (Debian: openmpi-bin)"; exit 77; }
rm -rf "$2"
mkdir -p "$2"
cd "$2" || exit 1
failures=0
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# expect OK|BAD HOW TEXT...: three ranks end within 15 s, well or not, and what they print has all the texts.
expect() {
  wanted=$1 how=$2
  shift 2
  begin=$(date +%s)
  timeout -k 5 60 mpirun -n 3 "$program" "$how" >out 2>&1
  status=$?
  seconds=$(($(date +%s) - begin))
  good=true
  [ $status -eq 0 ] && got=OK || got=BAD
  [ $got = "$wanted" ] || { echo "FAILED: $how: status $status"; good=false; }
  [ $seconds -le 15 ] || { echo "FAILED: $how: took $seconds s"; good=false; }
  for text in "$@"; do grep -q -e "$text" out || { echo "FAILED: $how: no \"$text\""; good=false; }; done
  $good || { sed 's/^/    /' out; failures=$((failures + 1)); }
}

expect OK well 'Open MPI: rank 0 of 3'
expect BAD throw 'rank 1: motet: .*rank 1 broke in step 20.*MT-B01' 'rank 0: motet: stopped, as rank 1' 'rank 2: motet: stopped, as rank 1'
expect BAD kill 'signal 9'
expect BAD deaf 'rank 1 broke, and rank 2 does not listen' 'rank [01]: not all ranks ended in time after a failure; MPI ends all ranks'
expect BAD stuck 'rank 0: motet: stopped, as rank 1 stopped because nothing moved for 0.3 s' 'rank 2: motet: stopped'
expect BAD short 'MT-B01'

# Started by itself, and by a launcher that MPI knows nothing of.
"$program" throw >out 2>&1 && { echo "FAILED: runs without a launcher"; failures=$((failures + 1)); }
grep -q 'MT-R23' out || { echo "FAILED: no MT-R23"; cat out; failures=$((failures + 1)); }
RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 timeout 30 "$program" well >out 2>&1 && { echo "FAILED: believes torchrun"; failures=$((failures + 1)); }
grep -q 'MPI says rank 0 of 1, the launcher said 2 ranks.*MT-B02' out || { echo "FAILED: no MT-B02"; cat out; failures=$((failures + 1)); }
# No rank agrees: one that went on alone would be mpirun's to end, which is not our test.
RANK=7 WORLD_SIZE=9 expect BAD well 'torchrun says RANK=7, WORLD_SIZE=9; Open MPI says OMPI_COMM_WORLD_RANK=' 'MT-R21'

[ $failures -eq 0 ] && echo "all well"
exit $failures
