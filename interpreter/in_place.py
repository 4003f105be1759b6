"""Loops that fill an array piece by piece, without a copy of all of it at each iteration.

`dynamic-update-slice` yields a new array, and so costs time in proportion to the whole of it: a
loop that sets each of n elements would take n * n steps. Most loops carry their array from
iteration to iteration and never look at its old value again; then the new value may be written over
the old.

That is so where, in the body of a while,

- an element of the state is updated, and the result is the same element of the next state, and is
  used for nothing else;
- what else reads the old value is a `dynamic-slice` that runs before the update.

The first iteration must make a copy, for others may hold the array with which the loop begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.walk import users
from interpreter.movement import evaluate_dynamic_update_slice, window
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction
    from interpreter.table import Value

    Array = NDArray[Any]


def in_place_functions(body: Computation) -> dict[Instruction, Callable[..., Value]]:
    """Functions, instead of those of the table, for instructions that act in place."""
    functions: dict[Instruction, Callable[..., Value]] = {}
    if evaluates["dynamic-update-slice"] is not evaluate_dynamic_update_slice:
        return functions  # somebody tries another one
    used_by = users(body)
    position = {instr: n for n, instr in enumerate(body.instructions)}
    for update in _candidates(body):
        carried = [
            i for i in used_by[body.parameters[0]] if _index(i) == _index(update.operands[0])
        ]
        readers = [u for array in carried for u in used_by[array] if u is not update]
        alone = used_by[update] == [body.root] and body.root.operands.count(update) == 1
        if alone and all(_reads(r, carried) and position[r] < position[update] for r in readers):
            functions[update] = _update
            functions.update(dict.fromkeys(readers, _read))
    return functions


def _candidates(body: Computation) -> list[Instruction]:
    """Updates of an element of the state that become the same element of the next state."""
    root, state = body.root, body.parameters[0]
    if root.opcode != "tuple" or any(
        _index(i) < 0 for i in body.instructions if state in i.operands
    ):
        return []
    return [
        update
        for index, update in enumerate(root.operands)
        if update.opcode == "dynamic-update-slice"
        and update.shape.rank > 0  # NumPy's scalars can't be written to
        and not any(operand.shape.is_dynamic for operand in update.operands)
        and update.operands[0].operands == (state,)
        and _index(update.operands[0]) == index
    ]


def _index(instr: Instruction) -> int:
    """The index of a get-tuple-element; -1 for any other opcode."""
    is_element = instr.opcode == "get-tuple-element"
    return a.GetTupleElement.of(instr).index if is_element else -1


def _reads(instr: Instruction, arrays: Sequence[Instruction]) -> bool:
    """Whether an instruction only takes a slice of one of the arrays."""
    return instr.opcode == "dynamic-slice" and instr.operands[0] in arrays


def _update(
    _instr: Instruction, _attrs: a.Attrs, operand: Array, update: Array, *starts: Array
) -> Array:
    operand[window(operand, starts, update.shape)] = update
    return operand


def _read(_instr: Instruction, attrs: a.DynamicSlice, operand: Array, *starts: Array) -> Array:
    # A view would change with the array.
    return operand[window(operand, starts, attrs.dynamic_slice_sizes)].copy()
