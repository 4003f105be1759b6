"""Memory accesses of a warp: sectors of each request, and conflicts of shared banks.

A warp's 32 threads load or store together. Global memory answers in *sectors* of 32 bytes: 32
neighbouring floats are 4 sectors, 32 floats of different rows are 32. Shared memory has 32 *banks*,
a word of 4 bytes wide; threads that want different words of one bank wait for each other.

The index of each access is evaluated for all threads of one warp, in the first iteration of each
loop.

References
----------
NVIDIA, *CUDA C++ Best Practices Guide*, Coalesced Access to Global Memory, Shared Memory and
Memory Banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.expressions import Cast, Group, Load, Name, Op, as_expr
from codegen.kinds import Pointer
from codegen.statements import Call, For, values
from codegen.walk import children
from emit_cuda.grids.stages import WARP
from emit_cuda.grids.threads import WORD, Threads, pointed, size_of
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from codegen.callees import Callee
    from codegen.elements.kernel import Argument
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.statements import Forever, Statement
    from emit_cuda.grids.stages import Stage
    from emit_cuda.grids.threads import Lanes, Mask

SECTOR, BANKS = 32, 32


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store by the threads of a warp.

    Attributes
    ----------
    array : its name in the kernel.
    verb : "load" or "store".
    bytes : of each thread.
    threads : that take part.
    requests : sectors of global memory; of shared memory, the reads or writes one after the other.
        None where the index depends on data.
    least : as many as the bytes need at least.
    shared : whether the array is in shared memory.
    """

    array: str
    verb: str
    bytes: int
    threads: int
    requests: int | None
    least: int
    shared: bool

    def __str__(self) -> str:
        """As `x: load of 4 bytes, 4 sectors of 4`."""
        head = f"{self.array}: {self.verb} of {self.bytes} bytes by {self.threads} threads"
        if self.requests is None:
            return f"{head}, where data say"
        if self.shared:
            times = self.requests // max(self.least, 1)
            return f"{head}, " + ("no bank conflict" if times < 2 else f"{times}-way bank conflict")
        text = f"{head}, {counted(self.requests, 'sector')}"
        return text + (f", {self.least} would do" if self.requests > self.least else "")


def accesses(
    stage: Stage, statements: Sequence[Statement], parameters: Sequence[Argument]
) -> list[Access]:
    """The accesses of a kernel's second block, in their order; of equal ones, the first.

    Parameters
    ----------
    statements, parameters : the kernel's.
    """
    warp = _Warp(stage, parameters)
    warp.statements(statements, np.ones(len(warp.numbers), bool))
    return list(dict.fromkeys(warp.found))


# Functions of the prelude that give other values for other warps, as they do for the first one.
_COPY = FUNCTIONS["copy_16_bytes"]
_OF_WARP: Mapping[Callee, Callable[[Lanes, Lanes], Lanes]] = {
    FUNCTIONS["row_of_fragment"]: lambda fragment, columns: fragment // (columns // 16) * 64,
    FUNCTIONS["column_of_fragment"]: lambda fragment, columns: fragment % (columns // 16) * 16,
}


class _Warp(Threads):
    """The first warp of a block, in the first iteration of each loop."""

    functions = _OF_WARP

    def __init__(self, stage: Stage, parameters: Sequence[Argument]) -> None:
        threads = min(WARP, prod(stage.block))
        x, y, z = (min(1, n - 1) for n in stage.grid)
        second = x + stage.grid[0] * (y + stage.grid[1] * z)
        super().__init__(np.arange(threads) + second * prod(stage.block), stage.grid, stage.block)
        # Of each array: the bytes of an element, and whether it is shared.
        self.arrays = {a.name: (size_of(a.kind), False) for a in parameters}
        self.arrays |= {name: (size_of(kind), True) for kind, name, _ in stage.shared}
        # A pointer into an array: its name, and its offset in bytes.
        self.pointers: dict[str, tuple[str, Lanes | None]] = {}
        self.found: list[Access] = []

    def visit(self, statement: Statement, mask: Mask) -> None:
        """Note the loads of a statement, and its store."""
        computed, target = values(statement), getattr(statement, "target", None)
        match statement:
            case Call(function, (Op("&", (Load() as target,)), *others)) if function is _COPY:
                computed = target.index, *others
            case _:
                pass
        for load in (load for value in computed for load in _loads(value)):
            self._access(load, "load", mask)
        if isinstance(target, Load):
            self._access(target, "store", mask)

    def assign(self, name: str, value: Expr) -> None:
        """Give another value to a variable."""
        self.declare("", name, value)

    def loop(self, loop: For | Forever, mask: Mask) -> None:
        """Go through the first iteration."""
        if isinstance(loop, For):
            self.declare(loop.kind, loop.name, as_expr(loop.start))
            start, stop = self.value(loop.start), self.value(loop.stop)
            if start is not None and stop is not None:
                mask = mask & (start < stop)
        self.statements(loop.body, mask)

    def declare(self, kind: Kind, name: str, value: Expr | None) -> None:
        """Declare a variable, or a pointer into an array."""
        if not isinstance(kind, Pointer):
            super().declare(kind, name, value)
        elif value is not None and (address := self.address_of(value)) is not None:
            self.pointers[name] = address
            self.arrays.setdefault(name, (size_of(kind), self.arrays[address[0]][1]))

    def _access(self, load: Load, verb: str, mask: Mask) -> None:
        address = self.address_of(load.pointer)
        if address is None:
            return
        array, offset = address
        (_, kind), (size, shared) = pointed(load.pointer), self.arrays[array]
        if kind:
            size = size_of(kind)
        elif isinstance(load.pointer, Name):
            size = self.arrays[load.pointer.name][0]
        number, count, requests = self.value(load.index), int(mask.sum()), None
        if number is not None and offset is not None:
            at = (number * size + offset)[mask]
            requests = _conflicts(at, size) if shared else _sectors(at, size)
        least = _least(count, size, shared=shared)
        self.found.append(Access(array, verb, size, count, requests, least, shared))

    def address_of(self, pointer: Expr) -> tuple[str, Lanes | None] | None:
        """The array that a pointer is into, and its offset in bytes."""
        address = None
        match pointer:
            case Name(name) if name in self.pointers:
                address = self.pointers[name]
            case Name(name) if name in self.arrays:
                address = name, np.zeros(len(self.numbers), np.int64)
            case Cast(_, inside) | Group(inside):
                address = self.address_of(inside)
            case Op("&", (Load(inside, index),)) | Op("+", (inside, index)):
                address = self._offset(self.address_of(inside), self.value(index))
            case _:
                pass
        return address

    def _offset(
        self, address: tuple[str, Lanes | None] | None, number: Lanes | None
    ) -> tuple[str, Lanes | None] | None:
        """The address some elements after another."""
        if address is None or address[1] is None or number is None:
            return address and (address[0], None)
        return address[0], address[1] + number * self.arrays[address[0]][0]


def _loads(expr: Expr) -> Iterator[Load]:
    """The loads in a tree, each after those that its index needs."""
    for inside in children(expr):
        yield from _loads(inside)
    if isinstance(expr, Load):
        yield expr


def _sectors(at: Lanes, size: int) -> int:
    touched = (at[:, None] + np.arange(size)) // SECTOR
    return len(np.unique(touched))


def _conflicts(at: Lanes, size: int) -> int:
    """The number of requests to shared memory: half a warp asks for 8 bytes, a quarter for 16."""
    together = WARP * WORD // max(size, WORD)
    count = 0
    for start in range(0, len(at), together):
        words = np.unique((at[start : start + together, None] + np.arange(size)) // WORD)
        count += int(np.bincount(words % BANKS).max())
    return count


def _least(threads: int, size: int, *, shared: bool) -> int:
    if shared:
        return -(-threads * max(size, WORD) // (WARP * WORD))
    return -(-threads * size // SECTOR)
