"""Threads that compute several neighbours each: as many as 128 bits hold.

A thread that computes four neighbours of f32 asks memory once for each operand instead of four
times. Its work is a loop over the four: see `emit_cuda.loops.packs`.

References
----------
XLA, `xla/service/gpu/gpu_fusible.cc` (`ComputeLoopFusionConfig`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from codegen.schedule.loop import LoopView
from codegen.schedule.strip_mine import strip_mine
from codegen.schedule.trace import attempt
from emit_cuda.loops.packs import packed
from optimizer.gpu.device import H100

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codegen.elements.kernel import Kernel
    from codegen.statements import For
    from hlo.instruction import Instruction

# Bytes of the widest load, and elements that a thread computes at most.
BYTES, MOST = 16, 8
# Elements from which on there is work for all threads of a GPU: a multiprocessor has 2048 at once.
FILLS = H100.multiprocessors * 2048


def width_for(instructions: Iterable[Instruction]) -> int:
    """The number of elements in a thread's vector: as many of the widest type as one load takes."""
    leaves = [s.element_type for i in instructions for _, s in i.shape.leaves() if s.is_array]
    return max(1, min(BYTES // max((t.bytes for t in leaves), default=1), MOST))


def width_of_rows(instructions: Iterable[Instruction], size: int, threads: int) -> int:
    """The width of vectors for threads that share rows of a size, each row being whole vectors."""
    width = width_for(instructions)
    while width > 1 and (size % width or threads * width > size):
        width //= 2
    return width


def in_vectors(kernel: Kernel, loop: For, arrays: Iterable[Instruction]) -> tuple[For, int]:
    """A loop whose iterations compute neighbours, and how many each computes.

    Of few elements it stays as it is, and where no loads or stores can be joined. Elements after
    the last whole vector have an iteration of their own.

    Parameters
    ----------
    loop : over elements.
    arrays : that are read and written.
    """
    width = width_for(arrays) if (LoopView(loop).trips or 0) >= FILLS else 1
    if width == 1:
        return loop, 1
    vectorized = attempt(lambda: strip_mine(kernel.body, loop, width, partial(packed, kernel), "v"))
    return (loop, 1) if vectorized is None else (vectorized, width)
