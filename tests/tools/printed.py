# SPDX-License-Identifier: Apache-2.0
"""Whether a program printed what a page shows."""
import math
import re

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def same(printed, shown):
    """The same words and whole numbers; others within one of their last place, as processors add up in different orders."""
    if NUMBER.sub("#", printed) != NUMBER.sub("#", shown):
        return False
    for a, b in zip(NUMBER.findall(printed), NUMBER.findall(shown)):
        places = len(b.partition(".")[2])
        if (len(a.partition(".")[2]) != places) or not math.isclose(float(a), float(b), rel_tol=0, abs_tol=1.01 * 10**-places if places else 0):
            return False
    return True


# What the comparison must tell apart, for those who use it to begin with.
CASES = (("loss 3.4\n", "loss 3.5\n", True), ("loss 3.4\n", "loss 3.6\n", False), ("3 of 16\n", "4 of 16\n", False), ("a 1.0\n", "b 1.0\n", False), ("1.00\n", "1.0\n", False))


def wrong_cases():
    return [(printed, shown) for printed, shown, holds in CASES if same(printed, shown) != holds]
