"""Groups of threads, each of which folds a row, and blocks for the parts of longer rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import BLOCK_X, THREAD_X, Name, at_most
from codegen.schedule.divide import divide
from codegen.schedule.order import bind
from codegen.statements import For
from emit_cuda.grids.bound import MOST_THREADS, bound_stage
from emit_cuda.grids.stages import BLOCK, WARP
from optimizer.gpu.device import H100

if TYPE_CHECKING:
    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from emit_cuda.grids.stages import Stage

# Elements that a thread folds before it meets others.
EACH = 16
# Blocks that run at once: four for each multiprocessor.
WAVE = 4 * H100.multiprocessors
# Elements that a block folds at least where several share a row, and of which each has a multiple.
LEAST_PART, STEP = 16384, 2048


def threads_for(row: int) -> int:
    """The number of threads that reduce a row.

    Less than a warp reduces a short row, up to a block a long one.
    """
    if row <= WARP:
        return 1 << (row - 1).bit_length()
    if row <= WARP * EACH:
        return WARP
    return min(MOST_THREADS, max(WARP, 1 << (-(-row // EACH) - 1).bit_length()))


def on_groups(body: Body, rows: For, group: int, kind: str) -> Stage:
    """The launch of a loop over rows, each of which a group of threads has.

    There are several groups in a block, or a block for each: its warps can fold one row together,
    but several only apart. All threads of a warp come to the shuffles, as past the last row they do
    that one again.
    """
    count = BLOCK // group if group <= WARP else 1
    if count > 1:
        (divided,) = divide(body, rows, count, lambda row, _: [bind(row, THREAD_X)], tail="again")
        assert isinstance(divided, For)
        rows = divided
    return bound_stage(body, bind(rows, BLOCK_X), kind)


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
        whole = body.let("s64", name, BLOCK_X / self.number)
        part = body.let("s64", "part", BLOCK_X % self.number)
        begin = body.let("s64", "begin", part * self.size)
        end: Expr = begin + self.size
        if self.count % self.size:
            end = at_most(end, self.count)
        return whole, part, begin, body.let("s64", "end", end)
