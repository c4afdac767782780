#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack: the lines of docs/your_data.md run as they stand there, and make what the page says; bad input is named and nothing is half-written.
set -eu
programs=$(cd "$1" && pwd)
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
PATH=$programs:$PATH

program=pack
. "$MOTET_SOURCE/tests/programs/begin/data.sh"
says() { grep -q "$1" said || wrong "not said: $1, but $(cat said)"; }

# What the page takes for given: a folder with captions beside, tables over it, classes as folders, shards.
make_shapes --output old --count 240 --format ppm --shards 2 --quiet
mkdir photos animals tables
for shard in old/train-*.tar; do tar -xf "$shard" -C photos; done
rm photos/*.json
for class in cat dog; do
  mkdir animals/$class
  for picture in $(ls photos/*.ppm | if [ $class = cat ]; then head -20; else tail -20; fi); do cp "$picture" animals/$class; done
done
(
  cd photos
  echo image,caption >pairs.csv
  printf 'where\twhat\n' >../tables/rows.tsv
  images=
  captions=
  for picture in *.ppm; do
    caption=$(cat "${picture%.ppm}.txt")
    echo "$picture,\"$caption\"" >>pairs.csv
    printf '%s\t%s\n' "$picture" "$caption" >>../tables/rows.tsv
    echo "{\"file_name\": \"$picture\", \"text\": [\"$caption\", \"$caption indeed\"]}" >>metadata.jsonl
    id=$(echo "$picture" | tr -dc 0-9 | sed 's/^0*//')
    images="$images${images:+, }{\"id\": ${id:=0}, \"file_name\": \"$picture\"}"
    captions="$captions${captions:+, }{\"image_id\": $id, \"caption\": \"$caption\"}"
  done
  echo "{\"images\": [$images], \"annotations\": [$captions]}" >captions_train.json
)
# Conversations in LLaVA's form about the same pictures, beside them when their turn comes.
for picture in photos/*.ppm; do
  printf '{"image": "%s", "conversations": [{"from": "human", "value": "<image>what is this?"}, {"from": "gpt", "value": "%s"}]}\n' \
    "${picture#photos/}" "$(cat "${picture%.ppm}.txt")"
done | sed '1s/^/[/; $!s/$/,/; $s/$/]/' >llava.json

# Each line of the page's blocks; the sets are put aside, by their numbers.
sed -n '/^```sh$/,/^```$/p' "$MOTET_SOURCE/docs/your_data.md" | grep -v '^```' >lines
number=0
while read -r line; do
  case $line in
    *--producers* | MOTET_TOKEN=* | '' | '#'*) ;; # producers.py runs such
    pack*)
      number=$((number + 1))
      rm -rf set
      eval "$line" >said 2>&1 || wrong "$line: $(cat said)"
      cp -r set "set$number"
      cp said "said$number"
      ;;
    train_clip*)
      case " $MOTET_MODELS " in
        *" quick "*) 
          eval "$line --threads 2" >said 2>&1 </dev/null || wrong "$line: $(cat said)"
          says "own caption among the first 1, 5, 10: .* (of 19, step 20)" # without classes
          ;;
      esac
      ;;
    train_vlm*) # fewer steps than the page's
      case " $MOTET_MODELS " in
        *" quick "*)
          cp llava.json photos
          eval "$(echo "$line" | sed 's/--steps [0-9]*/--steps 3/') --threads 2" >said 2>&1 </dev/null || wrong "$line: $(cat said)"
          says "190 samples with 190 pictures"
          rm photos/llava.json
          ;;
      esac
      ;;
    *) wrong "docs/your_data.md runs \"$line\"" ;;
  esac
done <lines
[ "$number" = 7 ] || wrong "$number lines of pack in docs/your_data.md, wanted 7"

grep -q "^171 samples to train on, 19 held out, 0 classes" said1 || wrong "a folder: $(cat said1)"
grep -q "^36 samples to train on, 4 held out, 2 classes" said2 || wrong "class folders: $(cat said2)"
tar -xOf set2/train-000.tar --wildcards '*.txt' | grep -q 'a photo of a cat' || wrong "no caption of a class"
grep -q '"caption": "a photo of a dog"' set2/classes.json || wrong "no dog in $(cat set2/classes.json)"
# A table says the same as the folder, so that the sets are the same to the byte, but for where they come from.
pairs() { for shard in "$1"/t*.tar; do tar -tf "$shard"; done; }
for table in 3 4 6; do
  for file in tokenizer.json train-000.tar test-000.tar; do cmp "set1/$file" "set$table/$file" || wrong "set $table differs in $file"; done
done
grep -q "^342 samples to train on, 38 held out" said5 || wrong "two captions each: $(cat said5)"
# The shards hold the same pictures and captions again: what is there already is left out.
grep -q "^171 samples to train on, 19 held out" said7 || wrong "shards and folder: $(cat said7)"
[ "$(grep -c 'is there already' set7/left_out.csv)" = 190 ] || wrong "190 twice, got $(grep -c already set7/left_out.csv)"
pairs set1 | grep -c '\.ppm$' | grep -qx 190 || wrong "190 pictures"

# Damage is left out and named; strict, it is an error. --check writes nothing.
echo broken >photos/train0000003.ppm
rm photos/train0000004.txt
pack --from photos --output damaged >said
says "^left out: 2, each named in damaged/left_out.csv"
grep -q 'train0000003.ppm.*MT-D05' damaged/left_out.csv || wrong "no reason in $(cat damaged/left_out.csv)"
grep -q 'train0000004.ppm","has no caption' damaged/left_out.csv || wrong "no reason in $(cat damaged/left_out.csv)"
refused MT-D05 3 --from photos --output strict --strict
[ -z "$(ls -A strict)" ] || wrong "a refused set left $(ls -A strict)"
pack --from photos --check >said
says "nothing written"

# A set may be made again, smaller; anybody else's folder stays as it is.
pack --from photos --output damaged --held-out 0 --shard 1000 >said
[ ! -e damaged/test-000.tar ] || wrong "an old shard was left"
refused MT-D16 3 --from photos --output photos
refused MT-D01 3 --from nowhere --output x
refused MT-D10 3 --from tables --output x
# Captions in a table of the folder: the table is named.
mkdir tabled
cp photos/train0000000.ppm tabled
echo "image,caption" >tabled/all.csv
refused MT-D10 3 --from tabled --output x
says 'give --from tabled/all.csv'
refused MT-D15 3 --from photos/pairs.csv --caption colour --output x
says '"image", "caption", wanted "colour"'
printf 'image,caption\na.ppm,"x\n' >open.csv
refused MT-F15 3 --from open.csv --output x
says 'open.csv, line 2, cell 2'
refused MT-X04 2 --output x
refused MT-X01 2 --from photos --output x --colour red
refused MT-D13 3 --from animals --output x --class-caption "no place"
echo passed
