# SPDX-License-Identifier: Apache-2.0
"""Writes include/motet/data/unicode/*.inc: unicode_tables.py ROOT; then sh tests/tools/format.sh fix.

Needs the unicodedata2 package of the version whose classes the tokenizers package has: 16.0."""
import pathlib
import sys

import unicodedata2 as unicodedata

if unicodedata.unidata_version != "16.0.0":
    sys.exit(f"unicodedata2 has Unicode {unicodedata.unidata_version}, wanted unicodedata2==16.0.0")

ALL = range(0x110000)


def ranges(of):
    out = []
    for point, value in ((point, of(chr(point))) for point in ALL):
        if not value:
            continue
        if out and out[-1][1] == point - 1 and out[-1][2] == value:
            out[-1][1] = point
        else:
            out.append([point, point, value])
    return out


def write(name, what, rows):
    body = ", ".join("{" + ", ".join(f"0x{each:x}" for each in row) + "}" for row in rows)
    text = f"// SPDX-License-Identifier: Apache-2.0\n// {what} Unicode {unicodedata.unidata_version}; written by tests/tools/unicode_tables.py.\n{body}\n"
    (folder / name).write_text(text, encoding="utf-8")


folder = pathlib.Path(sys.argv[1]) / "include/motet/data/unicode"
folder.mkdir(exist_ok=True)
write("letters.inc", "First and last of each run of letters (category L).", [row[:2] for row in ranges(lambda c: unicodedata.category(c)[0] == "L")])
write("numbers.inc", "First and last of each run of numbers (category N).", [row[:2] for row in ranges(lambda c: unicodedata.category(c)[0] == "N")])
write("marks.inc", "First, last and order of each run of marks that combine.", ranges(unicodedata.combining))

pairs, one_way = [], []
for point in ALL:
    parts = unicodedata.decomposition(chr(point))
    if not parts or parts[0] == "<":
        continue
    parts = [int(each, 16) for each in parts.split()]
    back = unicodedata.normalize("NFC", unicodedata.normalize("NFD", chr(point)))
    if len(parts) == 2 and back == chr(point):
        pairs.append((point, *parts))
    else:
        one_way.append((point, parts[0], parts[1] if len(parts) == 2 else 0))
write("composed.inc", "A character and the two that it is made of.", pairs)
write("replaced.inc", "A character that never stands in composed text, and the one or two that stand for it.", one_way)
