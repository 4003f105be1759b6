"""Memory that a kernel needs for itself while it runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegen.elements.memory import pointer_into
from codegen.elements.types import store
from codegen.expressions import Expr, Name, item
from codegen.kinds import Pointer
from codegen.opcodes.folding import over
from codegen.walk import spelled_out
from emit_c.contraction.tiles import result
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from codegen.elements.body import Body
    from emit_c.contraction.tiling import Tiling
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


class Scratch:
    """Arrays in a kernel's scratch memory, one after the other.

    Attributes
    ----------
    bytes : what all of them take.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.bytes = 0

    def array(self, kind: ElementType, name: str, size: int) -> Name:
        """A new array; gives the pointer to it."""
        begin = self.bytes
        self.bytes += aligned(max(size * kind.bytes, 1))
        begins = pointer_into(Name("scratch"), begin, kind.name)
        return self.body.variable(Pointer(kind.name), name, begins)


@contextmanager
def summed(
    body: Body,
    instr: Instruction,
    output: Expr,
    scratch: Scratch,
    kind: ElementType,
    tilings: Sequence[Tiling],
) -> Generator[tuple[ElementType, Expr]]:
    """The type and the array of the sums that some tilings make.

    That is the output, unless tiles must add to sums of a wider type than it has: then they are
    made in scratch memory, and converted at the end. Sums that are exact are added in the output.
    """
    target = instr.shape.element_type
    if target is kind or all(tiling.chunks == 1 or tiling.exact for tiling in tilings):
        yield target, output
        return
    size = instr.shape.size
    sums = scratch.array(kind, "sums", size)
    yield kind, sums
    # Two loops, so that threads have iterations to share.
    row = instr.shape.dims[-1]
    i = body.name("i")
    with body.loops(["row"], [size // row], parallel=True) as (at,):
        number = spelled_out(at * row) + Name(i)
        with body.block() as statements:
            value = result(item(sums, number), kind, target)
            body.assign(item(output, number), store(target, value))
        body.add(over(i, row, statements))
