#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that seconds.py sees a run that grew, whatever the machine."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import seconds  # noqa: E402

BUDGET = {f"release: file{i}.cpp": 10.0 for i in range(20)}


class Seconds(unittest.TestCase):
    def test_a_slower_machine_is_no_growth(self):
        whole, machine = seconds.growth({what: 3 * each for what, each in BUDGET.items()}, BUDGET)
        self.assertAlmostEqual(whole, 1)
        self.assertAlmostEqual(machine, 3)

    def test_new_files_are_growth(self):
        whole, _ = seconds.growth({**{what: 2 * each for what, each in BUDGET.items()}, "release: new.cpp": 60.0}, BUDGET)
        self.assertAlmostEqual(whole, 1.15)
        self.assertGreater(whole, seconds.ALLOWED)

    def test_one_file_that_grew_is_growth(self):
        whole, machine = seconds.growth({**BUDGET, "release: file3.cpp": 50.0}, BUDGET)
        self.assertAlmostEqual(machine, 1)
        self.assertAlmostEqual(whole, 1.2)

    def test_nothing_measured(self):
        self.assertEqual(seconds.growth({}, BUDGET), (None, None))

    def test_logs_and_results(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "release")
            folder.mkdir()
            (folder / ".ninja_log").write_text("# ninja log v5\n0\t1500\t0\tCMakeFiles/one.dir/a.cpp.o\tx\n0\t2500\t0\tCMakeFiles/one.dir/a.cpp.o\tx\n0\t100\t0\tbin/one\tx\n")
            pathlib.Path(scratch, "release.xml").write_text('<testcase name="unit.a" classname="unit.a" time="0.75" status="run"/>')
            self.assertEqual(seconds.measured([folder]), {"release: one a.cpp": 2.5, "release: small": 0.1, "release: unit.a": 0.75})


if __name__ == "__main__":
    unittest.main()
