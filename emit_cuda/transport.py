"""Ways for bytes from device to device; one is for devices that share memory.

Devices are threads of one process. Of each group, one asks on behalf of all members, which have
met; each member's work is on a stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from emit_cuda.devices import CudaDevice


@dataclass(frozen=True, slots=True)
class Seat:
    """A device at a meeting, with the addresses of its arrays.

    Attributes
    ----------
    gpu : its number among the devices of the process.
    inputs, outputs, rooms : as the arguments of `CollectiveStep`.
    """

    device: CudaDevice
    gpu: int
    stream: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    rooms: tuple[int, ...]


class Move(NamedTuple):
    """Bytes that go from an array of one member to an array of another one."""

    source: int
    source_address: int
    target: int
    target_address: int
    bytes: int


Ends = Sequence[Sequence[tuple[int, int]]]


class Transport(Protocol):
    """A way for arrays from device to device; `emit_cuda.libraries.nccl.Nccl` also sums them."""

    def move(self, seats: Sequence[Seat], moves: Sequence[Move]) -> None: ...  # noqa: D102
    def gather(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None: ...  # noqa: D102
    def broadcast(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None: ...  # noqa: D102


class SharedMemory:
    """Devices that share memory, and whose work has ended when they meet: bytes are copied."""

    def move(self, seats: Sequence[Seat], moves: Sequence[Move]) -> None:
        """Copy bytes from arrays of some members to arrays of others."""
        for move in moves:
            addresses = move.target_address, move.source_address
            seats[move.target].device.copy(*addresses, move.bytes, seats[move.target].stream)

    def gather(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None:
        """Let all members have the arrays of all, one after the other."""
        everybody = range(len(seats))
        self.move(seats, [
            Move(i, pairs[i][0], j, pairs[j][1] + i * size, size)
            for pairs, size in zip(arrays, sizes, strict=True) for i in everybody for j in everybody
        ])  # fmt: skip

    def broadcast(self, seats: Sequence[Seat], arrays: Ends, sizes: list[int]) -> None:
        """Let all members have the arrays of the first."""
        self.move(seats, [
            Move(0, pairs[0][0], j, pairs[j][1], size)
            for pairs, size in zip(arrays, sizes, strict=True) for j in range(len(seats))
        ])  # fmt: skip
