"""A merge sort of element numbers with the comparator inlined: for any comparator whatever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.types import load
from codegen.expressions import (
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    at_most,
    binary,
    conjoined,
    indexed,
    item,
    negated,
)
from codegen.kinds import Pointer, wide
from codegen.statements import Assign, For, If, LocalVariable
from hlo import attributes as a
from optimizer.analysis.indexing import linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


class MergedRows:
    """Each thread's own memory for a row of each operand, and for the order of its elements."""

    def __init__(self, body: Body, n: int, types: Sequence[ElementType]) -> None:
        self.body, self.n, self.types = body, n, types
        self.rows = [body.own(str(t), "row", n, t.bytes) for t in types]
        self.order, self.spare = (body.own("s32", name, n, 4) for name in ("order", "spare"))

    def value(self, row: int, number: Expr) -> Expr:
        """An element of a row, as a wide value."""
        kind = self.types[row]
        return self.body.let(wide(kind), "key", load(kind, item(self.rows[row], number)))

    def sort(self, before: Callable[[Expr, Expr], Expr]) -> Name:
        """Put element numbers in order; gives the name of the array that holds them.

        Runs of 1, 2, 4, ... elements are merged in pairs. Of two elements the right one is taken
        only if it must come before the left one, so equal ones stay in order.

        Parameters
        ----------
        before : the condition that says whether the element of one number comes first.
        """
        body, n = self.body, self.n
        source = body.variable(Pointer("s32"), "source", self.order)
        target = body.variable(Pointer("s32"), "target", self.spare)
        begin, at = Name("begin"), Name("at")

        with body.block() as round_:
            width = body.let("s64", "width", Cast("s64", Literal(1)) << Name("level"))
            with body.block() as merge:
                middle = body.let("s64", "middle", at_most(begin + width, n))
                end = body.let("s64", "end", at_most(middle + width, n))
                left = body.variable("s64", "left", begin)
                right = body.variable("s64", "right", middle)
                with body.block() as step:
                    take = body.variable("pred", "take_right", binary(">=", left, middle))
                    with body.block() as compare:
                        x = body.let("s64", "x", item(source, right))
                        y = body.let("s64", "y", item(source, left))
                        body.assign(take, before(x, y))
                    both = conjoined([binary("<", left, middle), binary("<", right, end)])
                    body.add(If(both, tuple(compare)))
                    body.assign(item(target, at), item(source, Choose(take, right, left)))
                    body.assign(right, right + take)
                    body.assign(left, left + negated(take))
                body.add(For("at", end, tuple(step), start=begin))
            body.add(For("begin", n, tuple(merge), step=Literal(2) * width))
            done = LocalVariable(Pointer("s32"), "done", target)
            body.add(done, Assign(target, source), Assign(source, Name("done")))
        rounds = max(n - 1, 0).bit_length()
        body.add(For("level", rounds, tuple(round_)))
        return source


def write_merge_sort(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Each row is copied, its order found, and then its elements are put in that order."""
    attrs = a.Sort.of(instr)
    axis, shape = attrs.dimensions[0], instr.operands[0].shape
    n = shape.dims[axis]
    types = [o.shape.element_type for o in instr.operands]
    rows = MergedRows(body, n, types)
    comparator = instr.called[0]

    def before(x: Expr, y: Expr) -> Expr:
        pairs = [rows.value(k, i) for k in range(len(types)) for i in (x, y)]
        return body.apply(comparator, *pairs)[0]

    others = [1 if d == axis else size for d, size in enumerate(shape.dims)]
    with body.loops([f"i{d}" for d in range(shape.rank)], others, parallel=True) as index:
        with body.loops(["j"], [n]) as (j,):
            at = (*index[:axis], j, *index[axis + 1 :])
            values = [body.element(o, at) for o in instr.operands]
            for row, kind, value in zip(rows.rows, types, values, strict=True):
                body.assign(item(row, j), body.stored(kind, value))
            body.assign(item(rows.order, j), Cast("s32", Group(indexed(j))))
        order = rows.sort(before)
        with body.loops(["j"], [n]) as (j,):
            number = linear((*index[:axis], j, *index[axis + 1 :]), shape.dims)
            for output, row in zip(outputs, rows.rows, strict=True):
                body.assign(item(output, number), item(row, item(order, j)))
