# SPDX-License-Identifier: Apache-2.0
"""tutorial.py PROGRAMS SCRATCH: each page of docs/tutorial shows the whole program that examples/tutorial has, of at most 60 lines, and what it prints."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

programs, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(os.environ["MOTET_SOURCE"])
sys.path.insert(0, str(source / "tests" / "tools"))
import printed  # noqa: E402

failed = 0


def wanted(what, holds, said=""):
    global failed
    if not holds:
        failed += 1
        print(f"FAILED: {what}: {said}")


wanted("comparison", not printed.wrong_cases(), printed.wrong_cases())

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
    done = subprocess.run([programs / f"tutorial_{lesson.stem}", *([str(scratch)] if lesson.stem.startswith("2") else [])], capture_output=True, text=True, check=False, timeout=120, cwd=scratch)
    wanted(f"{lesson.stem} runs", done.returncode == 0 and not done.stderr, done.stderr)
    wanted(f"{lesson.stem} prints what its page shows", printed.same(done.stdout, blocks.get("text", "")), f"\n{done.stdout}and not\n{blocks.get('text')}")
# What lesson 4 draws is a picture, and an order that schedule_explorer takes up by the lines of the page.
lines = re.search(r"^```sh\n(.*?)^```$", pages[3].read_text(), re.M | re.S).group(1).splitlines()
explored = [subprocess.run(f"{programs}/{line}", shell=True, capture_output=True, text=True, check=False, timeout=120, cwd=scratch) for line in lines]
wanted("the lines of lesson 4 run", len(lines) == 3 and all(each.returncode == 0 for each in explored), [each.stderr for each in explored])
wanted("schedule_explorer finds the makespan of lesson 4", '"makespan": 33.0' in explored[0].stdout, explored[0].stdout)
wanted("rows of lesson 4", explored[1].stdout.count("rank ") == 4, explored[1].stdout)
for file, bars in (("last_first.svg", 64), ("run.svg", 128)):
    picture = scratch / file
    seen = xml.etree.ElementTree.parse(picture).getroot() if picture.is_file() else []
    titles = [each.text for each in seen.iter() if each.tag.endswith("title")] if picture.is_file() else []
    wanted(f"{file} has a bar for each computation", len(titles) >= bars, titles)
# The own schedule of lesson 4, a process for each rank: what is printed is the same.
if shutil.which("mpirun"):
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "-n", "4", programs / "tutorial_4_own_schedule"], capture_output=True, text=True, check=False, timeout=120, env=environment, cwd=scratch)
    shown = re.search(r"^```text\n(.*?)^```$", pages[3].read_text(), re.M | re.S).group(1)
    wanted("lesson 4 in processes", "MT-R23" in done.stderr or printed.same(done.stdout, shown), done.stdout + done.stderr)
print(f"{len(lessons)} lessons, {failed} faults")
sys.exit(1 if failed else 0)
