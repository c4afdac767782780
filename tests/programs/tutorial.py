# SPDX-License-Identifier: Apache-2.0
"""tutorial.py PROGRAMS SCRATCH: each page of docs/tutorial shows the whole program that examples/tutorial has, of at most 60 lines, and what it prints."""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

programs, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(os.environ["MOTET_SOURCE"])
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
failed = 0


def wanted(what, holds, said=""):
    global failed
    if not holds:
        failed += 1
        print(f"FAILED: {what}: {said}")


def same(printed, shown):
    """The same words and whole numbers; others within one of their last place, as processors add up in different orders."""
    if NUMBER.sub("#", printed) != NUMBER.sub("#", shown):
        return False
    for a, b in zip(NUMBER.findall(printed), NUMBER.findall(shown)):
        places = len(b.partition(".")[2])
        if (len(a.partition(".")[2]) != places) or not math.isclose(float(a), float(b), rel_tol=0, abs_tol=1.01 * 10**-places if places else 0):
            return False
    return True


# The comparison itself.
for printed, shown, holds in (("loss 3.4\n", "loss 3.5\n", True), ("loss 3.4\n", "loss 3.6\n", False), ("3 of 16\n", "4 of 16\n", False), ("a 1.0\n", "b 1.0\n", False), ("1.00\n", "1.0\n", False)):
    wanted("comparison", same(printed, shown) == holds, (printed, shown))

lessons = sorted((source / "examples" / "tutorial").glob("*.cpp"))
pages = sorted((source / "docs" / "tutorial").glob("*.md"))
wanted("six lessons, a page for each", len(lessons) == 6 and [each.stem for each in lessons] == [each.stem for each in pages], pages)
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
for lesson, page in zip(lessons, pages):
    text, code = page.read_text(), lesson.read_text()
    wanted(f"{lesson.name} has at most 60 lines", code.count("\n") <= 60, code.count("\n"))
    blocks = dict(reversed(re.findall(r"^```(cpp|text)\n(.*?)^```$", text, re.M | re.S)))  # the first of each
    wanted(f"{page.name} shows {lesson.name}", blocks.get("cpp") == code, "they differ")
    done = subprocess.run([programs / f"tutorial_{lesson.stem}", *([str(scratch)] if lesson.stem.startswith("2") else [])], capture_output=True, text=True, check=False, timeout=120)
    wanted(f"{lesson.stem} runs", done.returncode == 0 and not done.stderr, done.stderr)
    wanted(f"{lesson.stem} prints what its page shows", same(done.stdout, blocks.get("text", "")), f"\n{done.stdout}and not\n{blocks.get('text')}")
print(f"{len(lessons)} lessons, {failed} faults")
sys.exit(1 if failed else 0)
