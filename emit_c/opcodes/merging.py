"""A merge sort of element numbers with the comparator inlined: for any comparator whatever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Name
from codegen.indexing import linear
from codegen.reading import read
from codegen.statements import Assign, For, If, Variable
from emit_c.code.types import load, store, wide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.kernels.body import Body
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


class Rows:
    """Each thread's own memory for a row of each operand, and for the order of its elements."""

    def __init__(self, body: Body, n: int, types: Sequence[ElementType]) -> None:
        self.body, self.n, self.types = body, n, types
        self.rows = [body.own(str(t), "row", n, t.bytes) for t in types]
        self.order, self.spare = (body.own("s32", name, n, 4) for name in ("order", "spare"))

    def value(self, row: int, number: str) -> str:
        """An element of a row, as a wide value."""
        kind = self.types[row]
        return self.body.let(wide(kind), "key", load(kind, f"{self.rows[row]}[{number}]"))

    def sort(self, before: Callable[[str, str], str]) -> str:
        """Put element numbers in order; gives the name of the array that holds them.

        Runs of 1, 2, 4, ... elements are merged in pairs. Of two elements the right one is taken
        only if it must come before the left one, so equal ones stay in order.

        Parameters
        ----------
        before : the C expression that says whether the element of one number comes first.
        """
        body, n = self.body, self.n
        source, target = body.name("source"), body.name("target")
        body.add(
            Variable("s32 *", source, Name(self.order)), Variable("s32 *", target, Name(self.spare))
        )
        with body.block() as round_:
            width = body.let("s64", "width", "(s64)1 << level")
            with body.block() as merge:
                middle = body.let("s64", "middle", f"begin + {width} < {n} ? begin + {width} : {n}")
                end = body.let("s64", "end", f"{middle} + {width} < {n} ? {middle} + {width} : {n}")
                left = body.variable("s64", "left", "begin")
                right = body.variable("s64", "right", middle)
                with body.block() as step:
                    take = body.variable("pred", "take_right", f"{left} >= {middle}")
                    with body.block() as compare:
                        x = body.let("s64", "x", f"{source}[{right}]")
                        y = body.let("s64", "y", f"{source}[{left}]")
                        body.assign(take, before(x, y))
                    body.add(If(read(f"{left} < {middle} && {right} < {end}"), tuple(compare)))
                    body.assign(f"{target}[at]", f"{source}[{take} ? {right} : {left}]")
                    body.assign(right, f"{right} + {take}")
                    body.assign(left, f"{left} + !{take}")
                body.add(For("at", Name(end), tuple(step), start=Name("begin")))
            body.add(For("begin", n, tuple(merge), step=read(f"2 * {width}")))
            body.add(
                Variable("s32 *", "done", Name(target)),
                Assign(Name(target), Name(source)),
                Assign(Name(source), Name("done")),
            )
        rounds = max(n - 1, 0).bit_length()
        body.add(For("level", rounds, tuple(round_)))
        return source


def write_merge_sort(body: Body, instr: Instruction, outputs: Sequence[str]) -> None:
    """Each row is copied, its order found, and then its elements are put in that order."""
    attrs: a.Sort = instr.attrs  # type: ignore[assignment]
    axis, shape = attrs.dimensions[0], instr.operands[0].shape
    n = shape.dims[axis]
    types = [o.shape.element_type for o in instr.operands]
    rows = Rows(body, n, types)
    comparator = instr.called[0]

    def before(x: str, y: str) -> str:
        pairs = [rows.value(k, i) for k in range(len(types)) for i in (x, y)]
        return body.apply(comparator, *pairs)[0]

    others = [1 if d == axis else size for d, size in enumerate(shape.dims)]
    with body.loops([f"i{d}" for d in range(shape.rank)], others, parallel=True) as place:
        with body.loops(["j"], [n]) as (j,):
            at = (*place[:axis], j, *place[axis + 1 :])
            values = [body.element(o, at) for o in instr.operands]
            for row, kind, value in zip(rows.rows, types, values, strict=True):
                body.assign(f"{row}[{j.text}]", store(kind, value))
            body.assign(f"{rows.order}[{j.text}]", f"(s32)({j.text})")
        order = rows.sort(before)
        with body.loops(["j"], [n]) as (j,):
            number = linear((*place[:axis], j, *place[axis + 1 :]), shape.dims).text
            for output, row in zip(outputs, rows.rows, strict=True):
                body.assign(f"{output}[{number}]", f"{row}[{order}[{j.text}]]")
