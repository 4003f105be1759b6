"""`hlo check` is tested: it must find what is wrong with each of many wrong passes.

Each must be found among the first 100 modules, and be shown on a small one.
"""

import warnings

import pytest
from strategies.planted import PLANTED

from hlo_tools.search.checking.search import search, smallest
from optimizer.cleanup.cse import Cse
from optimizer.cleanup.dce import Dce

MODULES = 100
# Instructions of the counterexample; loops and branches need some only to be there.
MOST_INSTRUCTIONS = 14


# What is dead in a loop's body stays dead only while the loop stays.
MORE_INSTRUCTIONS = {"thirsty": 25}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_fault_is_found(name):
    wrong = PLANTED[name]
    failure, tally = search(wrong, MODULES)
    assert failure is not None, f"not found: it changes {tally.changed} of {tally.modules} modules"
    assert tally.right < MODULES
    # However long that takes: the machine may be busy.
    shown = smallest(wrong, failure, seconds=600)
    assert shown.instructions <= MORE_INSTRUCTIONS.get(name, MOST_INSTRUCTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", PLANTED)
def test_planted_fault_is_found_from_any_seed(name, seed):
    failure, _ = search(PLANTED[name], 2 * MODULES, seed)
    assert failure is not None


@pytest.mark.parametrize("right", [Dce(), Cse()], ids=lambda right: right.name)
def test_right_pass_is_not_accused(right):
    failure, tally = search(right, MODULES)
    assert failure is None, str(failure)
    assert tally.compared > MODULES // 5


def test_layouts_that_a_pass_forgets_are_shown():
    """Nothing but how an array lies in memory tells the values of the counterexample apart."""
    failure, _ = search(PLANTED["careless"], MODULES)
    assert failure is not None
    before = smallest(PLANTED["careless"], failure, seconds=600).before
    twins = [i for i in before.entry.instructions if i.row.elementwise]
    assert len({(i.opcode, i.operands, i.shape.without_layout) for i in twins}) == 1
    assert len({i.shape for i in twins}) == 2
    assert "bitcast" in before.entry.opcodes


def test_warnings_are_as_before_a_search():
    """Golden cases with constants that are left out run without a warning, and others with one."""
    before = list(warnings.filters)
    failure, _ = search(PLANTED["careless"], MODULES)
    assert failure is not None
    smallest(PLANTED["careless"], failure, seconds=1)
    assert warnings.filters == before
