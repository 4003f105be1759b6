"""Launches and copies as parts of another kernel: their threads, and the blocks that they need."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Level
from codegen.functions import Function, mentions
from codegen.program.steps import Copy, Launch
from emit_cuda.code.prelude import words_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from codegen.program.steps import Step
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
    """Whether a thread needs others than those of its warp, which stay together in any block."""
    stage = written.stage
    if not stage.waits or stage.cooperative:
        return stage.cooperative
    words, called = called_by(written)
    by_number = Level.THREAD.value in called or Level.THREADS.value in called
    if Level.BLOCK.value in called or (by_number and stage.block[1:] != (1, 1)):
        # Functions would ask for numbers that are others here.
        raise NotMergedError
    waits = not (BARRIERS.isdisjoint(words) and BARRIERS.isdisjoint(called))
    return bool(stage.shared) or waits or by_number


def called_by(written: Written) -> tuple[Collection[str], Collection[str]]:
    """The words of a kernel, and those of the functions that it calls."""
    words = mentions(Function("", (), written.statements))
    return words, words_of(words)


def word_of(size: int) -> int:
    """The bytes that are copied at once: arrays of such a size begin at multiples of so many."""
    return 4 if size % 4 == 0 else 1
