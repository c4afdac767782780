#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that seconds.py sees a run that grew, whatever the machine."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import seconds  # noqa: E402


def tell(made, seconds_of_a_core, at=None):
    made.parent.mkdir(parents=True, exist_ok=True)
    told = made.with_name(made.name + ".seconds")
    told.write_text(f"0m0.00s 0m0.00s\n{int(seconds_of_a_core // 60)}m{seconds_of_a_core % 60 / 2:.6f}s 0m{seconds_of_a_core % 60 / 2:.3f}s\n")
    if at is not None:
        os.utime(told, (at, at))


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
            tell(folder / "CMakeFiles/one.dir/a.cpp.o", 62.5)
            tell(folder / "bin/one", 0.1)
            pathlib.Path(scratch, "release.xml").write_text('<testcase name="unit.a" classname="unit.a" time="0.75" status="run"/>')
            self.assertEqual(seconds.measured([folder]), {"release: one a.cpp": 62.5, "release: small": 0.1, "release: unit.a": 0.75})
            # What is too short to be listed is there all the same, and what was not built may not be asked for.
            budget = dict.fromkeys(["release: one a.cpp", "release: one", "release: small", "release: two b.cpp", "release: unit.b", "cuda: gpu.a"], 1.0)
            self.assertEqual(seconds.gone([folder], budget), ["release: two b.cpp", "release: unit.b"])

    def run_against(self, scratch, libraries, names):
        budget = pathlib.Path(scratch, "seconds.txt")
        budget.write_text("".join(f"{line}\n" for line in [seconds.processor(), libraries, *(f"2.5 release: {name}" for name in names)]))
        before = sys.argv
        sys.argv = ["seconds.py", str(budget), str(pathlib.Path(scratch, "release"))]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                return seconds.main(), said.getvalue()
        finally:
            sys.argv = before

    def test_a_name_that_is_no_more_fails(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "release")
            tell(folder / "CMakeFiles/one.dir/a.cpp.o", 2.5)
            (folder / "build.ninja").write_text("build a\n  DEFINES = -DMOTET_HAS_MPI=1 -DMOTET_HAS_SPNG=0\n")
            self.assertEqual(self.run_against(scratch, "# with MPI", ["one a.cpp"])[0], 0)
            status, said = self.run_against(scratch, "# with MPI", ["one a.cpp", "two b.cpp"])
            self.assertEqual(status, 1)
            self.assertIn("  release: two b.cpp\n", said)
            status, said = self.run_against(scratch, "# with MPI SPNG", ["one a.cpp", "two b.cpp"])
            self.assertEqual(status, 0)
            self.assertIn("1 names of the budget are not here, which was made with MPI SPNG; here it is with MPI\n", said)

    def test_phases(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "release")
            tell(folder / "CMakeFiles/one.dir/a.cpp.o", 1.5, at=130)
            tell(folder / "CMakeFiles/later.dir/b.cpp.o", 9, at=300)
            pathlib.Path(scratch, "release.xml").write_text("".join(f'<testcase name="unit.{i}" time="{i}.5"/>' for i in range(8)))
            build, tests = seconds.phases(["100 200 150 build release release", "190 210 5 tests release release"], pathlib.Path(scratch))
            self.assertEqual(build, (100, 200, 150, "release build", [(1.5, "one a.cpp")]))
            self.assertEqual(tests, (190, 210, 5, "release tests", [(i + 0.5, f"unit.{i}") for i in (7, 6, 5, 4, 3)]))

    def test_a_launcher_tells_of_what_was_made(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "release")
            folder.mkdir()
            launch = ["sh", str(pathlib.Path(__file__).parent / "core_seconds.sh"), "sh", "-c"]
            work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
            self.assertEqual(subprocess.run([*launch, work, "-c", "a.cpp", "-o", str(folder / "a b.o")], check=False).returncode, 0)
            self.assertEqual(subprocess.run([*launch, "exit 3", "-o", str(folder / "c.o")], check=False).returncode, 3)
            ((what, took),) = seconds.built(folder)
            self.assertEqual(what, "release: a b.o")
            self.assertGreater(took, 0.005)
            self.assertLess(took, 20)


if __name__ == "__main__":
    unittest.main()
