"""Primitives keep the memory of random loops, or refuse; and they do not refuse everything."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nests import nest

from codegen.elements.kernel import Scope
from codegen.expressions import Load, Name
from codegen.interpret import final_memory
from codegen.schedule import legality
from codegen.schedule.conditions import turning_points
from codegen.schedule.cut import cut
from codegen.schedule.divide import divide, fresh, unroll_and_jam
from codegen.schedule.fission import computed, reading
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.statements import For, LocalVariable
from emit_c.kernels.kernel import CKernel

HERE = Name("k")


def body():
    return CKernel(None, Scope()).body


def divided(choose, loop):
    """The loop in blocks, some of them longer than the loop."""
    return divide(body(), loop, choose([1, 2, 4, 16]), lambda block, _: [fresh(body(), block)])


def jammed(choose, loop):
    names = body()

    def inside(block, _):
        return unroll_and_jam(names, block, choose([2, 3]))

    return divide(names, loop, 16, inside)


def staged(choose, loop):
    """The loads of one element ahead of the loop."""
    loads = LoopView(loop).certain_loads
    if not loads:
        raise IllegalError("there is no load")
    value = choose(loads)

    def inside(block, _):
        element = Load(Name("ahead"), Name(block.name))
        yield LocalVariable("s64", "ahead", None, 16)
        yield fresh(names, computed(block, {element: value}))
        yield fresh(names, reading(block, {value: element}))

    names = body()
    return divide(names, loop, 16, inside)


def reordered(_, loop):
    """The iterations in another order, as in lanes and on threads."""
    legality.expect_independent(LoopView(loop))
    return [replace(loop, parallel=True)]


def parted(choose, loop):
    """The loop cut where its choices turn, and at another count."""
    inside = range(loop.start + 1, loop.stop)
    points = sorted({*turning_points(loop), choose(inside)})
    return cut(body(), loop, points, written_out=choose([1, 3]))


PRIMITIVES = [divided, jammed, staged, reordered, parted]


def same(loop, made):
    # `parallel` is new where a primitive has found it, and is to hold then.
    want = final_memory([loop])
    return all(final_memory(made, random=Random(seed)) == want for seed in range(3))


@pytest.mark.parametrize("primitive", PRIMITIVES)
@given(st.data())
def test_memory_is_the_same(primitive, data):
    def choose(things):
        return data.draw(st.sampled_from(things))

    loop = nest(choose, straight=primitive is jammed)
    try:
        made = primitive(choose, loop)
    except IllegalError:
        return
    assert same(loop, made)


@pytest.mark.parametrize(
    ("primitive", "least"),
    [(divided, 1.0), (parted, 1.0), (jammed, 0.3), (staged, 0.3), (reordered, 0.05)],
)
def test_not_all_are_refused(primitive, least):
    random = Random(0)
    taken = 0
    for _ in range(200):
        loop = nest(random.choice, straight=primitive is jammed)
        try:
            assert same(loop, primitive(random.choice, loop))
        except IllegalError:
            continue
        taken += 1
    assert taken >= least * 200


@pytest.mark.parametrize("primitive", [jammed, staged, reordered])
def test_what_is_refused_is_often_wrong(primitive, monkeypatch):
    """Without its check, a primitive changes the memory of many loops that it refuses."""
    random, refused, wrong = Random(1), 0, 0
    for _ in range(300):
        loop, state = nest(random.choice, straight=primitive is jammed), random.getstate()
        try:
            primitive(random.choice, loop)
        except IllegalError:
            random.setstate(state)
            with monkeypatch.context() as patch:
                patch.setattr(legality, "_meeting", lambda *_: None)
                try:
                    made = primitive(random.choice, loop)
                except IllegalError:
                    continue  # there was nothing to load
            refused += 1
            wrong += not same(loop, made)
    assert refused > 20
    assert wrong >= refused / 3


def test_a_loop_without_bounds_is_not_divided():
    with pytest.raises(IllegalError, match="the bounds of the loop over i are not known"):
        divided(Random(0).choice, For("i", Name("n"), ()))
