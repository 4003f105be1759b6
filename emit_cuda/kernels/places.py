"""The elements of arrays that each thread of a launch loads and stores, if independent of data.

The index of each load and store is evaluated for all threads at once, in all iterations of loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.expressions import Load, Name
from codegen.statements import For, Forever, names_in, nested, trees
from codegen.walk import walk
from emit_cuda.grids.threads import Threads, pointed, size_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.program.steps import Dim3
    from codegen.statements import Statement
    from emit_cuda.grids.threads import Lanes, Mask
    from emit_cuda.kernels.file import Written

# Threads of a launch that is looked at, and iterations of all loops around an access.
MOST_LOOKED_AT, MOST_ITERATIONS = 1 << 17, 64


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Elements that threads use.

    Attributes
    ----------
    elements, threads : the element, and the number of the thread in its launch, of each use.
    size : bytes of an element.
    """

    elements: Lanes
    threads: Lanes
    size: int

    def each_of_one_thread(self, other: Places) -> bool:
        """Whether the same thread uses each element, in both launches."""
        if self.size != other.size:
            return False
        used = np.concatenate([self.elements, other.elements])
        by = np.concatenate([self.threads, other.threads])
        order = np.argsort(used, kind="stable")
        same = used[order][1:] == used[order][:-1]
        return bool((by[order][1:] == by[order][:-1])[same].all())


def places(written: Written, grid: Dim3, block: Dim3, names: Collection[str]) -> Places | None:
    """The elements of an array that the threads of a launch use; None where that is not known.

    Parameters
    ----------
    names : of the parameters that lead to it.
    """
    statements, threads = written.statements, prod(grid) * prod(block)
    sizes = {size_of(a.kind) for a in written.arguments if a.name in names}
    kinds = {a.name: a.kind for a in written.arguments if a.name in names}
    direct = [load for tree in _all(statements) for load in _loads(tree, kinds)]
    # Whatever else a pointer is for, some function may read or write there.
    mentioned = sum(names_in(statements).count(name) for name in names)
    if threads > MOST_LOOKED_AT or len(direct) != mentioned or len(sizes) != 1:
        return None
    threads_run = _AllThreads(threads, grid, block, kinds)
    try:
        threads_run.statements(statements, np.ones(threads, bool))
    except LookupError:
        return None
    nothing = (np.empty(0, np.int64),) * 2
    elements, by = map(np.concatenate, zip(*(nothing, *threads_run.places), strict=True))
    return Places(elements, by, sizes.pop())


def _all(statements: Sequence[Statement]) -> Iterator[Expr]:
    for statement in nested(statements):
        yield from trees(statement)


def _loads(tree: Expr, arrays: Collection[str]) -> Iterator[tuple[Load, str, Kind | None]]:
    """The loads from arrays in a tree: with the array, and the type that it is converted to."""
    for load in walk(tree):
        if isinstance(load, Load):
            pointer, kind = pointed(load.pointer)
            if isinstance(pointer, Name) and pointer.name in arrays:
                yield load, pointer.name, kind


class _AllThreads(Threads):
    """All threads of a launch, in all iterations of loops.

    Parameters
    ----------
    kinds : of the arrays that are looked at.

    Attributes
    ----------
    places : the elements that were used so far, and by which threads.
    """

    def __init__(self, threads: int, grid: Dim3, block: Dim3, kinds: dict[str, Kind]) -> None:
        super().__init__(np.arange(threads), grid, block)
        self.kinds = kinds
        self.places: list[tuple[Lanes, Lanes]] = []
        self.iterations = 1

    def visit(self, statement: Statement, mask: Mask) -> None:
        """Note the elements that a statement uses; a `LookupError` where nobody knows which."""
        for tree in trees(statement):
            for load, name, kind in _loads(tree, self.kinds):
                count, rest = divmod(size_of(kind or self.kinds[name]), size_of(self.kinds[name]))
                if rest:
                    raise LookupError(name)
                # One element, or several at once.
                first, numbers = self._sure(load.index)[mask] * count, self.numbers[mask]
                self.places += [(first + k, numbers) for k in range(count)]

    def loop(self, loop: For | Forever, mask: Mask) -> None:
        """Go through all iterations; a `LookupError` if nobody knows how many, or too many."""
        match loop:
            case For(name, stop, start=start, step=step):
                start, stop, step = map(self._sure, (start, stop, step))
            case Forever():
                raise LookupError(loop)
        outside = self.iterations
        while (going := mask & (start < stop)).any():
            self.iterations += 1
            if self.iterations > MOST_ITERATIONS or (step <= 0).any():
                raise LookupError(loop)
            self.values[name] = start
            self.statements(loop.body, going)
            start = start + step
        self.iterations = outside

    def _sure(self, expr: Expr | int) -> Lanes:
        """The integer that each thread computes; a `LookupError` where data decide it."""
        value = self.value(expr)
        if value is None:
            raise LookupError(expr)
        return value
