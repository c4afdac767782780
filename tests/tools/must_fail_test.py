#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that must_fail.py takes of a folder's errors those of one file, and is not content with those of another."""
import pathlib
import sys
import tempfile
import unittest

import must_fail

SAID = """In file included from all.cpp:4:
folder/a.cpp: In instantiation of 'struct x<1>':
folder/a.cpp:6:3:   required from here
include/x.hpp:2:1: error: static assertion failed: motet: one is too many [MT-N01]
    2 | static_assert(n != 1);
include/x.hpp:2:1: note: '(1 != 1)' evaluates to false
folder/ba.cpp:9:3: error: static assertion failed: motet: two is too many [MT-N02]
"""
TOLD = "motet: one is too many [MT-N01]"


class of_a_folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = pathlib.Path(self.folder.name, "folder/a.cpp")
        self.source.parent.mkdir()
        self.addCleanup(self.folder.cleanup)

    def expects(self, *lines):
        self.source.write_text("".join(f"// {line}\n" for line in lines), encoding="utf-8")
        return must_fail.says(self.source, must_fail.of("folder/a.cpp", SAID))

    def test_each_error_is_of_the_file_that_it_names(self):
        self.assertEqual(len(must_fail.findings(SAID)), 2)
        self.assertIn("evaluates to false", must_fail.of("folder/a.cpp", SAID))
        self.assertNotIn("two", must_fail.of("folder/a.cpp", SAID))
        self.assertNotIn("one", must_fail.of("folder/ba.cpp", SAID))
        self.assertEqual(must_fail.of("a.cpp", "folder/ba.cpp:1:1: error: no\n"), "")
        self.assertEqual(must_fail.of("a.cpp", "folder/a.cpp:1:1: warning: no\n"), "")

    def test_what_is_expected_is_asked(self):
        self.assertTrue(self.expects("expect: " + TOLD))
        self.assertTrue(self.expects("expect: one .*[MT-N01]", "words: x.hpp"))
        self.assertFalse(self.expects("expect: two is too many [MT-N02]"))
        self.assertFalse(self.expects("expect: one .*[MT-N1]"))
        self.assertFalse(self.expects("expect: " + TOLD, "words: nowhere"))
        self.assertFalse(self.expects("expect: " + TOLD, "never: evaluates"))

    def test_what_the_folder_does_not_tell_is_compiled_by_itself(self):
        said = pathlib.Path(self.folder.name, "said")
        said.write_text("", encoding="utf-8")
        self.expects("expect: " + TOLD)
        tool = [sys.executable, must_fail.__file__, "--of", str(self.source), str(said)]
        alone = must_fail.run([*tool, "sh", "-c", f"echo '{TOLD}' >&2; exit 1"])
        self.assertIn(TOLD, alone.stdout)
        self.assertNotIn(TOLD, must_fail.run([*tool, "sh", "-c", f"echo '{TOLD}' >&2"]).stdout)

    def test_a_folder_that_compiles_is_told(self):
        said = str(pathlib.Path(self.folder.name, "said"))
        tool = [sys.executable, must_fail.__file__, "--all", said]
        self.assertEqual(must_fail.run([*tool, "true"]).returncode, 1)
        self.assertEqual(must_fail.run([*tool, "false"]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
