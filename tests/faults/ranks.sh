# SPDX-License-Identifier: Apache-2.0
# Ranks that die, and guests that are none. What else ranks do when one fails is tests/programs/mpi_failure.sh.

meeting=$programs/tests/meeting_rank
if [ -x "$meeting" ]; then
  attack "guests at the place where ranks meet, silent or babbling, who keep no rank out"
  for n in $(often 1); do
    try
    port=$("$meeting" port)
    rank() {
      RANK=$1 WORLD_SIZE=3 LOCAL_RANK=$1 LOCAL_WORLD_SIZE=3 GROUP_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
        timeout -k 5 60 "$meeting" well 20 >"rank.$1" 2>&1
      echo $? >"status.$1"
    }
    rank 0 &
    first=$!
    python3 "$faults/guests.py" "$port" 40 &
    guests=$!
    sleep 0.3
    rank 1 &
    second=$!
    rank 2 &
    third=$!
    wait $first $second $third
    kill $guests 2>/dev/null
    wait $guests 2>/dev/null
    cat rank.? >out
    : >err
    [ "$(cat status.0 status.1 status.2 | sort -u)" = 0 ] || fail "ranks ended as $(cat status.0 status.1 status.2 | tr '\n' ' ')with guests around"
  done
fi

if is_long && [ -x "$programs/tests/mpi_failure" ] && command -v mpirun >/dev/null 2>&1; then
  attack "a rank of three killed or stopped, or all others and mpirun stopped: all end in time, and the next run goes on"
  timeout 3000 sh "$faults/../programs/mpi_failure.sh" "$programs" "$PWD/mpi" "$times_of_long" >out 2>err || fail "ranks of which one was harmed"
  tries=$(grep -c 'ms, then step' out)
  sed -n 's/.*: \([0-9]*\) ms, then step.*/\1/p' out | sort -n | tail -n 1 | sed 's/^/        the slowest ended after ms: /'
fi
