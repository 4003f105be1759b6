"""Reads the computations that an instruction calls: by name, in lists, or written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import called_keys
from hlo.read.old_names import old_form
from hlo.read.syntax import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.errors.error import Span
    from hlo.instruction import Computation, Instruction
    from hlo.opcode import Opcode
    from hlo.read.scope import ModuleText
    from hlo.read.syntax import Item


def read_called(
    module: ModuleText,
    row: Opcode,
    items: Sequence[Item],
    operands: Sequence[Instruction],
    span: Span,
) -> tuple[Computation, ...]:
    """The computations that attributes name, in the order of the opcode's row.

    Parameters
    ----------
    operands : of the instruction. What a conditional branches on says how branches are given.

    Raises
    ------
    HloError
        HLO005 if one is missing or is not for such an instruction, HLO010 if one is not defined
        before.
    """
    keys = called_keys(row, operands)
    for key, _ in items:
        if key.text not in keys and key.text + "*" not in keys:
            message = f"{row.name} on {operands[0].shape} has no attribute `{key.text}`"
            notes = (f"it has: {', '.join(k.rstrip('*') for k in keys)}",)
            raise HloError("HLO005", message, module.reader.span(key), notes)
    # Read in the order of the text, which is that of the names that inline ones get.
    computations = {
        key.text: _computations(module, value, is_list=key.text not in keys) for key, value in items
    }
    if row.attrs is CustomCall:
        # Any of them may be absent. The first one counts.
        return next((tuple(computations[k]) for k in map(_name, keys) if k in computations), ())
    for key in map(_name, keys):
        if not computations.get(key):
            message = f"{row.name} needs the attribute `{key}`"
            raise HloError("HLO005", message, span, old_form(row.name, key))
    return tuple(computation for key in keys for computation in computations[_name(key)])


def _name(key: str) -> str:
    return key.rstrip("*")


def _computations(module: ModuleText, value: Piece, *, is_list: bool) -> list[Computation]:
    """The computations of `%a`, `{%a, %b}`, `{ ... ROOT ... }` or `{ { ... }, { ... } }`."""
    parts = module.reader.called_list(value) if is_list else [module.reader.called(value)]
    return [
        _named(module, part) if isinstance(part, Piece) else module.inline(part, value.start)
        for part in parts
    ]


def _named(module: ModuleText, piece: Piece) -> Computation:
    name = piece.text
    computation = module.computations.get(name)
    if computation is None:
        notes = did_you_mean(name, module.computations)
        message = f"there is no computation `{name[:60]}` before this one"
        raise HloError("HLO010", message, module.reader.span(piece), notes)
    return computation
