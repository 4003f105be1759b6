"""Cases whose loops carry less: one element of their state, or one less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import GetTupleElement
from hlo.effects import without_dead
from hlo.types.literal import literal
from hlo.types.shape import tuple_of
from hlo.walk import names_of, rebuild, users
from hlo_tools.generate.resizing import with_entry
from hlo_tools.search.shrink.case import Case, number
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.types.shape import Shape


def narrower_loops(case: Case) -> Iterator[Case]:
    """Cases in which a loop of the entry computation has a smaller state."""
    for loop in case.module.entry.instructions:
        if loop.opcode == "while" and loop.shape.is_tuple:
            count = len(loop.shape.elements)
            choices = [(n,) for n in range(count)]
            if count > 2:
                choices += [(*range(n), *range(n + 1, count)) for n in range(count)]
            for choice in choices:
                smaller = _narrowed(case, loop, choice)
                if smaller is not None:
                    yield smaller


def _narrowed(case: Case, loop: Instruction, indices: tuple[int, ...]) -> Case | None:
    """The case with some elements of a loop's state; None where the whole state is needed."""
    entry, names = case.module.entry, names_of(case.module)
    shapes = [loop.shape.elements[n] for n in indices]
    shape = shapes[0] if len(indices) == 1 else tuple_of(*shapes)
    called: list[Computation] = []
    for callee in loop.called:
        smaller = _of_state(callee, indices, shape, names, is_body=callee is loop.called[1])
        if smaller is None:
            return None
        called.append(smaller)
    started = _start(case, loop.operands[0], indices, names)
    if started is None:
        return None
    start, arguments = started
    new = make("while", start, called=called).with_(name=loop.name)
    plan: dict[Instruction, Instruction] = {loop: new}
    for user in users(entry)[loop]:
        at = _index(user)
        if at not in indices:
            return None
        plan[user] = new if len(indices) == 1 else _element(new, indices.index(at), user.name)
    smaller = rebuild(entry, plan)
    return Case(with_entry(case.module, smaller), arguments).with_entry(smaller)


def _of_state(
    computation: Computation,
    indices: tuple[int, ...],
    shape: Shape,
    names: NameSupply,
    *,
    is_body: bool,
) -> Computation | None:
    """A loop's condition or body over a smaller state; removed elements count as zeros."""
    (state,) = computation.parameters
    new = state.with_(shape=shape)
    plan: dict[Instruction, Instruction] = {state: new}
    for user in users(computation)[state]:
        at = _index(user)
        if at is None:
            return None
        if at in indices:
            plan[user] = new if len(indices) == 1 else _element(new, indices.index(at), user.name)
        elif user.shape.is_array:
            zeros: Any = np.zeros(user.shape.dims, user.shape.element_type.dtype)
            nothing = make("constant", literal=literal(zeros, user.shape))
            plan[user] = nothing.with_(name=names.unique("zero"))
        else:
            return None
    root = computation.root
    if is_body:
        if root.opcode != "tuple":
            return None
        parts = [root.operands[n] for n in indices]
        new_root = parts[0] if len(indices) == 1 else make("tuple", *parts).with_(name=root.name)
        if new_root is not root.operands[indices[0]]:
            plan[root] = new_root
        else:
            computation = replace(computation, root=new_root)
    return without_dead(rebuild(computation, plan))


def _start(
    case: Case, start: Instruction, indices: tuple[int, ...], names: NameSupply
) -> tuple[Instruction, tuple[Any, ...] | None] | None:
    """The elements with which the loop begins, and the arguments, among them perhaps new ones."""
    arguments = case.arguments
    if start.opcode == "tuple":
        parts = [start.operands[n] for n in indices]
    elif start.opcode == "parameter":
        count = len(case.module.entry.parameters)
        parts = [
            make("parameter", shape=start.shape.elements[n], number=count + k).with_(
                name=names.unique("p")
            )
            for k, n in enumerate(indices)
        ]
        if arguments is not None:
            value = cast("tuple[Any, ...]", arguments[number(start)])
            arguments = (*arguments, *[value[n] for n in indices])
    else:
        return None
    whole = parts[0] if len(parts) == 1 else make("tuple", *parts).with_(name=names.unique("tuple"))
    return whole, arguments


def _index(instr: Instruction) -> int | None:
    """The element of a tuple that an instruction takes; None if it does something else."""
    return instr.attrs.index if isinstance(instr.attrs, GetTupleElement) else None


def _element(whole: Instruction, index: int, name: str) -> Instruction:
    return make("get-tuple-element", whole, index=index).with_(name=name)
