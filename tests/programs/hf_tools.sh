#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hf_tools.sh PROGRAMS SCRATCH: import_hf and export_hf say what is wrong with what they are given.
set -u
bin=$1
scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" || exit 2
failed=0
wanted() { # status, part of the message, command...
  status=$1 part=$2
  shift 2
  said=$("$@" 2>&1)
  got=$?
  if [ $got -ne "$status" ] || ! printf '%s' "$said" | grep -qF -e "$part"; then
    echo "$*: status $got, wanted $status and \"$part\"; it said: $said"
    failed=1
  fi
}
mkdir "$scratch/good" "$scratch/other" "$scratch/broken"
echo '{"vision_config": {"hidden_size": 48, "num_attention_heads": 4}}' >"$scratch/good/config.json"
echo '{"model_type": "siglip"}' >"$scratch/other/config.json"
echo '{"projection_dim": 512,}' >"$scratch/broken/config.json"
wanted 0 '.width = 48,' "$bin/import_hf" "$scratch/good"
wanted 0 'namespace my_clip {' "$bin/import_hf" "$scratch/good" --name my_clip
mkdir "$scratch/seeing"
echo '{"model_type": "llava"}' >"$scratch/seeing/config.json"
wanted 0 'motet::seeing_decoder<eye, glue, words_config' "$bin/import_hf" "$scratch/seeing"
wanted 0 'import_hf DIR' "$bin/import_hf" --help
wanted 2 'MT-X30' "$bin/import_hf"
wanted 2 'unknown flag: --bogus' "$bin/import_hf" "$scratch/good" --bogus
wanted 2 'cannot be the name of a namespace' "$bin/import_hf" "$scratch/good" --name my-clip
wanted 2 'needs a side in pixels' "$bin/import_hf" "$scratch/good" --image 4o
wanted 2 'is less than a patch' "$bin/import_hf" "$scratch/good" --image 1
wanted 3 'MT-F04' "$bin/import_hf" "$scratch/absent"
wanted 3 'model_type is "siglip"' "$bin/import_hf" "$scratch/other"
wanted 3 'line 1 column 24' "$bin/import_hf" "$scratch/broken"
wanted 2 '--output is missing' "$bin/export_hf" --checkpoint "$scratch"
wanted 2 'unknown flag --bogus' "$bin/export_hf" --bogus
wanted 2 'fp32, bf16 or fp16, got fp8' "$bin/export_hf" --checkpoint "$scratch" --output "$scratch/out" --precision fp8
wanted 2 'a count of one or more, got 5GB' "$bin/export_hf" --checkpoint "$scratch" --output "$scratch/out" --file-bytes 5GB
wanted 3 'MT-R50' "$bin/export_hf" --checkpoint "$scratch" --output "$scratch/out"
[ ! -e "$scratch/out" ] || { echo "a failed export left $scratch/out"; failed=1; }
exit $failed
