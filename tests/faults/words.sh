# SPDX-License-Identifier: Apache-2.0
# Command lines that ask for what there is not, and the exit codes.

attack "numbers beyond what is kept, threads that cannot be made, pipes named like shards"
words() { # status, text, arguments
  try
  expect "$@"
}
words 2 '--threads wants at most 4096, got 2147483648.*MT-X03' --data random --threads 2147483648
words 2 '--ranks wants at most 2147483647, got 4294967298.*MT-X03' --data random --plan data-2 --ranks 4294967298
words 2 '--batch wants at most 2147483647, got 4611686018427387904.*MT-X03' --data random --batch 4611686018427387904
words 2 '--batch wants a whole number, got "9223372036854775808".*MT-X03' --data random --batch 9223372036854775808
try
(
  ulimit -v 16000000
  "$train" --data random --model quick --batch 8 --threads 4096 --no-report --steps 1 >out 2>err
  echo $? >status
)
grep -q 'wanted 4096, got [0-9]* .*MT-B22' err && [ "$(cat status)" -eq 1 ] || fail "status $(cat status) where threads cannot be made"
mkdir pipes
mkfifo pipes/train-000.tar pipes/tokenizer.json
words 3 'pipes/.*MT-' --data pipes
draw_shapes shapes
rm shapes/train-000.tar
mkfifo shapes/train-000.tar
words 3 'shapes/train-000.tar (not a regular file).*MT-D01' --data shapes

attack "exit codes: one table, printed by --help, and one of each besides those above"
succeed --help
for code in 0 1 2 3 4 130 138 143; do
  grep -q "^  $code  *[a-z]" out || fail "--help does not tell the exit code $code"
done
words 2 MT-X01 --no-such-option
words 3 MT-D01 --data nowhere
try
(
  ulimit -v 600000
  "$train" --data random --model tiny --batch 30000 --threads 1 --no-report --steps 1 >out 2>err
  echo $? >status
)
[ "$(cat status)" -eq 4 ] || fail "status $(cat status) without memory"
