"""Launches and copies as parts of another kernel: their threads, and the blocks that they need."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Index, LaunchIndex, Level, Name
from codegen.functions import Function, mentions
from codegen.program.steps import Copy, Launch
from codegen.statements import rewritten
from codegen.walk import rebuilt, substitute
from emit_cuda.code.prelude import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from codegen.expressions import Expr
    from codegen.program.steps import Step
    from codegen.statements import Statement
    from emit_cuda.kernels.file import KernelFile, Written


# Functions of CUDA in which all threads of a block wait for each other.
BARRIERS = frozenset(("__syncthreads", "__syncthreads_and", "__syncthreads_or"))


class NotMergedError(Exception):
    """Something inside can't be a part of a kernel."""


def size_in(file: KernelFile, step: Step) -> tuple[int, int]:
    """The threads of a launch, and the block size that it asks for; 0 if any will do."""
    match step:
        case Copy(_, _, size):
            return size // word_of(size), 0
        case Launch(kernel, grid, block):
            threads, stage = prod(block), file.written[kernel].stage
            if stage.extern_bytes or grid[1:] != (1, 1):
                raise NotMergedError
            return prod(grid) * threads, threads if needs_block(file.written[kernel]) else 0
        case _:
            raise NotMergedError


def needs_block(written: Written) -> bool:
    """Whether a thread needs others than those of its warp, which stay together in any block.

    It also needs its block for numbers along several axes.
    """
    stage = written.stage
    has_axes = stage.block[1:] != (1, 1)
    if not stage.waits or stage.cooperative:
        return stage.cooperative or has_axes
    words, called = called_by(written)
    by_number = Level.THREAD.value in called or Level.THREADS.value in called
    if Level.BLOCK.value in called or (by_number and has_axes):
        # Functions would ask for numbers that are others here.
        raise NotMergedError
    waits = not (BARRIERS.isdisjoint(words) and BARRIERS.isdisjoint(called))
    return bool(stage.shared) or waits or by_number or has_axes


def called_by(written: Written) -> tuple[Collection[str], Collection[str]]:
    """The words of a kernel, and those of the functions that it calls."""
    words = mentions(Function("", (), written.statements))
    return words, words_of(words)


def word_of(size: int) -> int:
    """The bytes that are copied at once: arrays of such a size begin at multiples of so many."""
    return 4 if size % 4 == 0 else 1


def moved(
    statements: Sequence[Statement], values: Mapping[str, Expr], places: Mapping[Expr, Expr]
) -> tuple[Statement, ...]:
    """The statements of a kernel as part of another one.

    Parameters
    ----------
    values : of the kernel's parameters and shared arrays.
    places : of its numbers of blocks and threads, and of values that are computed of them alone.
    """

    def inside(expr: Expr) -> Expr:
        match expr:
            case LaunchIndex():
                return places.get(expr, expr)
            case Name() | Index():
                return substitute(expr, values)
            case _:
                return rebuilt(expr, inside)

    def change(expr: Expr) -> Expr:
        return places[expr] if expr in places else inside(expr)

    return tuple(rewritten(s, change) for s in statements)
