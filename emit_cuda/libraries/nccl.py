"""NCCL through ctypes: arrays go from GPU to GPU of this process, and are summed on the way.

Devices are threads. The last one that comes to a collective asks NCCL on behalf of all of its
group, as one call of a group, so that no call waits for one that is never made.

References
----------
NVIDIA, *NCCL*, Using NCCL: managing multiple GPUs from one thread; API.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from emit_cuda.transport import Ends, Move, Seat
    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

ADVICE = "pip install nvidia-nccl-cu13"
# ncclDataType_t. Of a complex number, both parts are summed.
_BYTES = 0
_TYPES = {
    "s8": 0, "u8": 1, "pred": 1, "s32": 2, "u32": 3, "s64": 4, "u64": 5, "f16": 6, "f32": 7,
    "f64": 8, "bf16": 9, "c64": 7, "c128": 8,
}  # fmt: skip
# ncclRedOp_t.
_OPERATIONS = {"add": 0, "multiply": 1, "maximum": 2, "minimum": 3}
# Of truth values, which are bytes of 0 and 1.
_LOGICAL = {"and": 3, "or": 2, "maximum": 2, "minimum": 3}


class NcclReduction(NamedTuple):
    """A reduction that NCCL has: numbers of its type and operation, and numbers an element."""

    type: int
    operation: int
    parts: int


def reduction_of(computation: Computation, kind: ElementType) -> NcclReduction | None:
    """NCCL's reduction by a computation of two scalars; None where it has none.

    Its maximum of floats ignores NaN, and HLO's does not. Sums are NCCL's, in an order of its own.
    """
    root = computation.root
    both = sorted(computation.parameters, key=lambda p: p.name)
    if kind.name not in _TYPES or sorted(root.operands, key=lambda p: p.name) != both:
        return None
    if any(i.opcode != "parameter" and i is not root for i in computation.instructions):
        return None
    known = _LOGICAL if kind.name == "pred" else _OPERATIONS
    ordered = root.opcode in ("maximum", "minimum")
    if root.opcode not in known or (ordered and (kind.is_floating or kind.is_complex)):
        return None
    if kind.is_complex and root.opcode != "add":
        return None
    return NcclReduction(_TYPES[kind.name], known[root.opcode], 2 if kind.is_complex else 1)


class Nccl:
    """The library, with a communicator for each group of GPUs and each of its members.

    Parameters
    ----------
    functions : libnccl.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        functions.ncclGetErrorString.restype = ctypes.c_char_p
        self._communicators: dict[tuple[int, ...], Sequence[int]] = {}

    def move(self, seats: Sequence[Seat], moves: Sequence[Move]) -> None:
        """Copy bytes from arrays of some members to arrays of others."""
        ends = self._ends(seats)
        with self._group():
            for move in moves:
                if move.source == move.target:
                    continue
                for name, address, end, peer in (
                    ("Send", move.source_address, move.source, move.target),
                    ("Recv", move.target_address, move.target, move.source),
                ):
                    of = ctypes.c_size_t(move.bytes), _BYTES, peer
                    self._call(name, ctypes.c_void_p(address), *of, *ends[end])
        for move in moves:
            if move.source == move.target:
                seat = seats[move.source]
                addresses = move.target_address, move.source_address
                seat.device.copy(*addresses, move.bytes, seat.stream)

    def gather(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None:
        """Let all members have the arrays of all, one after the other.

        Parameters
        ----------
        arrays : for each array and each member, the addresses of what it brings, and of the result.
        sizes : in bytes, of each array that is brought.
        """
        self._of_all("AllGather", seats, arrays, sizes)

    def broadcast(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None:
        """Let all members have the arrays of the first; its parameters are those of `gather`."""
        self._of_all("Broadcast", seats, arrays, sizes, 0)

    def _of_all(
        self, name: str, seats: Sequence[Seat], arrays: Ends, sizes: list[int], *root: int
    ) -> None:
        ends = self._ends(seats)
        with self._group():
            for pairs, size in zip(arrays, sizes, strict=True):
                for (source, target), end in zip(pairs, ends, strict=True):
                    both = ctypes.c_void_p(source), ctypes.c_void_p(target)
                    self._call(name, *both, ctypes.c_size_t(size), _BYTES, *root, *end)

    def reduce(
        self,
        seats: Sequence[Seat],
        arrays: Ends,
        shapes: Sequence[Shape],
        computation: Computation,
        *,
        scatters: bool,
    ) -> None:
        """Combine the members' arrays; each gets all of it, or its own piece.

        Parameters
        ----------
        arrays : as of `gather`.
        shapes : of each array that each member gets.
        computation : of two scalars, for which `reduction_of` knows a reduction.
        """
        ends, name = self._ends(seats), "ReduceScatter" if scatters else "AllReduce"
        with self._group():
            for pairs, shape in zip(arrays, shapes, strict=True):
                reduction = reduction_of(computation, shape.element_type)
                assert reduction is not None, "kernels combine what NCCL does not"
                numbers = ctypes.c_size_t(shape.size * reduction.parts)
                for (source, target), end in zip(pairs, ends, strict=True):
                    both = ctypes.c_void_p(source), ctypes.c_void_p(target)
                    self._call(name, *both, numbers, reduction.type, reduction.operation, *end)

    def _ends(self, seats: Sequence[Seat]) -> list[tuple[ctypes.c_void_p, ctypes.c_void_p]]:
        """For each member its communicator and its stream."""
        group = tuple(seat.gpu for seat in seats)
        if group not in self._communicators:
            handles = (ctypes.c_void_p * len(group))()
            self._call("CommInitAll", handles, len(group), (ctypes.c_int * len(group))(*group))
            self._communicators[group] = [communicator or 0 for communicator in handles]
        streams = [ctypes.c_void_p(seat.device.handle(seat.stream)) for seat in seats]
        communicators = map(ctypes.c_void_p, self._communicators[group])
        return list(zip(communicators, streams, strict=True))

    @contextmanager
    def _group(self) -> Generator[None]:
        """Calls that NCCL begins together."""
        self._call("GroupStart")
        try:
            yield
        finally:
            self._call("GroupEnd")

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._functions, f"nccl{function}")(*arguments)
        if status:
            message = (self._functions.ncclGetErrorString(status) or b"").decode()
            raise HloError("HLO192", f"nccl{function} gives status {status}: {message}")
