"""Groups of threads, each of which folds a row, and blocks for the parts of longer rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Choose, Literal, Name, at_most, binary, conjoined
from emit_cuda.grids.stages import WARP
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from codegen.elements.body import Body
    from codegen.expressions import Expr

# Elements that a thread folds before it meets others, and threads of the blocks of short rows.
EACH, PACKED = 16, 128
MOST_THREADS = 1024
# Elements that a block folds at least where several share a row, and of which each has a multiple;
# blocks that run at once: four for each multiprocessor of an H100.
LEAST_PART, STEP, WAVE = 16384, 2048, 4 * 132


def threads_for(row: int) -> int:
    """The number of threads that reduce a row.

    Less than a warp reduces a short row, up to a block a long one.
    """
    if row <= WARP:
        return 1 << (row - 1).bit_length()
    if row <= WARP * EACH:
        return WARP
    return min(MOST_THREADS, max(WARP, 1 << (-(-row // EACH) - 1).bit_length()))


class RowGroups:
    """A group of threads for each row: several groups a block, or a block for each.

    Parameters
    ----------
    rows : how many there are.
    group : threads of each; the warps of a block can fold one row together, but several only apart.

    Attributes
    ----------
    row, lane : the row of this thread, and its number in the group.
    exists : the condition that there is such a row; None where it always holds.
    """

    def __init__(self, body: Body, rows: int, group: int) -> None:
        self.body, self.rows, self.group = body, rows, group
        self.packed = PACKED // group if group <= WARP else 1
        x, block = Name("threadIdx.x"), Name("blockIdx.x")
        own = block if self.packed == 1 else block * self.packed + x / group
        row, self.exists = body.let("s64", "row", own), None
        if rows % self.packed:
            # All threads of a warp must come to the shuffles.
            self.exists = binary("<", row, rows)
            row = body.let("s64", "row", Choose(self.exists, row, Literal(rows - 1)))
        self.row = counter(row.name, rows)
        self.lane = body.let("s64", "lane", x % group if self.packed > 1 else x)

    def first_thread(self) -> AbstractContextManager[None]:
        """Statements of the first thread of each group that has a row."""
        is_first = binary("==", self.lane, 0)
        return self.body.when(conjoined([is_first, self.exists]) if self.exists else is_first)

    @property
    def size(self) -> tuple[int, int]:
        """The blocks of the launch, and the threads of each."""
        return -(-self.rows // self.packed), self.packed * self.group


class FoldParts:
    """The parts of a long row or column, each of which a block folds.

    A part is long enough for two launches instead of one; and there are no more blocks than run at
    once.

    Parameters
    ----------
    blocks : how many there would be, if each folded all that belongs together.
    count : elements that belong together.
    step : a number of elements, of which each part has a multiple.
    side_by_side : columns that a block folds; its 1024 threads are half of all that a
        multiprocessor has.

    Attributes
    ----------
    number : of parts; 1 where blocks need not share.
    size : elements of each, but the last one.
    """

    def __init__(self, blocks: int, count: int, step: int, side_by_side: int = 1) -> None:
        wave = WAVE if side_by_side == 1 else WAVE // 2
        wanted = max(1, min(count * side_by_side // LEAST_PART, wave // blocks))
        self.count = count
        self.size = -(-count // wanted // step) * step if wanted > 1 else count
        self.number = -(-count // self.size)

    def of_block(self, body: Body, name: str) -> tuple[Name, Name, Name, Name]:
        """The row of a block, the number of its part there, and where that begins and ends."""
        whole = body.let("s64", name, Name("blockIdx.x") / self.number)
        part = body.let("s64", "part", Name("blockIdx.x") % self.number)
        begin = body.let("s64", "begin", part * self.size)
        end: Expr = begin + self.size
        if self.count % self.size:
            end = at_most(end, self.count)
        return whole, part, begin, body.let("s64", "end", end)
