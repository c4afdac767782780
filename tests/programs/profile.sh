#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile.sh PROGRAMS SCRATCH: measures the quickstart's towers shortly; the profile has every point that was asked for, the cluster is one that can be planned
# for, and what is wrong on the command line is said.
set -u
profile=$1/profile
scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" || exit 2
cd "$scratch" || exit 2
failed=0
wrong() {
  echo "FAILED: $1"
  failed=1
}
refused() { # status, code, words...
  status=$1 code=$2
  shift 2
  said=$(timeout 60 "$profile" "$@" 2>&1)
  got=$?
  [ $got -eq "$status" ] || wrong "$* ended with $got, wanted $status"
  case $said in *"[$code]"*) ;; *) wrong "$* did not say $code: $said" ;; esac
}

timeout 300 "$profile" --model quick --degrees 1,2 --samples 2,4 --repeats 1 --seconds 0 --output quick.json --cluster here.json >said || wrong "the program ended with $?"
[ "$(grep -c '"tensor": 1, "samples"' quick.json)" = 4 ] || wrong "two towers have two numbers of samples each, got $(cat quick.json)"
[ "$(grep -c '"tensor": 2, "samples"' quick.json)" = 4 ] || wrong "points of degree 2 are missing"
grep -q '"activation_bytes": 4' quick.json || wrong "fp32 has numbers of four bytes"
grep -q '"name": "caption"' quick.json || wrong "the captions' tower is missing"
grep -q 'fitted: products reach' said || wrong "nothing was fitted: $(cat said)"
[ "$(grep -c '^picture' said)" = 4 ] || wrong "the table has not a line for each point"
grep -q '"half_rows"' here.json || wrong "the cluster has no efficiency"
if [ -x "$1/plan_cluster" ]; then
  timeout 120 "$1/plan_cluster" --model quick --cluster here.json --batch 64 >plans 2>&1 || wrong "no plan for the measured machine: $(cat plans)"
  timeout 120 "$1/plan_cluster" --model quick --cluster here.json --batch 64 --profile quick.json >plans 2>&1 || wrong "no plan by measured times: $(cat plans)"
fi
timeout 300 "$profile" --model quick --degrees 4 --samples 3 --repeats 1 --seconds 0 --precision bf16 --output half.json >said || wrong "bf16 ended with $?"
grep -q '"activation_bytes": 2' half.json || wrong "bf16 has numbers of two bytes"

# An eye and a language model of train_vlm; of the latter its blocks alone.
timeout 300 "$profile" --model say-quick --degrees 1,2 --samples 2 --repeats 1 --seconds 0 --output seeing.json --cluster seen.json >said || wrong "say-quick ended with $?"
grep -q '"name": "eye"' seeing.json && grep -q '"name": "talk"' seeing.json || wrong "the modules of say-quick are missing: $(cat seeing.json)"
[ "$(grep -c '"before": \[0.0, 0.0, 0.0\].*"behind": \[0.0, 0.0, 0.0\]' seeing.json)" = 2 ] || wrong "the ends of words are not measured: $(cat seeing.json)"
if [ -x "$1/train_vlm" ]; then
  timeout 120 "$1/train_vlm" --model say-quick --data random --batch 8 --orchestrate seen.json --profile seeing.json --check >found 2>&1
  case "$? $(cat found)" in
    "0 "*"measured  eye, talk by seeing.json; what is not takes what its FLOPs tell"*) ;;
    *"compiled without this model"*) ;;
    *) wrong "no plan by a profile of its modules: $(cat found)" ;;
  esac
fi

# Two modules at once, of a pair of towers and of a model that sees.
timeout 300 "$profile" --model quick --degrees 1 --samples 2 --repeats 1 --seconds 0 --pair caption,picture --threads 4 --output pair.json >said || wrong "a pair ended with $?"
[ "$(grep -c '"slowdowns"' pair.json)" = 3 ] || wrong "a pair has three shares, got $(cat pair.json)"
grep -q '"share": 0.25, "threads": \[1, 3\]' pair.json || wrong "a quarter of four threads is one, got $(cat pair.json)"
[ "$(grep -c '"tensor": 1, "samples"' pair.json)" = 2 ] || wrong "towers are measured beside a pair"
grep -q '^caption beside picture' said || wrong "the pair is not told: $(cat said)"
if [ -x "$1/plan_cluster" ]; then
  timeout 120 "$1/plan_cluster" --model quick --cluster here.json --batch 64 --profile pair.json >plans 2>&1 || wrong "no plan by a profile with a pair: $(cat plans)"
fi
timeout 300 "$profile" --model say-quick --samples 2 --repeats 1 --seconds 0 --pair eye,talk --threads 2 --precision bf16 --output say.json >said || wrong "a pair of say-quick ended with $?"
grep -q '"first": "eye"' say.json || wrong "the eye's name is missing, got $(cat say.json)"

refused 2 MT-X03 --model say-quick --pair eye,glue
refused 2 MT-X03 --pair caption
refused 2 MT-X03 --model nonsense
refused 2 MT-X03 --degrees 1,,2
refused 2 MT-X03 --degrees 0
refused 2 MT-X03 --samples 8,x
refused 2 MT-X03 --samples 8,
refused 2 MT-X01 --modle quick
refused 3 MT-S09 --degrees 8 --samples 1 --repeats 1 --seconds 0
refused 1 MT-F05 --samples 1 --degrees 1 --repeats 1 --seconds 0 --output missing/folder/p.json
exit $failed
