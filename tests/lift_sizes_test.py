"""Sizes that small models compute, at several places: each is right wherever the lifted model runs, or nothing is written (bench/lifting_sizes.py sweeps over more)."""
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "bench"))
import lifting_sizes

# The traces' sides share what a rounding depends on, or none of them is whole: what gives the numbers most plainly is another formula.
OPEN = [
    ("2*floor(n/2)", "table", 0, "odd"),
    ("floor(n/8)+1", "table", 0, "telling"),
    ("floor(n/4)+1", "table", 2, "telling"),
    ("2*floor(n/8)+1", "table", 2, "telling"),
    ("ceil(n/16)+-1", "table", 0, "telling"),
    ("ceil(floor(n/2)/4)", "expand", 0, "telling"),
    ("ceil(floor(n/2)/4)", "slice", 2, "telling"),
    ("ceil(h/14)*ceil(w/14)+1", "expand", 0, "telling"),
    ("ceil(h/14)*ceil(w/14)+0", "table", 0, "telling"),
    ("ceil(n/32)", "pad", 0, "chosen2"),
    ("floor((n+3)/8)", "pad", 0, "chosen3"),
    ("floor((n+1)/4)", "pad", 8, "telling"),
    ("ceil(h/16)+ceil(w/16)", "slice", 2, "chosen3"),
    # An amount that is found again in the size of what the Pad makes.
    ("ceil(h/14)*ceil(w/14)+0", "pad", 0, "telling2"),
    ("ceil(h/14)*ceil(w/14)+1", "pad", 8, "telling"),
    ("floor(h/8)*floor(w/8)+5", "pad", 2, "telling"),
    ("floor(ceil(n/8)/2)", "pad", 16, "chosen3"),
    # A tensor of a table's length, whole in every trace.
    ("floor(n/8)", "table", 8, "chosen3"),
    ("floor(ceil(n/4)/4)", "table", 16, "chosen2"),
    ("4*ceil(ceil(n/8)/4)", "table", 0, "chosen2"),
    # Sizes of which the guard leaves those alone that share the traces' remainder.
    ("ceil(h/16)*ceil(w/16)+1", "pad", 0, "odd"),
    # A table of no rows, and fewer.
    ("h-w", "table", 2, "chosen2"),
]
TOLD = [
    ("16*ceil(n/16)-n", "pad", 8, "telling"),
    ("8*ceil(n/8)-n", "pad", 0, "telling"),
    ("hw", "table", 0, "telling"),
    ("n%16", "pad", 16, "telling"),
]


def name_of(case):
    return "-".join(map(str, case))


@pytest.mark.parametrize("case", OPEN, ids=name_of)
def test_what_the_traces_leave_open_is_guarded_or_refused(thaw, case):
    _, verdict, why = lifting_sizes.judge((thaw.path, *case))
    assert verdict in ("guarded", "refused"), why


@pytest.mark.parametrize("case", TOLD, ids=name_of)
def test_what_the_traces_tell_is_right(thaw, case):
    _, verdict, why = lifting_sizes.judge((thaw.path, *case))
    assert verdict == "right", why
