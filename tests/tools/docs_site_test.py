#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs_site.py on a small tree: what is whole is built, and each fault is told with its place. reference_pages.py on headers with faults; docs_run.py on blocks that are run and others."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import docs_run
import printed
import reference_pages

HERE = pathlib.Path(__file__).parent
WHOLE = {
    "README.md": "# One\n\n[Start](docs/index.md)\n",
    "CONTRIBUTING.md": "# Two\n",
    "docs/index.md": "# Index\n\n[Up](../README.md), [two](../CONTRIBUTING.md#two), [here](#a-b-c), [headers](../include/motet), [chosen](decisions), [file](../tests/x.cpp)\n\n## A `b` (c)\n",
    "docs/decisions/0001-a.md": "# 0001: a\n",
    "include/motet/nn/a.hpp": "#pragma once\n\nnamespace motet {\n\n// Adds <cmath> and more. See `b<T>`.\nint a(int x);\n\n}  // namespace motet\n",
    "tests/x.cpp": "int main() { return 1 < 2; }  // why\n",
}
FAULTS = [
    ("docs/index.md", "\n[gone](gone.md)\n", "docs/index.md:7: gone.md leads nowhere"),
    ("docs/index.md", "\n[gone](../README.md#gone)\n", "README.md has no heading of this name"),
    ("docs/index.md", "\n[out](../../../../etc/passwd)\n", "leads nowhere"),
    ("docs/lonely.md", "# Lonely\n", "docs/lonely.md: no way leads here"),
]

GOOD = "namespace motet {\n// Adds. See b.\n// Asks for: rows.\n// Memory: nothing,\n// or less.\n// Errors: MT-N04, MT-N05\n// Example:\n//   int a = 1;\nint a();\n}\n"
FORMS = [
    ("// Memory: nothing,\n// or less.\n", "", "wanted Asks for, Memory, Errors, Example"),
    ("// Memory: nothing,\n// or less.\n", "// Memory:\n", "says nothing behind Memory"),
    ("MT-N05", "MT-N99", "names MT-N99, which docs/errors.md lacks"),
    ("MT-N04, MT-N05", "some", "names its errors as 'some'"),
    ("//   int a = 1;\n", "", "says nothing behind Example"),
    ("// Asks for: rows.\n", "int b();\n// Asks for: rows.\n", None),  # the form belongs to one comment, whichever
    ("int a();\n", "int a();\n// Memory: more.\nint b();\n", "has 2 comments of the form"),
]


def form_faults(wrong):
    codes = {"MT-N04", "MT-N05"}
    wrong += [f"a good form was refused: {fault}" for fault in reference_pages.form_faults(GOOD, codes)]
    wrong += [] if reference_pages.first_sentence(GOOD) == "Adds." else ["the first sentence was not found"]
    wrong += [] if reference_pages.example(GOOD) == ("int a = 1;\n", 8) else [f"the example was read as {reference_pages.example(GOOD)}"]
    for what, instead, said in FORMS:
        found = "; ".join(reference_pages.form_faults(GOOD.replace(what, instead), codes))
        wrong += [] if (said in found if said else not found) else [f"{instead!r} for {what!r} gave {found!r}, wanted {said!r}"]


def blocks_that_run(wrong, scratch):
    """Of four blocks the one with a main() that its output follows at once; its page's line; and what is compared."""
    page = pathlib.Path(scratch, "run", "docs", "page.md")
    page.parent.mkdir(parents=True)
    block = "```cpp compile\n#include <cstdio>\nint main() { std::puts(\"4\"); }\n```\n"
    page.write_text(f"# Page\n\n{block}\n```sh\nls\n```\n\n{block}\nIt prints:\n\n```text\n5\n```\n\n{block.replace('int main()', 'int four()')}\n```text\n4\n```\n\n{block}\n```text\n4\n```\n")
    found = list(docs_run.blocks(page.parent.parent))
    wrong += [] if [(each[1], each[3]) for each in found] == [(33, "4\n")] else [f"the blocks to run were read as {found}"]
    text = docs_run.program(found)
    wrong += [] if text.startswith("#include <cstdio>\n") and 'int run() { std::puts("4");  return 0;' in text else [f"the blocks became {text}"]
    wrong += [f"the comparison is wrong about {case}" for case in printed.wrong_cases()]


def build(scratch, tree):
    root = pathlib.Path(scratch, "tree")
    shutil.rmtree(root, ignore_errors=True)
    for path, text in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return subprocess.run([sys.executable, str(HERE / "docs_site.py"), "--out", f"{scratch}/site", str(root)], capture_output=True, text=True, check=False)


def main():
    if not shutil.which("cmark-gfm"):
        return 77
    wrong = []
    form_faults(wrong)
    with tempfile.TemporaryDirectory() as scratch:
        blocks_that_run(wrong, scratch)
        done = build(scratch, WHOLE)
        wrong += [done.stderr] if done.returncode else []
        for place, said in (
            ("reference/nn/a.html", "Adds &lt;cmath&gt; and more. See <code>b&lt;T&gt;</code>."),
            ("reference/nn/a.html", '<i class="keyword">int</i> a('),
            ("reference/index.html", "Adds &lt;cmath&gt; and more."),
            ("index.html", 'href="#a-b-c"'),
            ("source/tests/x.cpp.html", '<i class="comment">// why</i>'),
            ("decisions/index.html", 'href="0001-a.html"'),
            ("search.js", "const search_index = [["),
        ):
            text = pathlib.Path(scratch, "site", place).read_text() if done.returncode == 0 else ""
            wrong += [] if said in text else [f"{place} does not have {said}"]
        for path, more, said in FAULTS:
            done = build(scratch, WHOLE | {path: WHOLE.get(path, "") + more})
            wrong += [] if done.returncode == 1 and said in done.stderr else [f"{path} with {more.strip()!r} was not refused by {said!r}: {done.stderr}"]
    print("".join(f"{line}\n" for line in wrong) + f"{len(FAULTS) + len(FORMS)} faults, {len(wrong)} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
