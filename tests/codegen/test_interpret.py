"""Statements that are interpreted end, or are refused at once."""

import pytest
from reading import read
from written import Assign, For, If

from codegen.interpret import UnsupportedError, final_memory
from codegen.statements import Break

LONG = 1 << 70


def test_a_loop_that_is_too_long_is_refused_before_it_runs():
    with pytest.raises(UnsupportedError, match="too many steps"):
        final_memory([For("i", LONG, (Assign("y[i]", 1),))])
    with pytest.raises(UnsupportedError, match="too many steps"):
        final_memory([For("i", "n", (Assign("y[i]", 1),))], {"n": LONG})


@pytest.mark.parametrize("stop", [LONG, "n"])
def test_a_long_loop_runs_that_ends_early_on_one_side_of_a_choice(stop):
    ends = If(read("i > 2"), (Break(read("x < 9")),))
    loop = For("i", stop, (Assign("y[i]", "i"), ends))
    assert final_memory([loop], {"n": LONG, "x": 1}) == {"y": {0: 0, 1: 1, 2: 2, 3: 3}}
    with pytest.raises(UnsupportedError, match="too many steps"):
        final_memory([loop], {"n": LONG, "x": 10})


def test_the_end_of_a_loop_inside_is_not_that_of_the_loop_around_it():
    inner = For("j", 9, (Break(read("j == 1")),))
    with pytest.raises(UnsupportedError, match="too many steps"):
        final_memory([For("i", LONG, (inner,))])


def test_a_loop_counts_down_to_its_stop():
    loop = For("i", 2, (Assign("y[i]", "y[i + 1] + 1"),), start=5, step=-1)
    values = {5: 1, 4: 2, 3: 3}
    first = Assign("y[6]", "0")
    assert final_memory([first, loop]) == {"y": {6: 0, **values}}


def test_a_loop_that_does_not_count_is_refused():
    with pytest.raises(UnsupportedError, match="the loop over i counts by 0"):
        final_memory([For("i", 9, (), step=read("n"))], {"n": 0})
