"""Reads the computations that an instruction calls: by name, in lists, or written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.errors.error import HloError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.errors.error import Span
    from hlo.instruction import Computation
    from hlo.opcode import Opcode
    from hlo.read.scanner import Item, Piece
    from hlo.read.scope import ModuleText


def read_called(
    module: ModuleText, row: Opcode, items: Iterable[Item], span: Span
) -> tuple[Computation, ...]:
    """The computations that attributes name, in the order of the opcode's row.

    Raises
    ------
    HloError
        HLO005 if one is missing, HLO010 if one is not defined before.
    """
    # Read in the order of the text, which is that of the names that inline ones get.
    given = {key.text: _computations(module, value) for key, value in items}
    keys = [key.rstrip("*") for key in row.called]
    missing = [key for key in keys if key not in given]
    if missing and not _may_miss(row, given):
        raise HloError("HLO005", f"{row.name} needs the attribute `{missing[0]}`", span)
    return tuple(computation for key in keys for computation in given.get(key, ()))


def _may_miss(row: Opcode, given: dict[str, list[Computation]]) -> bool:
    """Whether keys may be absent: where the row lists alternatives, one of them will do."""
    if row.attrs is CustomCall:
        return True
    return row.name == "conditional" and ("branch_computations" in given or len(given) == 2)


def _computations(module: ModuleText, value: Piece) -> list[Computation]:
    """The computations of `%a`, `{%a, %b}`, `{ ... ROOT ... }` or `{ { ... }, { ... } }`."""
    if not value.text.startswith("{") or _is_body(value.text):
        return [_computation(module, value)]
    pieces = module.scanner.pieces(value.start + 1, value.end - 1)
    return [_computation(module, piece) for piece in pieces]


def _is_body(text: str) -> bool:
    """Whether braces hold instructions, rather than a list: an `=` comes before any `(`."""
    inside = text[1:].lstrip()
    return not inside.startswith("{") and "=" in inside.partition("(")[0]


def _computation(module: ModuleText, piece: Piece) -> Computation:
    if piece.text.startswith("{"):
        return module.inline(piece)
    name = piece.text.lstrip("%")
    found = module.computations.get(name)
    if found is None:
        notes = did_you_mean(name, module.computations)
        message = f"there is no computation `{name[:60]}` before this one"
        raise HloError("HLO010", message, module.scanner.span(piece), notes)
    return found
