"""Instructions that need no memory of their own, or may write into an operand's.

These are the rules between the optimizer and a backend: what is said here of an instruction must
hold for the code that is emitted for it. A backend states its own in a subclass.

References
----------
XLA, `HloDataflowAnalysis::GetInPlaceInputOutputPairs` and `CanShareOperandBufferWithUser` in
`xla/hlo/analysis/hlo_dataflow_analysis.cc`, and `AliasInfo` in `xla/hlo/analysis/alias_info.h`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hlo import attributes as a
from hlo.opcode import FORWARDING, TUPLES, having
from hlo.walk import users

if TYPE_CHECKING:
    from collections.abc import Collection

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape

_ALWAYS_FORWARDED = TUPLES | FORWARDING | {"reshape"}
_PRODUCTS = having("contraction")
# A slice of the updated array may be read, if it is the very slice that is written.
_SLICES = frozenset({"dynamic-slice"})


class InPlace(NamedTuple):
    """Leaf `leaf` of the result overwrites leaf `operand_leaf` of an operand."""

    operand: int
    operand_leaf: int
    leaf: int


@dataclass(frozen=True)
class AliasInfo:
    """The rules of a backend each of whose fusions is one kernel.

    All arrays lie row-major one after the other, whatever their layouts say, so a reshape never
    moves anything, and a bitcast only where it looks at another order.

    Attributes
    ----------
    recomputed : instructions that are computed anew wherever they are used, and never stored.
    """

    recomputed: Collection[Instruction] = frozenset()

    def forwards(self, instr: Instruction) -> bool:
        """Whether an instruction's value is memory of its operands, under another name."""
        return renames(instr) if instr.opcode == "bitcast" else instr.opcode in _ALWAYS_FORWARDED

    def must_share(self, instr: Instruction) -> tuple[InPlace, ...]:
        """The parts of operands that an instruction changes where they are."""
        if instr.opcode == "dynamic-update-slice":
            return (InPlace(0, 0, 0),)
        if instr.opcode == "scatter":
            return tuple(InPlace(k, 0, k) for k in range(len(instr.operands) // 2))
        if instr.opcode == "fusion":
            return _updated_by(instr.called[0])
        return ()

    def may_share(self, instr: Instruction, operand: int, leaf: int) -> bool:
        """Whether a leaf of the result may be written into an operand, an array, as it is read.

        So it is where each element is read, for the last time, before it is written. A copy in the
        same index is none; sorts and products may use the result as room for work. Leaves that
        `must_share` are left out.
        """
        if instr.opcode == "copy":
            return instr.shape.is_array
        source, target = instr.operands[operand].shape, _leaf(instr.shape, leaf)
        if source != target and not _same_bytes(source, target):
            return False
        if instr.opcode == "fusion":
            called = instr.called[0]
            return leaf in _elementwise(called)[operand] and self.is_one_kernel(called)
        return instr.row.elementwise

    def is_one_kernel(self, computation: Computation) -> bool:  # noqa: ARG002
        """Whether a fusion reads each element before it writes a result there, where it may be so.

        It may where all results read it element by element.
        """
        return True


DEFAULT = AliasInfo()


def renames(bitcast: Instruction) -> bool:
    """Whether a bitcast leaves every element where it is."""
    source, target = bitcast.operands[0].shape, bitcast.shape
    same = source.element_type is target.element_type
    return same and source.is_row_major and target.is_row_major


def _leaf(shape: Shape, number: int) -> Shape:
    if not shape.is_tuple:
        return shape
    return next(s for n, (_, s) in enumerate(shape.leaves()) if n == number)


def _same_bytes(one: Shape, other: Shape) -> bool:
    """Whether arrays have the same elements one after the other, under whatever dimensions."""
    same = one.is_array and one.element_type is other.element_type and one.size == other.size
    return same and one.is_row_major and other.is_row_major


def _roots(computation: Computation) -> tuple[Instruction, ...]:
    root = computation.root
    return root.operands if root.opcode == "tuple" else (root,)


@lru_cache(maxsize=4096)
def _updated_by(computation: Computation) -> tuple[InPlace, ...]:
    """The parameters that a fusion's results update in place.

    Nothing else in the fusion may read such a parameter, save the slice that is written; or, where
    that is one element and all that is stored, what it is computed from.
    """
    using = users(computation)
    pairs: list[InPlace] = []
    for leaf, root in enumerate(_roots(computation)):
        if root.opcode != "dynamic-update-slice":
            continue
        array = root.operands[0]
        while array.opcode == "bitcast":
            array = array.operands[0]
        if array.opcode != "parameter" or _roots(computation).count(root) > 1:
            continue
        if all(_reads_only_what(root, user, using) for user in using[array]):
            attrs = a.ParameterNumber.of(array)
            pairs.append(InPlace(attrs.number, 0, leaf))
    updated = [pair.operand for pair in pairs]
    return tuple(pair for pair in pairs if updated.count(pair.operand) == 1)


def _reads_only_what(
    update: Instruction, user: Instruction, using: dict[Instruction, list[Instruction]]
) -> bool:
    """Whether a user of an updated array is the update, or reads only overwritten elements."""
    if user.opcode == "bitcast":
        return all(_reads_only_what(update, u, using) for u in using[user])
    if user is update:
        array = update.operands[0]
        return update.operands.count(array) == 1
    if update.operands[1].shape.size == 1 and not using[update]:
        return True
    if user.opcode not in _SLICES or user.shape.dims != update.operands[1].shape.dims:
        return False
    if user.operands[1:] != update.operands[2:]:
        return False
    return _feeds_elementwise(user, update, using)


def _feeds_elementwise(
    start: Instruction, update: Instruction, using: dict[Instruction, list[Instruction]]
) -> bool:
    """Whether a value reaches only an update, element by element."""
    stack, seen = [start], {start}
    while stack:
        for user in using[stack.pop()]:
            if user is update:
                continue
            if not _keeps_indices(user, start.shape):
                return False
            if user not in seen:
                seen.add(user)
                stack.append(user)
    return update.operands[1] in seen


@lru_cache(maxsize=4096)
def _elementwise(computation: Computation) -> tuple[frozenset[int], ...]:
    """For each parameter, the results that read it, if they all do so element by element.

    The elements of several results are computed together, and then stored; but where something is
    folded, one result may be finished before another one is begun.
    """
    instructions, nothing = computation.instructions, frozenset[int]()
    if any(i.opcode in _PRODUCTS for i in instructions):
        return (nothing,) * len(computation.parameters)
    using = users(computation)
    folds = any(not i.row.elementwise and i.called for i in instructions)
    reached = [_reached(parameter, computation, using) for parameter in computation.parameters]
    return tuple(leaves if len(leaves) == 1 or not folds else nothing for leaves in reached)


def _reached(
    parameter: Instruction, computation: Computation, using: dict[Instruction, list[Instruction]]
) -> frozenset[int]:
    """The results that a parameter reaches; none if it is not element by element."""
    stack, seen = [parameter], {parameter}
    while stack:
        for user in using[stack.pop()]:
            if user is computation.root and user.opcode == "tuple":
                continue
            if not _keeps_indices(user, parameter.shape):
                return frozenset()
            if user not in seen:
                seen.add(user)
                stack.append(user)
    return frozenset(leaf for leaf, root in enumerate(_roots(computation)) if root in seen)


def _keeps_indices(user: Instruction, shape: Shape) -> bool:
    """Whether element n of a result depends on element n alone of operands of a shape's size."""
    if user.opcode in ("bitcast", "reshape"):
        return _same_bytes(user.operands[0].shape, user.shape)
    return user.row.elementwise and user.shape.size == shape.size
