"""Moves narrowing converts up and widening ones down, so that fewer bytes are moved in between.

    f32 transpose(f32 convert(bf16 x))     =>   f32 convert(bf16 transpose(x))
    bf16 convert(f32 transpose(f32 x))     =>   bf16 transpose(bf16 convert(x))

Only past what moves elements without computing, so every bit is kept; and not where more elements
would be converted than before: widening ones stay above broadcasts, narrowing ones below slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import VIEWS
from optimizer.passes import register
from optimizer.rewriting.settle import exchange

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from optimizer.log import Log

# The views that have as many elements as their operand, but for those whose bytes mean something.
MOVES = VIEWS - {"bitcast", "broadcast", "slice"} | {"concatenate"}
MOVES_UNDER_WIDENING = MOVES | {"slice"}
MOVES_OVER_NARROWING = MOVES | {"broadcast"}


@register
@dataclass(frozen=True)
class ConvertMover:
    """Exchanges converts with instructions that move elements."""

    name = "convert-mover"
    xla = "xla/hlo/transforms/simplifiers/convert_mover.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with its converts where they cost least."""
        return exchange(module, log, "move-convert", moved)


def moved(instr: Instruction, alone: set[Instruction], names: NameSupply) -> Instruction | None:
    """A convert and an instruction that moves elements, exchanged."""
    return widened_below(instr, alone, names) or narrowed_above(instr, alone, names)


def is_convert(instr: Instruction, *, narrow: bool) -> bool:
    """Whether an instruction converts to a type with fewer bits, or with more, of the same sort."""
    if instr.opcode != "convert" or instr.control_predecessors:
        return False
    old, new = instr.operands[0].shape.element_type, instr.shape.element_type
    alike = (old.is_floating and new.is_floating) or (old.is_integer and new.is_integer)
    return alike and (new.bits < old.bits if narrow else new.bits > old.bits)


def widened_below(
    move: Instruction, alone: set[Instruction], names: NameSupply
) -> Instruction | None:
    """The convert of the moved operands, where these are converts that are used nowhere else."""
    if move.opcode not in MOVES_UNDER_WIDENING:
        return None
    if not all(o in alone and is_convert(o, narrow=False) for o in move.operands):
        return None
    sources = {o.operands[0].shape.element_type for o in move.operands}
    if len(sources) != 1:
        return None
    narrow = tuple(o.operands[0] for o in move.operands)
    moved = move.with_(
        name=names.unique(move.name), operands=narrow, shape=_with_type(move.shape, narrow[0].shape)
    )
    return move.operands[0].with_(operands=(moved,), shape=move.shape)


def narrowed_above(
    convert: Instruction, alone: set[Instruction], names: NameSupply
) -> Instruction | None:
    """A moved array of converted operands, for a convert of one that is used nowhere else."""
    if not is_convert(convert, narrow=True):
        return None
    move = convert.operands[0]
    if move.opcode not in MOVES_OVER_NARROWING or move not in alone or move.control_predecessors:
        return None
    operands = tuple(
        convert.with_(
            name=names.unique(convert.name),
            operands=(operand,),
            shape=_with_type(operand.shape, convert.shape),
        )
        for operand in move.operands
    )
    return move.with_(operands=operands, shape=convert.shape)


def _with_type(shape: Shape, like: Shape) -> Shape:
    """A shape in the element type of another."""
    return shape.with_type(like.element_type)
