"""Transposes through shared memory: rows are read as they lie, and written as they lie.

Where the last dimension of the result is another one than the operand's, threads that write
neighbours would read elements far apart. So a block reads a tile of 32 x 32 elements by rows of the
operand, and writes it by rows of the result. The tile's rows are one element longer, so that
threads which read its columns ask different banks.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/transpose.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Expr, Name, binary, conjoined, indexed, item
from codegen.statements import For, live
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.stages import Stage
from hlo import attributes as a
from optimizer.analysis.indexing import counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.elements.kernel import Kernel
    from codegen.statements import Statement
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index, Sum

# Smaller dimensions are left to a thread for each element, as in XLA; rows of a block's threads.
LEAST, ROWS = 16, 4


def transpose_stage(kernel: Kernel, instr: Instruction, outputs: Sequence[Name]) -> Stage | None:
    """A launch that transposes tiles; None where rows are rows of the operand, or short.

    Parameters
    ----------
    instr : a transpose; or a bitcast, which is one where its layouts tell of another order, since
        arrays lie in row-major order here, whatever their layouts.
    """
    order, dims, rank = _order(instr), instr.shape.dims, instr.shape.rank
    if rank < 2 or order is None:
        return None
    # The result's dimension whose neighbours are neighbours in the operand, and its own last one.
    sides = order.index(rank - 1), rank - 1
    if sides[0] == sides[1] or min(dims[d] for d in sides) < LEAST:
        return None
    body = kernel.body
    others = [1 if d in sides else n for d, n in enumerate(dims)]
    grid = [*others, *(-(-dims[d] // WARP) for d in sides)]
    with body.block() as statements:
        block = body.let("s64", "block", Name("blockIdx.x"))
        *outer, down, across = delinear(counter(block.name, prod(grid)), grid)
        tiles = _TransposedTiles(body, instr, sides, tuple(outer), (down, across))
        tiles.write(outputs[0])
    shared = ((instr.shape.element_type.name, tiles.tile.name, WARP * (WARP + 1)),)
    return Stage(tuple(statements), (prod(grid), 1, 1), (WARP, ROWS, 1), shared, kind="transpose")


def _order(instr: Instruction) -> Sequence[int] | None:
    """For each dimension of the result, the operand's; None for a bitcast that does more."""
    if instr.opcode == "transpose":
        return a.Dimensions.of(instr).dimensions
    (operand,) = instr.operands
    shapes = operand.shape, instr.shape
    if shapes[0].element_type is not shapes[1].element_type:
        return None
    before, after = (shape.memory_order for shape in shapes)
    if [shapes[0].dims[d] for d in before] != [shapes[1].dims[d] for d in after]:
        return None
    pairs = dict(zip(after, before, strict=True))
    return [pairs[d] for d in range(instr.shape.rank)]


class _TransposedTiles:
    """Writes the code of a block.

    Parameters
    ----------
    sides : the dimensions of the result that a tile has.
    outer : the index along all others; `numbers` of the tile along the sides.
    """

    def __init__(
        self, body: Body, instr: Instruction, sides: tuple[int, int], outer: Index, numbers: Index
    ) -> None:
        self.body, self.instr, self.sides = body, instr, sides
        self.outer, self.numbers = outer, numbers
        self.tile, self.step = Name(body.name("tile")), body.name("step")
        self.thread = counter(body.let("s64", "thread", Name("threadIdx.x")).name, WARP)
        self.row = counter(self.step, WARP)

    def write(self, output: Name) -> None:
        """Read a tile by rows of the operand, and write it by rows of the result."""
        body, order = self.body, _order(self.instr)
        assert order is not None, "it is a transpose"
        kind, pitch = self.instr.shape.element_type, WARP + 1
        with body.block() as read:
            index, exists = self._index(self.thread, self.row)
            with body.block() as inside:
                source = {d: index[i] for i, d in enumerate(order)}
                place = tuple(source[d] for d in range(len(source)))
                value = body.element(self.instr.operands[0], place)
                target = item(self.tile, indexed(self.row * pitch + self.thread))
                body.assign(target, body.stored(kind, value))
            with body.when(exists):
                body.add(*live(inside))
        self._each_row(read)
        body.add(BARRIER)
        with body.block() as written:
            index, exists = self._index(self.row, self.thread)
            with body.when(exists):
                element = item(self.tile, indexed(self.thread * pitch + self.row))
                body.assign(item(output, linear(index, self.instr.shape.dims)), element)
        self._each_row(written)

    def _each_row(self, statements: Sequence[Statement]) -> None:
        loop = For(self.step, WARP, tuple(statements), start=Name("threadIdx.y"), step=ROWS)
        self.body.add(loop)

    def _index(self, *inside: Sum) -> tuple[Index, Expr | None]:
        """The index of an element by its place in the tile, and the condition that it exists."""
        index, ragged, dims = list(self.outer), list[Expr](), self.instr.shape.dims
        for d, number, part in zip(self.sides, self.numbers, inside, strict=True):
            name = self.body.let("s64", f"i{d}", indexed(number * WARP + part))
            index[d] = counter(name.name, dims[d])
            if dims[d] % WARP:
                ragged.append(binary("<", name, dims[d]))
        return tuple(index), conjoined(ragged) if ragged else None
