"""The syntax of HLO text: a text cut into pieces with positions.

Nothing has a meaning yet: no opcode, shape or operand was looked up. The rules of `hlo.lark` that
cut a text make the named tuples here, and `hlo.read.parse` makes a module of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Piece(NamedTuple):
    """A stretch of the text, and where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset of the end, the last character excluded."""
        return self.start + len(self.text)


class Item(NamedTuple):
    """A `key=value` of the text."""

    key: Piece
    value: Piece


class InstructionSyntax(NamedTuple):
    """`ROOT %name = shape opcode(arguments), key=value, ...`; the arguments without parentheses."""

    name: str
    is_root: bool
    shape: Piece | None
    opcode: Piece
    arguments: Piece
    attributes: Sequence[Item]


# A computation: its name, or its instructions.
CalledSyntax = Piece | list[InstructionSyntax]


class OperandSyntax(NamedTuple):
    """`f32[2] %name#0`, `f32[2] negate(%a)`, or a shape alone.

    Attributes
    ----------
    whole : all of it.
    name : of an instruction, or the opcode of an instruction in place; None of a shape alone.
    elements : the indices after `#`.
    arguments : of an instruction in place, without parentheses.
    """

    whole: Piece
    shape: Piece | None
    name: Piece | None
    elements: tuple[int, ...]
    arguments: Piece | None


class SignatureSyntax(NamedTuple):
    """`(parameters) -> result`; the parameters without parentheses."""

    parameters: Piece
    result: Piece


class ComputationSyntax(NamedTuple):
    """`ENTRY %name (parameters) -> result { body }, key=value`."""

    is_entry: bool
    name: Piece
    signature: SignatureSyntax | None
    body: Sequence[Any]
    attributes: Sequence[Item]


class HeaderSyntax(NamedTuple):
    """`HloModule name, key=value, ...`."""

    name: Piece
    attributes: Sequence[Item]


class TableSyntax(NamedTuple):
    """`FileNames 1 "a.py" 2 "b.py"`: a heading, and rows of a number and a text."""

    heading: Piece
    rows: Sequence[tuple[Piece, Piece]]


class ModuleSyntax(NamedTuple):
    """A header, tables and computations."""

    header: HeaderSyntax | None
    tables: Sequence[TableSyntax]
    computations: Sequence[ComputationSyntax]
