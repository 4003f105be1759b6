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
from typing import TYPE_CHECKING

import numpy as np

from codegen.elements.types import vector_parts
from codegen.evaluation import evaluated
from codegen.expressions import Cast, Group, Load, Name, Op
from codegen.kinds import Pointer, base_of
from codegen.statements import Assign, Call, For, If, Let, LocalVariable, blocks, trees
from codegen.walk import children
from emit_cuda.kernels.stages import WARP
from hlo.types.element_type import ELEMENT_TYPES
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from codegen.elements.kernel import Argument
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.statements import Statement
    from emit_cuda.kernels.stages import Stage

    Lanes = NDArray[np.int64]
    Mask = NDArray[np.bool_]

SECTOR, BANKS, WORD = 32, 32, 4


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
    warp.statements(statements, np.ones(warp.threads, bool))
    return list(dict.fromkeys(warp.found))


class _Warp:
    """The first warp of a block, as it goes through a kernel; a value that is unknown is None."""

    def __init__(self, stage: Stage, parameters: Sequence[Argument]) -> None:
        x, y, z = stage.block
        self.threads = min(WARP, x * y * z)
        lane = np.arange(self.threads)
        blocks_of = [min(1, n - 1) for n in stage.grid]
        self.values: dict[str, Lanes | None] = {
            "threadIdx.x": lane % x, "threadIdx.y": lane // x % y, "threadIdx.z": lane // (x * y),
        }  # fmt: skip
        sizes = {"blockIdx": blocks_of, "blockDim": stage.block, "gridDim": stage.grid}
        for name, dims in sizes.items():
            for axis, n in zip("xyz", dims, strict=True):
                self.values[f"{name}.{axis}"] = np.full(self.threads, n)
        # Of each array: the bytes of an element, and whether it is shared.
        self.arrays = {a.name: (size_of(a.kind), False) for a in parameters}
        self.arrays |= {name: (size_of(kind), True) for kind, name, _ in stage.shared}
        # A pointer into an array: its name, and its offset in bytes.
        self.pointers: dict[str, tuple[str, Lanes | None]] = {}
        self.found: list[Access] = []

    def statements(self, statements: Sequence[Statement], mask: Mask) -> None:
        """Go through statements, in the threads of a mask."""
        for statement in statements:
            for each in trees(statement):
                self._loads(each, mask, is_target=_is_target(each, statement))
            match statement:
                case Call("copy_16_bytes", (Op("&", (Load() as target,)), *_)):
                    self._access(target, "store", mask)
                case Assign(Load() as target, _):
                    self._access(target, "store", mask)
                case Assign(Name(name), value):
                    self._declare("", name, value)
                case Let(kind, name, value) | LocalVariable(kind, name, value) if value is not None:
                    self._declare(kind, name, value)
                case _:
                    for block, inside in zip(
                        blocks(statement), self._masks(statement, mask), strict=False
                    ):
                        if inside.any():
                            self.statements(block, inside)

    def _masks(self, statement: Statement, mask: Mask) -> Sequence[Mask]:
        """The threads that go through each block of a statement."""
        if isinstance(statement, If):
            holds = self.value(statement.condition)
            return (mask, mask) if holds is None else (mask & (holds != 0), mask & (holds == 0))
        if isinstance(statement, For):
            start, stop = self.value(statement.start), self.value(statement.stop)
            self.values[statement.name] = start
            if start is not None and stop is not None:
                return (mask & (start < stop),)
        return (mask,)

    def _declare(self, kind: Kind, name: str, value: Expr) -> None:
        if not isinstance(kind, Pointer):
            self.values[name] = self.value(value)
        elif (address := self.address_of(value)) is not None:
            self.pointers[name] = address
            self.arrays.setdefault(name, (size_of(kind), self.arrays[address[0]][1]))

    def _loads(self, expr: Expr, mask: Mask, *, is_target: bool = False) -> None:
        for each in children(expr):
            self._loads(each, mask, is_target=is_target and isinstance(expr, Op))
        if isinstance(expr, Load) and not is_target:
            self._access(expr, "load", mask)

    def _access(self, load: Load, verb: str, mask: Mask) -> None:
        address = self.address_of(load.pointer)
        if address is None or not mask.any():
            return
        array, offset = address
        kind, (size, shared) = _pointed(load.pointer), self.arrays[array]
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
                address = name, np.zeros(self.threads, np.int64)
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

    def value(self, expr: Expr | int) -> Lanes | None:
        """The integer that each thread computes; None where it depends on data."""
        known = {name: each for name, each in self.values.items() if each is not None}
        try:
            found = expr if isinstance(expr, int) else evaluated(expr, known, _OF_WARP)
        except LookupError:
            return None
        return np.full(self.threads, found)


def _is_target(expr: Expr, statement: Statement) -> bool:
    """Whether an expression is the target of a statement that stores."""
    match statement:
        case Assign(target, _):
            return expr is target
        case Call("copy_16_bytes", (target, *_)):
            return expr is target
        case _:
            return False


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


def _pointed(pointer: Expr) -> Kind | None:
    """The type of the elements that a pointer was converted to point to."""
    match pointer:
        case Cast(kind, _):
            return kind
        case Group(inside):
            return _pointed(inside)
        case _:
            return None


def size_of(kind: Kind) -> int:
    """The bytes of an element of a type, or of a pointer's: f32, or a vector as f32x4."""
    word = base_of(kind)
    element, count = vector_parts(word) or (ELEMENT_TYPES.get(word), 1)
    return element.bytes * count if element else WORD


# Functions of the prelude that give other values for other warps, as they do for the first one.
_OF_WARP: Mapping[str, Callable[[Lanes, Lanes], Lanes]] = {
    "row_of_fragment": lambda fragment, columns: fragment // (columns // 16) * 64,
    "column_of_fragment": lambda fragment, columns: fragment % (columns // 16) * 16,
}
