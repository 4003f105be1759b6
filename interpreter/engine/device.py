"""A device: which one it is, the state that it keeps, and how it meets the others."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interpreter.engine.lockstep import Lockstep

if TYPE_CHECKING:
    from interpreter.table import Value

# XLA CPU starts here, because a generator that starts from 0 begins with poor numbers.
FIRST_RANDOM_STATE = 0x7012395


@dataclass(eq=False, slots=True)
class Device:
    """One of the devices that run a module, with everything that it remembers.

    Attributes
    ----------
    replica, partition : its position in the grid of devices.
    state : 128 bits, the state of its random generator.
    infeed : values that `infeed` instructions take, oldest first.
    outfeed : values that `outfeed` instructions have put, oldest first.
    from_host : by channel, values that a `recv` from the host takes, oldest first.
    to_host : by channel, values that a `send` to the host has put, oldest first.
    receiving : the routes by which each `recv` expects its value; the `recv`'s context is its index
        in this list.
    probes : by name, the values that `interpreter.probe` has kept, oldest first.
    lockstep : the devices that run the same module at the same time, this one included.
    """

    replica: int = 0
    partition: int = 0
    state: int = FIRST_RANDOM_STATE
    infeed: deque[Value] = field(default_factory=deque[Any])
    outfeed: list[Value] = field(default_factory=list[Any])
    from_host: dict[int | None, deque[Value]] = field(default_factory=dict[int | None, Any])
    to_host: dict[int | None, list[Value]] = field(default_factory=dict[int | None, Any])
    probes: dict[str, list[Value]] = field(default_factory=dict[str, Any])
    receiving: list[list[Any]] = field(default_factory=list[Any])
    lockstep: Lockstep = field(default_factory=Lockstep)

    @property
    def number(self) -> int:
        """Its number among all devices: replica * partitions + partition."""
        return self.replica * self.lockstep.partitions + self.partition

    def random_state(self, delta: int) -> int:
        """The random state before it advances by delta, modulo 2**128.

        References
        ----------
        `RngGetAndUpdateStateThunk` in XLA's CPU backend.
        """
        before = self.state
        self.state = (before + delta) % 2**128
        return before
