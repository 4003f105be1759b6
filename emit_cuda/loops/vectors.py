"""Threads that compute several neighbours each: as many as 128 bits hold.

A thread that computes four neighbours of f32 asks memory once for each operand instead of four
times. Its work is a loop over the four: see `emit_cuda.loops.packs`.

References
----------
XLA, `xla/service/gpu/gpu_fusible.cc` (`ComputeLoopFusionConfig`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Name, binary
from codegen.statements import For, If
from emit_cuda.loops.packs import Pack
from optimizer.analysis.indexing import counter, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codegen.elements.kernel import Kernel
    from codegen.statements import Statement
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Sum

# Bytes of the widest load, and elements that a thread computes at most.
BYTES, MOST = 16, 8
# Elements from which on there is work for all threads of a GPU: 132 multiprocessors of an H100.
FILLS = 132 * 2048


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


def in_vectors(
    kernel: Kernel,
    thread: str,
    count: int,
    arrays: Iterable[Instruction],
    write: Callable[[Sum], Sequence[Statement]],
) -> tuple[int, Sequence[Statement], int]:
    """The number of threads for some elements, the statements of one, and how many it computes.

    Of enough elements each thread computes neighbours, if loads and stores can be joined. Elements
    after the last whole vector have a thread of their own.

    Parameters
    ----------
    thread : the name of a thread's number.
    count : elements of all threads.
    arrays : that are read and written.
    write : gives the statements for the element of a number.
    """
    width = width_for(arrays) if count >= FILLS else 1
    if width > 1:
        iteration, vectors = kernel.body.name("v"), count // width
        number = counter(thread, vectors) * width + counter(iteration, width)
        loop = Pack(kernel, iteration, width).loop(write(number))
        if loop and count % width == 0:
            return vectors, loop, width
        if loop:
            one = kernel.body.name("i")
            rest = write(unknown(one, vectors * width, count - 1))
            tail = For(one, count, tuple(rest), start=vectors * width)
            is_whole = binary("<", Name(thread), vectors)
            return vectors + 1, [If(is_whole, tuple(loop), (tail,))], width
    return count, write(counter(thread, count)), 1
