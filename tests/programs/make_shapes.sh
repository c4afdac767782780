#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_shapes: the same arguments make the same bytes, shards only cut, and every refusal has its code.
set -eu
make_shapes=$1/make_shapes
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

program=$make_shapes
. "$MOTET_SOURCE/tests/programs/begin/data.sh"

"$make_shapes" --output one --count 700 --format ppm --shards 1 --quiet
"$make_shapes" --output again --count 700 --format ppm --shards 1 --quiet
"$make_shapes" --output three --count 700 --format ppm --shards 3 --quiet
"$make_shapes" --output other --count 700 --format ppm --shards 1 --seed 2 --quiet
diff -r one again || wrong "the same arguments made other bytes"
for file in test-000.tar tokenizer.json classes.json; do cmp "one/$file" "three/$file" || wrong "$file depends on the shards"; done
cmp -s one/train-000.tar other/train-000.tar && wrong "seeds do not matter"

names() { for shard in "$1"/train-*.tar; do tar -tf "$shard"; done; }
[ "$(names one)" = "$(names three)" ] || wrong "shards changed the samples"
mkdir unpacked-one unpacked-three
tar -xf one/train-000.tar -C unpacked-one
for shard in three/train-*.tar; do tar -xf "$shard" -C unpacked-three; done
diff -r unpacked-one unpacked-three || wrong "shards changed what is drawn"

# 70 held out: every class among them, and a caption and a picture for each.
[ "$(tar -tf one/test-000.tar | wc -l)" = 210 ] || wrong "210 members held out, got $(tar -tf one/test-000.tar | wc -l)"
classes=$(tar -xOf one/test-000.tar --wildcards '*.json' | grep -o '"class": [0-9]*' | sort -u | wc -l)
[ "$classes" = 50 ] || wrong "50 classes held out, got $classes"

# Its own folder may be made anew, with fewer shards; nobody else's.
"$make_shapes" --output three --count 300 --format ppm --shards 1 --quiet
[ "$(ls three)" = "about.json
classes.json
test-000.tar
tokenizer.json
train-000.tar" ] || wrong "left over: $(ls three)"
mkdir foreign
echo mine >foreign/train-000.tar
refused MT-D16 3 --output foreign --count 10 --format ppm
[ "$(cat foreign/train-000.tar)" = mine ] || wrong "touched a foreign file"

# Sounds come behind the pairs, which stay what they are: of 50 held-out pictures as many sounds, and half as many with a picture.
for shards in 1 2; do "$make_shapes" --output heard$shards --count 100 --task sounds --format ppm --shards $shards --quiet; done
cmp heard1/test-000.tar heard2/test-000.tar || wrong "held-out sounds depend on the shards"
[ "$(tar -tf heard1/test-000.tar | grep -c '^test-sound.*[.]0[.]wav$')" = 50 ] || wrong "not 50 held-out sounds"
[ "$(tar -tf heard1/test-000.tar | grep -c '^test-both.*[.]1[.]wav$')" = 25 ] || wrong "not 25 of a picture and a sound"
[ "$(tar -xOf heard1/test-000.tar test-sound0000000.0.wav | wc -c)" = 20524 ] || wrong "a sound is not 0.64 s of 16 bits"
tar -xOf heard1/test-000.tar test-sound0000021.json | grep -q 'flute.*re\|re.*flute' || wrong "sound 21 is not of the second tone"
grep -q '"bell la"' heard1/classes.json || wrong "classes lack tones"
refused MT-X20 2 --output x --count 10 --task songs
refused MT-X20 2 --output x --count 10 --colour red
refused MT-X20 2 --output x
refused MT-X20 2 --count 10
refused MT-X20 2 --output x --count ten
refused MT-X20 2 --output x --count 1
refused MT-X20 2 --output x --count 10 --format gif
refused MT-X20 2 --output x --count 10 --size 8
refused MT-X20 2 --output x --count
refused MT-F05 1 --output /dev/null/x --count 10
[ ! -e x ] || wrong "a refused command line left a folder"

# A full disk, by a limit on the size of a file: the error names it, and nothing is left under a final name.
(
  trap '' XFSZ
  ulimit -f 100
  refused MT-F06 1 --output full --count 100 --format ppm
)
[ -z "$(ls -A full)" ] || wrong "a full disk left $(ls -A full)"
echo passed
