# SPDX-License-Identifier: Apache-2.0
"""The exit code that a program owes to the sentence that it said: tools/process/exit_code.hpp, for programs that search, play and draw."""
import re


def owed(said):
    code = re.search(r"\[(MT-[A-Z]\d{2,3})\]", said)
    if code is None or code[1] in ("MT-F05", "MT-F06"):  # what cannot be written
        return 1
    return 2 if code[1].startswith("MT-X") else 3
