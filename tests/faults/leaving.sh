# SPDX-License-Identifier: Apache-2.0
# A run that is asked to leave ends in the code of who asked, and loses no step.

attack "SIGINT, SIGTERM, SIGHUP and SIGUSR1 at some moment of a step"
for n in $(often 1); do
  for ask in INT:130 TERM:143 HUP:143 USR1:143; do
    try
    start --checkpoint "asked-$ask-$n"
    wait_up_to 100
    kill -"${ask%:*}" "$child"
    end
    [ "$status" -eq "${ask#*:}" ] || fail "status $status after SIG${ask%:*}"
    saved "asked-$ask-$n" || fail "SIG${ask%:*} lost a step"
    ! is_long || succeed --data random --checkpoint "asked-$ask-$n" --resume --check
    rm -rf "asked-$ask-$n"
  done
done

attack "nobody reads what is printed"
try
{ "$train" $run --steps 30 --checkpoint unread 2>err; echo $? >status; } | head -n 1 >out
[ "$(cat status)" -eq 0 ] && [ -d unread/step-000030 ] || fail "status $(cat status) when nobody reads"
