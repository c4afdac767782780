#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that seconds.py sees a run that grew, whatever the machine."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import seconds  # noqa: E402

BUDGET = {f"release: target file{i}.cpp": 10.0 for i in range(20)}
TESTS = {f"release: test{i}": 5.0 for i in range(20)}


class Seconds(unittest.TestCase):
    def test_a_slower_machine_is_no_growth(self):
        whole, machine, _ = seconds.growth({what: 3 * each for what, each in BUDGET.items()}, BUDGET)
        self.assertAlmostEqual(whole, 1)
        self.assertAlmostEqual(machine, 3)

    def test_a_machine_may_be_slower_at_one_kind_of_work(self):
        found = {**BUDGET, **{what: 4 * each for what, each in TESTS.items()}}
        whole, _, _ = seconds.growth(found, {**BUDGET, **TESTS})
        self.assertAlmostEqual(whole, 1)

    def test_weather_is_no_growth(self):
        found = {what: each * (1.3 if i % 3 else 0.8) for i, (what, each) in enumerate(BUDGET.items())}
        whole, _, _ = seconds.growth(found, BUDGET)
        self.assertLess(abs(whole - 1), 0.06)

    def test_new_files_are_growth(self):
        whole, _, grown = seconds.growth({**{what: 2 * each for what, each in BUDGET.items()}, "release: new new.cpp": 60.0}, BUDGET)
        self.assertAlmostEqual(whole, 1.15)
        self.assertGreater(whole, seconds.ALLOWED)
        self.assertEqual(max(grown, key=grown.get), "release: new new.cpp")

    def test_one_file_that_grew_is_growth(self):
        whole, machine, _ = seconds.growth({**BUDGET, "release: target file3.cpp": 50.0}, BUDGET)
        self.assertAlmostEqual(machine, 1)
        self.assertAlmostEqual(whole, 1 + (40 - 10 / 3) / 200)

    def test_what_went_away_makes_room(self):
        found = {what: each for what, each in BUDGET.items() if not what.endswith("file3.cpp")}
        whole, _, _ = seconds.growth({**found, "release: new new.cpp": 6.0}, BUDGET)
        self.assertLess(whole, 1)

    def test_nothing_measured(self):
        self.assertEqual(seconds.growth({}, BUDGET), (None, None, {}))

    def test_logs_and_results(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "release")
            folder.mkdir()
            (folder / ".ninja_log").write_text("# ninja log v5\n0\t1500\t0\tCMakeFiles/one.dir/a.cpp.o\tx\n0\t2500\t0\tCMakeFiles/one.dir/a.cpp.o\tx\n0\t100\t0\tbin/one\tx\n")
            pathlib.Path(scratch, "release.xml").write_text('<testcase name="unit.a" classname="unit.a" time="0.75" status="run"/>')
            self.assertEqual(seconds.measured([folder]), {"release: one a.cpp": 2.5, "release: small": 0.1, "release: unit.a": 0.75})


if __name__ == "__main__":
    unittest.main()
