"""Stores of register tiles at the edges of an output, and of sums that are added to it.

Tiles inside an output store whole vectors. For the others a function is shared by all tiles of one
width, since the cases of a last vector would be half of what a compiler reads in each tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS
from codegen.expressions import Cast, Choose, Literal, Name, Op, binary, conjoined, item, negated
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer
from codegen.statements import Assign, Break, Call, For, Forever, If, Let, LocalVariable
from emit_c.code.vectors import vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from hlo.types.element_type import ElementType

COUNT, ADDS = Name("count"), Name("adds")
_SUMS, _TO, _J = Name("sums"), Name("to"), Name("j")


def moved(pointer: Name, step: Expr | int) -> Assign:
    """Move a pointer, or a counter, by so many numbers."""
    return Assign(pointer, pointer + step)


def at(kind: str, pointer: Expr, number: Expr | int = 0, *, const: bool = True) -> Op:
    """The value of a type where a number of an array is; or where it is stored."""
    place = pointer if number == 0 else pointer + number
    return Op("*", (Cast(Pointer(kind, const=const), place),))


@dataclass(frozen=True, slots=True)
class RowStore:
    """The C function that stores the first `count` sums of each row, or adds them to the output."""

    vectors: int
    lanes: int
    kind: ElementType

    @property
    def name(self) -> str:
        """The name in C."""
        return f"hlo_store_{self.vectors}x{self.lanes}_{self.kind}"

    @property
    def function(self) -> Function:
        """The function: whole vectors first, or numbers that are added; then parts of a vector."""
        kind, width = self.kind.name, self.vectors * self.lanes
        parameters = (
            Parameter(Pointer(kind, const=True), "sums"),
            Parameter("s64", "rows"),
            Parameter(Pointer(kind), "to"),
            Parameter("s64", "output_row"),
            Parameter("s64", "count"),
            Parameter("int", "adds"),
        )
        lanes = vector(self.kind, self.lanes)
        there = at(lanes, _TO, _J, const=False)
        whole = (
            Break(binary(">", _J + self.lanes, COUNT)),
            Let(lanes, "sum", at(lanes, _SUMS, _J)),
            Assign(there, Choose(ADDS, there + Name("sum"), Name("sum"))),
            moved(_J, self.lanes),
        )
        single = (
            Break(binary("||", negated(ADDS), binary(">=", _J, COUNT))),
            Assign(item(_TO, _J), item(_TO, _J) + item(_SUMS, _J)),
            moved(_J, 1),
        )
        begin = LocalVariable("s64", "j", Literal(0))
        move = moved(_SUMS, width), moved(_TO, Name("output_row"))
        row = (begin, Forever(whole), Forever(single), *self._parts(), *move)
        about = f"// Of each row of {width} sums, the first `count` are stored or added.\n"
        return Function(self.name, parameters, (For("i", Name("rows"), row),), about)

    def _parts(self) -> Iterator[Statement]:
        """Store the lanes that fill no vector: a half of one, a quarter, and so on.

        Each is a part of one vector that was stored just now, or it would have to wait for that.
        """
        part = self.lanes // 2
        while part:
            is_there = conjoined((binary("<", _J, COUNT), binary("&", COUNT, part)))
            size = Literal(part * self.kind.bytes)
            copy = Call(BUILTINS["memcpy"], (_TO + _J, _SUMS + _J, size))
            yield If(is_there, (copy, moved(_J, part)) if part > 1 else (copy,))
            part //= 2
