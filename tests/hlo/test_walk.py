"""Walks, and rebuilding by a plan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
from hlo.build import Builder, instruction, module
from hlo.instruction import Computation, Instruction
from hlo.types.element_type import F32
from hlo.types.shape import array
from hlo.walk import (
    called_first,
    callers,
    names_of,
    post_order,
    rebuild,
    rebuild_module,
    users,
    users_of,
)

VECTOR = array(F32, (4,))


def copy_of(x: Instruction, name: str) -> Instruction:
    return instruction("copy", [x], name=name)


def chain(depth: int) -> Computation:
    b = Builder()
    x = b.parameter(VECTOR)
    for _ in range(depth):
        x = b.add("negate", x)
    return b.build(x)


@st.composite
def computations(draw: st.DrawFn) -> Computation:
    """A computation of a few adds of earlier values, any of which may be the root."""
    b = Builder()
    made = [b.parameter(VECTOR)]
    for _ in range(draw(st.integers(0, 8))):
        made.append(b.add("add", draw(st.sampled_from(made)), draw(st.sampled_from(made))))
    return b.build(draw(st.sampled_from(made)))


def expect_well_formed(computation: Computation) -> None:
    hlo.verify(module(computation))


def value(computation: Computation) -> int:
    """What adds of a parameter 1 and copies come to."""
    values: dict[Instruction, int] = {}
    for instr in computation.instructions:
        values[instr] = sum(values[o] for o in instr.operands) if instr.operands else 1
    return values[computation.root]


@given(computations())
def test_post_order_puts_operands_first_and_needs_nothing_else(c: Computation) -> None:
    order = post_order(c)
    at = {instr: i for i, instr in enumerate(order)}
    assert sorted(order, key=id) == sorted(c.instructions, key=id)
    assert all(at[o] < at[i] for i in order for o in i.operands)
    needed = post_order(c.root)
    assert needed[-1] is c.root
    assert order[: len(needed)] == needed


def test_post_order_heeds_control_predecessors() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    first = instruction("negate", [x], name="first")
    last = instruction("sine", [x], name="last", control_predecessors=[first])
    assert post_order(last) == [x, first, last]


def test_nothing_recurses() -> None:
    deep = chain(20_000)
    assert len(post_order(deep.root)) == 20_001
    x = deep.instructions[0]
    changed = rebuild(deep, {x: copy_of(x, "c")})
    assert len(changed.instructions) == 20_002


@given(computations())
def test_users_are_those_who_use(c: Computation) -> None:
    found = users(c)
    some = c.instructions[::2]
    assert users_of(c, some) == {instr: found[instr] for instr in some}
    for instr in c.instructions:
        assert found[instr] == [i for i in c.instructions if instr in i.operands]


@given(computations())
def test_an_empty_plan_changes_nothing(c: Computation) -> None:
    assert rebuild(c, {}) is c
    assert rebuild(c, {instr: instr for instr in c.instructions}) is c


@given(st.data(), computations())
def test_a_replacement_takes_all_uses(data: st.DataObject, c: Computation) -> None:
    old = data.draw(st.sampled_from(c.instructions))
    earlier = c.instructions[: c.instructions.index(old) + 1]
    new = copy_of(data.draw(st.sampled_from(earlier)), "new")
    changed = rebuild(c, {old: new})
    expect_well_formed(changed)
    assert (new.operands[0] is old) == (old in changed.instructions)
    assert changed.root.name == ("new" if c.root is old else c.root.name)
    kept = {i.name: i for i in changed.instructions}
    for instr in c.instructions:
        if instr is not old:
            wanted = ["new" if o is old else o.name for o in instr.operands]
            assert [o.name for o in kept[instr.name].operands] == wanted


@given(computations())
def test_a_copy_behind_everything_keeps_the_value(c: Computation) -> None:
    plan = {instr: copy_of(instr, f"copy_of_{instr.name}") for instr in c.instructions}
    changed = rebuild(c, plan)
    expect_well_formed(changed)
    assert len(changed.instructions) == 2 * len(c.instructions)
    assert value(changed) == value(c)


def test_a_plan_is_followed_through_new_instructions() -> None:
    b = Builder()
    x = b.parameter(VECTOR)
    y, z = b.add("negate", x), b.add("sine", x)
    c = b.build(b.add("add", y, z))
    inner = copy_of(y, "inner")
    outer = copy_of(inner, "outer")
    changed = rebuild(c, {z: outer, y: x})
    assert [i.name for i in changed.instructions] == [x.name, "inner", "outer", "add"]
    assert changed.instructions[1].operands == (x,)
    assert x in changed.instructions


def test_only_what_depends_on_a_change_is_made_anew() -> None:
    b = Builder()
    x = b.parameter(VECTOR)
    apart, changing = b.add("negate", x), b.add("sine", x)
    user = b.add("cosine", changing)
    c = b.build(b.add("add", apart, user))
    changed = rebuild(c, {changing: copy_of(x, "copied")})
    assert apart in changed.instructions
    assert user not in changed.instructions
    assert changed.root.name == c.root.name


def nested() -> hlo.Module:
    """main calls middle twice, middle calls inner."""
    inner = Builder("inner")
    x = inner.parameter(VECTOR)
    inner_computation = inner.build(inner.add("negate", x))
    middle = Builder("middle", inner.names)
    y = middle.parameter(VECTOR)
    middle_computation = middle.build(middle.add("call", y, called=(inner_computation,)))
    main = Builder("main", inner.names)
    z = main.parameter(VECTOR)
    once = main.add("call", z, called=(middle_computation,))
    return module(main.build(main.add("call", once, called=(middle_computation,))))


def test_callees_come_first_and_callers_are_known() -> None:
    whole = nested()
    assert [c.name for c in called_first(whole.entry)] == ["inner", "middle", "main"]
    inner, middle, main = whole.computations
    found = callers(whole)
    assert [len(found[c]) for c in (inner, middle, main)] == [1, 2, 0]


def test_a_change_reaches_all_callers_and_nothing_else() -> None:
    whole = nested()
    inner = whole.computations[0]

    def change(computation: Computation) -> Computation:
        if computation is not inner:
            return computation
        x = inner.parameters[0]
        return rebuild(inner, {inner.root: instruction("sine", [x], name="s")})

    changed = rebuild_module(whole, change)
    hlo.verify(changed)
    assert [c.name for c in changed.computations] == ["inner", "middle", "main"]
    assert changed.computations[0].root.opcode == "sine"
    assert changed.entry is changed.computations[-1]
    assert rebuild_module(whole, lambda c: c) is whole


@pytest.mark.parametrize("prune", [True, False])
def test_what_nobody_calls_is_dropped_if_asked(prune: bool) -> None:
    whole = nested()

    def uncall(computation: Computation) -> Computation:
        if computation.name != "middle":
            return computation
        return rebuild(computation, {computation.root: computation.parameters[0]})

    changed = rebuild_module(whole, uncall, prune=prune)
    hlo.verify(changed)
    names = [c.name for c in changed.computations]
    assert names == (["middle", "main"] if prune else ["inner", "middle", "main"])


def test_a_computation_that_a_pass_makes_joins_the_module() -> None:
    whole = nested()
    names = names_of(whole)

    def outline(computation: Computation) -> Computation:
        if computation is not whole.computations[0]:
            return computation
        made = Builder("outlined", names)
        root = made.add("negate", made.parameter(VECTOR))
        call = instruction(
            "call", computation.parameters, name=names.unique("call"), called=[made.build(root)]
        )
        return rebuild(computation, {computation.root: call})

    changed = rebuild_module(whole, outline)
    hlo.verify(changed)
    assert [c.name for c in changed.computations] == ["outlined", "inner", "middle", "main"]


def test_names_of_a_module_are_taken() -> None:
    whole = nested()
    names = names_of(whole)
    taken = {i.name for i in whole.instructions()} | {c.name for c in whole.computations}
    assert not {names.unique(name) for name in sorted(taken)} & taken


def test_a_builder_gives_each_instruction_a_name_of_its_own() -> None:
    b = Builder()
    x = b.parameter(VECTOR, name="x")
    made = [b.add("add", x, x) for _ in range(3)] + [b.add("add", x, x, name="mine")]
    c = b.constant(hlo.literal(np.zeros(4, np.float32)))
    assert [i.name for i in made] == ["add", "add.1", "add.2", "mine"]
    assert c.shape == VECTOR
    assert b.build().root is c
    assert b.build(made[0]).parameters == (x,)
