#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cards and pages that break each rule of check_cards.py, beside some that keep it: a checker that cannot fail checks nothing. Status 77: no PyYAML."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_cards  # noqa: E402

CARD = """name: speed
what: steps of two towers
page: results.md
section: Results
command: bench_step --model tiny
commit: 7215e01
date: 2026-11-21
machine: two cores
rows: bench/results/speed.jsonl
status: holds
numbers:
  - {of: "peer over ours", value: 1.20, unit: ratio, bar: ">= 1.1"}
  - {of: "samples", value: 2048, unit: samples/s}
"""
PAGE = "# Results\n\nOurs ([card](cards/speed.yaml)) is 1.20 times as fast, at 2,048 samples/s in bf16 with `--batch 64` and AVX-512.\n\n## Rest\n\nWords.\n"

def faults_of(card=CARD, page=PAGE):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in (
            ("docs/cards/speed.yaml", card),
            ("docs/results.md", page),
            ("bench/step.cpp", 'line.choice("--model", model, models, "which");'),
            ("bench/results/speed.jsonl", "{}"),
            ("examples/train.cpp", "#include <motet/run/run_program.hpp>"),
            ("include/motet/run/run_settings.hpp", 'line.count("--batch", batch, 1, "how many");'),
        ):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check_cards.check(root)[1]

class Cards(unittest.TestCase):
    def says(self, sentence, **given):
        found = faults_of(**given)
        self.assertTrue(any(sentence in each for each in found), found)

    def test_what_is_right_is_silent(self):
        self.assertEqual(faults_of(), [])

    def test_fields(self):
        self.says("lacks machine", card=CARD.replace("machine: two cores\n", ""))
        self.says("has a strange weather", card=CARD + "weather: fine\n")
        self.says("is called fast", card=CARD.replace("name: speed", "name: fast"))
        self.says('status "good"', card=CARD.replace("status: holds", "status: good"))
        self.says("commit main is none", card=CARD.replace("7215e01", "main"))
        self.says("date today is none", card=CARD.replace("2026-11-21", "today"))
        self.says("there is no bench/results/fast.jsonl", card=CARD.replace("results/speed", "results/fast"))
        self.says("has not of, unit, value", card=CARD.replace(", unit: samples/s", ""))

        self.says("speed.jsonl: no card reads it", card=CARD.replace("rows: bench/results/speed.jsonl\n", ""))

    def test_commands(self):
        self.says("there is no program or script bench_walk", card=CARD.replace("bench_step", "bench_walk"))
        self.says("there is no program or script bench/none.sh", card=CARD.replace("bench_step --model tiny", "sh bench/none.sh"))
        self.says("bench_step does not know --speed", card=CARD.replace("--model tiny", "--speed 3"))
        self.says("bench_step does not know --speed", card=CARD.replace("bench_step --model tiny", "mpirun -n 2 bench_step --speed=3"))

    def test_options_of_training_programs_are_the_librarys(self):
        self.assertEqual(faults_of(card=CARD.replace("bench_step --model tiny", "train --batch 8")), [])
        self.says("train does not know --speed", card=CARD.replace("bench_step --model tiny", "train --speed 3"))

    def test_bars(self):
        self.says("1 of 1 bars are missed", card=CARD.replace(">= 1.1", ">= 1.5"))
        self.says("0 of 1 bars are missed", card=CARD.replace("status: holds", "status: falls short"))
        self.assertEqual(faults_of(card=CARD.replace(">= 1.1", ">= 1.5").replace("status: holds", "status: falls short")), [])
        self.says("wanted measured or simulated", card=CARD.replace(', bar: ">= 1.1"', ""))
        self.says("wanted >= NUMBER", card=CARD.replace(">= 1.1", "fast"))

    def test_pages(self):
        self.says("1.3 is in no card", page=PAGE.replace("1.20", "1.30"))
        self.says("does not tell peer over ours", page=PAGE.replace("1.20", "1.30"))
        self.says("Rest: 7 is in no card", page=PAGE.replace("Words", "It took 7 days"))
        self.says("has no link to the card speed", page=PAGE.replace("cards/speed.yaml", "elsewhere"))
        self.says("has no section Results", page=PAGE.replace("# Results", "# Other"))

if __name__ == "__main__":
    unittest.main()
