"""The garbage collector is as it was before, whatever happens meanwhile."""

import gc
from contextlib import nullcontext
from weakref import ref

import pytest

from hlo.support import garbage
from hlo.support.garbage import no_collection


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_collector_is_left_as_it_was(enabled, fails):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        around = pytest.raises(ValueError, match="meanwhile") if fails else nullcontext()
        with around, no_collection():
            assert not gc.isenabled()
            if fails:
                raise ValueError("meanwhile")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("most", [0, 1 << 40])
def test_what_was_made_meanwhile_is_not_looked_at_again(monkeypatch, most):
    monkeypatch.setattr(garbage, "_MOST_UNSEEN", most)
    monkeypatch.setattr(garbage, "_GROWN", garbage._Grown())
    # What is frozen is not the program's own: all tests are.
    monkeypatch.setattr(garbage, "_FROZEN_BY_PYTHON", gc.get_freeze_count())
    before = gc.isenabled()
    gc.enable()
    gc.collect()  # none of all that is there is due until this test has ended
    try:
        with no_collection():
            circle = [Node(), Node()]
            circle[0].next, circle[1].next = circle[1], circle[0]
            made, gone = [[] for _ in range(1000)], ref(circle[0])
            del circle
        young = {id(each) for each in gc.get_objects(generation=0)}
        assert not any(id(each) in young for each in made)
        # Garbage is found once there is enough of it.
        assert (gone() is None) == (most == 0)
    finally:
        gc.freeze()  # again, as `tests/conftest.py` has done
        (gc.enable if before else gc.disable)()


class Node:
    """An object that knows another one."""

    next: "Node"
