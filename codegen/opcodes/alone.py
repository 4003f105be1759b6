"""Collectives of a device that is alone: what it brings is all that there is.

A compiled module runs on one device, so every group has one member: all-reduce and its relatives
yield their operands. What names other devices is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from codegen.elements.table import Kernel, elements
from codegen.expressions import Name, item
from hlo.errors.error import HloError
from interpreter.engine.device import Device
from interpreter.groups import find_group, group_of, permute_pairs
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.expanders.op_expander import Site


def _found(instr: Instruction, *, optional: bool = False) -> bool:
    """Whether the device is in one of an instruction's groups; that group is its own then.

    Raises
    ------
    HloError
        HLO181 if the group has other members, or if it must be in one and is not.
    """
    attrs: a.Collective = instr.attrs  # type: ignore[assignment]
    try:
        return bool((find_group if optional else group_of)(Device(), instr, attrs))
    except HloError as error:
        note = "a compiled module runs on one device; the interpreter runs it on several"
        raise HloError("HLO181", error.message, instr.span, [note]) from None


def _value(operands: Sequence[Instruction]) -> Instruction:
    """One operand, or the tuple of several."""
    return operands[0] if len(operands) == 1 else make("tuple", *operands)


def _check_sizes(instr: Instruction, result: Shape) -> None:
    """Refuse results that are no copies of the operands."""
    if [o.shape.dims for o in instr.operands] != [leaf.dims for _, leaf in result.leaves()]:
        message = f"{instr.name}: its shape asks for more devices than the one that runs C"
        raise HloError("HLO181", message, instr.span)


def hand_on(site: Site) -> Instruction:
    """all-reduce, all-gather, all-to-all, reduce-scatter: the operands."""
    _found(site.instr)
    operands = site.instr.operands
    _check_sizes(site.instr, site.instr.shape)
    # One operand may have a tuple of one as its result.
    return make("tuple", *operands) if site.instr.shape.is_tuple else operands[0]


def hear(site: Site) -> Instruction:
    """collective-broadcast: the operands, of the group's first member; zeros without a group."""
    attrs: a.CollectiveBroadcast = site.instr.attrs  # type: ignore[assignment]
    operands = list(site.instr.operands)
    if attrs.has_dynamic_root:
        operands.pop()
    if not _found(site.instr, optional=True):
        operands = [splat(0, o.shape) for o in operands]
    return make("tuple", *operands) if site.instr.shape.is_tuple else operands[0]


def permute(site: Site) -> Instruction:
    """collective-permute: the operands if the device sends to itself; zeros if nobody sends."""
    attrs: a.CollectivePermute = site.instr.attrs  # type: ignore[assignment]
    if attrs.slice_sizes:
        message = f"{site.instr.name}: a collective-permute of slices can't be compiled to C"
        raise HloError("HLO181", message, site.instr.span)
    operands = site.instr.operands
    if permute_pairs(Device(), attrs):
        return _value(operands)
    return _value([splat(0, o.shape) for o in operands])


def gather_start(site: Site) -> Instruction:
    """all-gather-start: the operands, and what they become."""
    _found(site.instr)
    _check_sizes(site.instr, site.instr.shape.elements[1])
    both = _value(site.instr.operands)
    return make("tuple", both, both)


def permute_start(site: Site) -> Instruction:
    """collective-permute-start: the operands, what they become, and contexts without meaning."""
    result = permute(site)
    shape = site.instr.shape
    if not shape.is_tuple:
        return result
    contexts = [constant(np.zeros((), np.uint32)) for _ in shape.elements[2:]]
    return make("tuple", _value(site.instr.operands), result, *contexts)


def finish(site: Site) -> Instruction:
    """The result that stands behind the operands in what a start yields."""
    start = site.instr.operands[0]
    if not start.shape.is_tuple or site.instr.opcode == "all-reduce-done":
        return start
    return make("get-tuple-element", start, index=1)


EXPANSIONS = {
    **dict.fromkeys(
        ("all-gather", "all-reduce", "all-reduce-start", "all-to-all", "reduce-scatter"), hand_on
    ),
    "all-gather-start": gather_start,
    "collective-broadcast": hear,
    "collective-permute": permute,
    "collective-permute-start": permute_start,
    **dict.fromkeys(("all-gather-done", "all-reduce-done", "collective-permute-done"), finish),
}


def write_ragged_all_to_all(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The output, with slices of rows of the input; rows that do not exist are not copied."""
    _found(instr)
    rows, result, starts, sizes, targets, _ = instr.operands
    from_, to = rows.shape.dims[0], result.shape.dims[0]
    bytes_ = _row_bytes(result.shape)
    body.call("__builtin_memcpy", outputs[0], body.pointer(result), to * bytes_)
    for k in range(starts.shape.size):
        body.call(
            "copy_rows",
            *(outputs[0], to, body.pointer(rows), from_, bytes_),
            *(item(body.pointer(vector), k) for vector in (starts, sizes, targets)),
        )


def _row_bytes(shape: Shape) -> int:
    return shape.size // max(shape.dims[0], 1) * shape.element_type.bytes


elements.define("ragged-all-to-all", Kernel(write_ragged_all_to_all))
