"""Whether two modules are the same, piece by piece: what `==` of immutable modules can't say."""

import re
from dataclasses import fields, replace

from hlo.instruction import Computation, Instruction, Module
from hlo.walk import post_order, rebuild_module


def assert_same(one: Module, other: Module) -> None:
    """See that two modules have the same header and computations, in whatever order HLO allows."""
    for name in ("name", "header", "stack_frames"):
        assert getattr(one, name) == getattr(other, name)
    assert one.entry.name == other.entry.name
    by_name = {c.name: c for c in other.computations}
    assert len(by_name) == len(one.computations)
    for computation in one.computations:
        assert_same_computation(computation, by_name[computation.name])


def assert_same_computation(one: Computation, other: Computation) -> None:
    """See that two computations have the same instructions, in whatever order HLO allows."""
    assert (one.root.name, one.execution_thread) == (other.root.name, other.execution_thread)
    by_name = {i.name: i for i in other.instructions}
    assert len(by_name) == len(one.instructions)
    for instr in one.instructions:
        assert_same_instruction(instr, by_name[instr.name])


def assert_same_instruction(one: Instruction, other: Instruction) -> None:
    """See that two instructions agree in everything but where they came from."""
    for field in fields(Instruction):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("operands", "called", "control_predecessors"):
            assert [x.name for x in a] == [x.name for x in b], field.name
        elif field.name != "span":
            assert a == b, field.name


def as_needed(module: Module) -> Module:
    """The module with each computation's instructions in the order in which its root needs them."""

    def ordered(computation: Computation) -> Computation:
        needed = dict.fromkeys(post_order(computation.root))
        rest = [i for i in computation.instructions if i not in needed]
        return replace(computation, instructions=(*needed, *rest))

    return rebuild_module(module, ordered)


def nameless(module: Module) -> str:
    """The instructions of a module, names replaced by numbers in the order in which they come."""
    numbers: dict[str, int] = {}
    lines = [line for line in str(module).splitlines() if line.startswith("  ")]

    def number(found: re.Match[str]) -> str:
        return f"%{numbers.setdefault(found[0], len(numbers))}"

    return re.sub(r"%[\w.\-]+", number, "\n".join(lines))
