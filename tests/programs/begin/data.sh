# SPDX-License-Identifier: Apache-2.0
# What tests of programs that make data say: `wrong WHAT` fails, and `refused CODE STATUS WORDS...` wants that $program ends with that status and names that code.
wrong() {
  echo "FAILED: $1"
  exit 1
}
refused() {
  code=$1
  status=$2
  shift 2
  got=0
  "$program" "$@" >said 2>&1 || got=$?
  [ "$got" = "$status" ] || wrong "$* ended with $got, wanted $status: $(cat said)"
  grep -q "\[$code\]" said || wrong "$* did not say $code: $(cat said)"
}
