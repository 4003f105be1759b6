"""Primitives keep the memory of random loops, or refuse; and they do not refuse everything."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from primitives import (
    PRIMITIVES,
    coalesced,
    divided,
    ended,
    guarded,
    interchanged,
    interchanged_in_guards,
    jammed,
    jammed_whole,
    overlapped,
    parted,
    reordered,
    reordered_in_guards,
    repeated,
    staged,
    strip_mined,
    tiled,
    tiled_in_guards,
    tiled_stores,
    unrolled,
    unrolled_by,
)

from codegen.expressions import Literal, Load, Name, binary
from codegen.interpret import final_memory
from codegen.schedule import legality
from codegen.schedule.cut import cut
from codegen.schedule.legality import IllegalError
from codegen.statements import Assign, Break, For, If

# With the part of what is refused that is wrong; guards leave many iterations out.
CHECKED = {
    **dict.fromkeys(
        [jammed, jammed_whole, overlapped, reordered, staged, tiled, tiled_stores], 1 / 3
    ),
    **dict.fromkeys([interchanged, interchanged_in_guards], 1 / 3),
    **dict.fromkeys([tiled_in_guards, reordered_in_guards], 1 / 5),
}


def same(loop, made):
    # Promises are new where a primitive has found them, and are to hold then.
    return all(
        final_memory(made, values, random=Random(seed), lanes=True) == final_memory([loop], values)
        for seed, values in enumerate([{"p": 0}, {"p": 1}])
    )


@pytest.mark.parametrize(("primitive", "loops"), [(p, row[0]) for p, row in PRIMITIVES.items()])
@given(st.data())
def test_memory_is_the_same(primitive, loops, data):
    def choose(things):
        return data.draw(st.sampled_from(things))

    loop = loops(choose)
    try:
        made = primitive(choose, loop)
    except IllegalError:
        return
    assert same(loop, made)


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_not_all_are_refused(primitive):
    random, (loops, least) = Random(0), PRIMITIVES[primitive]
    taken = 0
    for _ in range(100):
        loop = loops(random.choice)
        try:
            assert same(loop, primitive(random.choice, loop))
        except IllegalError:
            continue
        taken += 1
    assert taken >= least * 100


@pytest.mark.parametrize("primitive", [each for each in PRIMITIVES if each is not parted])
def test_the_memory_of_a_loop_that_counts_down_is_the_same(primitive):
    """Most primitives refuse it, as they speak of a next iteration with the next number."""
    random, (loops, _) = Random(0), PRIMITIVES[primitive]
    for _ in range(100):
        loop = loops(random.choice)
        down = replace(loop, start=loop.stop - 1, stop=loop.start - 1, step=-loop.step)
        try:
            made = primitive(random.choice, down)
        except IllegalError:
            continue
        assert same(down, made)


@pytest.mark.parametrize("primitive", CHECKED)
def test_what_is_refused_is_often_wrong(primitive, monkeypatch):
    """Without its check, a primitive changes the memory of many loops that it refuses."""
    random, refused, wrong = Random(1), 0, 0
    for _ in range(300):
        loop, state = PRIMITIVES[primitive][0](random.choice), random.getstate()
        try:
            primitive(random.choice, loop)
        except IllegalError:
            random.setstate(state)
            with monkeypatch.context() as patch:
                patch.setattr(legality, "distances", lambda *_: None)
                try:
                    made = primitive(random.choice, loop)
                except IllegalError:
                    continue  # there was nothing to load
            refused += 1
            wrong += not same(loop, made)
    assert refused > 20
    assert wrong >= refused * CHECKED[primitive]


@pytest.mark.parametrize(
    "primitive",
    [
        divided,
        ended,
        guarded,
        repeated,
        strip_mined,
        unrolled,
        unrolled_by,
        parted,
        coalesced,
        staged,
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_loop_that_may_end_early_stays_one(primitive, inside):
    """A `Break` would leave a part of it only, and the iterations of the next part would run."""
    last = Break(binary(">", Load(Name("a"), Name("i")), Literal(3)))
    leaving = If(Name("p"), (last,)) if inside else last
    body = (leaving, Assign(Load(Name("b"), Name("i")), Load(Name("c"), Name("i"))))
    loop = For("i", 9, body)
    nest = For("j", 3, (loop,)) if primitive is coalesced else loop
    with pytest.raises(IllegalError, match="may be the last one"):
        primitive(Random(0).choice, nest)


def test_a_loop_that_counts_down_is_not_cut():
    with pytest.raises(IllegalError, match="the loop over i counts down"):
        cut(None, For("i", 0, (), start=9, step=-1), [3])
