# SPDX-License-Identifier: Apache-2.0
# What tests of train_clip begin with, read by each: it is given PROGRAMS SCRATCH, and works in the latter, made anew.
programs=$1
here=$2
train=$programs/train_clip
rm -rf "$here"
mkdir -p "$here"
cd "$here" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  sed 's/^/    /' out err
  failures=$((failures + 1))
}
# expect STATUS TEXT ARGUMENTS...: the program ends so and says so on standard error.
expect() {
  wanted=$1 text=$2
  shift 2
  timeout 100 "$train" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] || fail "status $status instead of $wanted: train_clip $*"
  grep -q -e "$text" err || fail "no \"$text\" from: train_clip $*"
}
succeed() {
  timeout 100 "$train" "$@" >out 2>err || fail "status $? from: train_clip $*"
}
