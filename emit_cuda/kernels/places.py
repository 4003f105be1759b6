"""Elements of an array that each thread of a launch uses, where no data decide that.

The index of each load and store is evaluated for all threads at once, in all iterations of loops.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.evaluation import evaluated
from codegen.expressions import Cast, Group, Load, Name
from codegen.statements import (
    Assign,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    names_in,
    nested,
    trees,
)
from codegen.walk import walk
from emit_cuda.kernels.accesses import size_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.statements import Statement
    from emit_cuda.devices import Dim3
    from emit_cuda.kernels.accesses import Lanes, Mask
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
    found = _Threads(threads, grid, block, kinds)
    try:
        found.statements(statements, np.ones(threads, bool))
    except LookupError:
        return None
    nothing = (np.empty(0, np.int64),) * 2
    elements, by = map(np.concatenate, zip(*(nothing, *found.places), strict=True))
    return Places(elements, by, sizes.pop())


def _all(statements: Sequence[Statement]) -> Iterator[Expr]:
    for statement in nested(statements):
        yield from trees(statement)


def _loads(tree: Expr, kinds: Collection[str]) -> Iterator[tuple[Load, str, Kind | None]]:
    """The loads from arrays in a tree: with the array, and the type that it is converted to."""
    for load in walk(tree):
        pointer, kind = load.pointer if isinstance(load, Load) else None, None
        while isinstance(pointer, Cast | Group):
            if isinstance(pointer, Cast):
                kind = kind or pointer.kind
            pointer = pointer.value if isinstance(pointer, Cast) else pointer.inside
        if isinstance(load, Load) and isinstance(pointer, Name) and pointer.name in kinds:
            yield load, pointer.name, kind


class _Threads:
    """All threads of a launch, as they go through a kernel.

    Attributes
    ----------
    values : the integers that names stand for, where no data decide that.
    places : the elements that were used so far, and by which threads.
    """

    def __init__(self, threads: int, grid: Dim3, block: Dim3, kinds: dict[str, Kind]) -> None:
        self.kinds, self.numbers = kinds, np.arange(threads)
        inside, x = self.numbers % prod(block), block[0]
        self.values: dict[str, Lanes] = {
            "blockIdx.x": self.numbers // prod(block), "gridDim.x": np.full(threads, grid[0]),
            "threadIdx.x": inside % x, "threadIdx.y": inside // x,
        }  # fmt: skip
        self.places: list[tuple[Lanes, Lanes]] = []
        self.iterations = 1

    def statements(self, statements: Sequence[Statement], mask: Mask) -> None:
        """Go through statements, in the threads of a mask; of unknown ones, both blocks.

        Raises
        ------
        LookupError
            if nobody knows which elements are used.
        """
        for statement in statements:
            for tree in trees(statement):
                for load, name, kind in _loads(tree, self.kinds):
                    self._use(load, name, kind, mask)
            match statement:
                case Let(_, name, value) | LocalVariable(_, name, value):
                    self._name(name, value)
                case Assign(Name(name)):
                    self._name(name, None)
                case If(condition, then, otherwise):
                    try:
                        holds = self._value(condition) != 0
                        sides = mask & holds, mask & ~holds
                    except LookupError:
                        sides = mask, mask
                    self.statements(then, sides[0])
                    self.statements(otherwise, sides[1])
                case For():
                    self._loop(statement, mask)
                case Forever():
                    raise LookupError(statement)
                case _:
                    pass

    def _value(self, expr: Expr | int) -> Lanes:
        """The integer that each thread computes."""
        found = expr if isinstance(expr, int) else evaluated(expr, self.values)
        return np.broadcast_to(found, self.numbers.shape)

    def _name(self, name: str, value: Expr | None) -> None:
        self.values.pop(name, None)
        if value is not None:
            with suppress(LookupError):
                self.values[name] = self._value(value)

    def _loop(self, loop: For, mask: Mask) -> None:
        """Go through all iterations."""
        start, stop, step = map(self._value, (loop.start, loop.stop, loop.step))
        outside = self.iterations
        while (going := mask & (start < stop)).any():
            self.iterations += 1
            if self.iterations > MOST_ITERATIONS or (step <= 0).any():
                raise LookupError(loop.name)
            self.values[loop.name] = start
            self.statements(loop.body, going)
            start = start + step
        self.iterations = outside

    def _use(self, load: Load, name: str, kind: Kind | None, mask: Mask) -> None:
        """Note an access to one element, or to several at once."""
        each, rest = divmod(size_of(kind or self.kinds[name]), size_of(self.kinds[name]))
        if rest:
            raise LookupError(name)
        first, numbers = self._value(load.index)[mask] * each, self.numbers[mask]
        self.places += [(first + k, numbers) for k in range(each)]
