"""Modules as flat tables, for pickle, which could not recurse into a graph thousands deep.

The tables keep everything: the order of instructions too, which the text does not always show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hlo.instruction import Computation, Instruction, Module, register_pickler
from hlo.walk import called_first, needed_first

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[Any, ...]
Item = TypeVar("Item")


@register_pickler
def pickled(module: Module) -> tuple[Callable[..., Module], tuple[Any, ...]]:
    """The function that makes the module again, and its arguments."""
    number: dict[Instruction, int] = {}
    instructions: list[Row] = []
    computations: list[Row] = []
    order = called_first(*module.computations)
    position = {computation: n for n, computation in enumerate(order)}
    for computation in order:
        own = computation.instructions
        for instr in needed_first(own, lambda i: (*i.operands, *i.control_predecessors)):
            number[instr] = len(number)
            operands = tuple([number[o] for o in instr.operands])
            before = tuple([number[p] for p in instr.control_predecessors])
            called = tuple([position[c] for c in instr.called])
            fields = (instr.name, instr.opcode, instr.shape, operands, instr.attrs, called, before)
            instructions.append((*fields, instr.annotations, instr.span))
        rows = tuple([number[i] for i in own])
        root, thread = number[computation.root], computation.execution_thread
        computations.append((len(number), computation.name, rows, root, thread, computation.span))
    places = tuple([position[c] for c in module.computations])
    rest = (module.name, places, position[module.entry], module.header, module.stack_frames)
    return unpickled, (instructions, computations, *rest, module.span)


def unpickled(
    rows: list[Row],
    computations: list[Row],
    name: str,
    places: tuple[int, ...],
    entry: int,
    *rest: Any,
) -> Module:
    """The module of the tables that `pickled` makes."""
    instrs: list[Instruction] = []
    finished: list[Computation] = []
    for count, label, own, root, *placed in computations:
        for row in rows[len(instrs) : count]:
            instr, opcode, shape, operands, attrs, called, before, *others = row
            linked = _chosen(instrs, operands), attrs, _chosen(finished, called)
            after = _chosen(instrs, before)
            instrs.append(Instruction(instr, opcode, shape, *linked, after, *others))
        finished.append(Computation(label, _chosen(instrs, own), instrs[int(root)], *placed))
    return Module(name, _chosen(finished, places), finished[entry], *rest)


def _chosen(items: list[Item], numbers: tuple[int, ...]) -> tuple[Item, ...]:
    return tuple([items[n] for n in numbers])
