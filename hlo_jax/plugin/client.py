"""The client: the whole state of the plugin, and the devices and memories that it has.

There is one client in a process. A device is no more than a number and the bytes that its buffers
take: all of them are this machine's processor and memory. Each has three memories, as JAX knows
them from XLA's CPU, which differ by name only.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.plugin.memory import text
from hlo_jax.shim import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo_jax.plugin.processes import OtherProcesses

MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")
MOST_DEVICES = 1024


@dataclass(eq=False, slots=True)
class PjrtMemory:
    """A memory of a device."""

    device: PjrtDevice
    kind_number: int
    record: records.MemoryRecord = field(default_factory=records.MemoryRecord)

    def __post_init__(self) -> None:
        self.record.id = self.device.number * len(MEMORY_KINDS) + self.kind_number
        self.record.kind, self.record.kind_length = text(self.kind)
        self.record.device = self.device.handle

    @property
    def handle(self) -> int:
        """Its PJRT_Memory."""
        return ctypes.addressof(self.record)

    @property
    def kind(self) -> str:
        """Its kind, by the name that JAX gives it."""
        return MEMORY_KINDS[self.kind_number]


@dataclass(eq=False)
class PjrtDevice:
    """A device."""

    number: int
    process: int = 0
    local_number: int = 0
    record: records.DeviceRecord = field(default_factory=records.DeviceRecord)

    def __post_init__(self) -> None:
        self.record.id = self.number
        self.memories = tuple(PjrtMemory(self, kind) for kind in range(len(MEMORY_KINDS)))
        self.record.memory = self.memories[0].handle

    @property
    def handle(self) -> int:
        """Its PJRT_Device, and its PJRT_DeviceDescription."""
        return ctypes.addressof(self.record)


class Client:
    """The devices, and all of it by handle.

    Parameters
    ----------
    others : the other processes; None if there are none.

    Attributes
    ----------
    process : the number of this one.
    local : the devices of this process.
    """

    def __init__(self, count: int, others: OtherProcesses | None = None) -> None:
        self.record, self.others = ctypes.c_size_t(), others
        self.process = others.rank if others else 0
        counts = others.counts if others else [count]
        places = [(process, k) for process, own in enumerate(counts) for k in range(own)]
        self.devices = tuple(PjrtDevice(number, *place) for number, place in enumerate(places))
        self.local = tuple(d for d in self.devices if d.process == self.process)
        self.by_handle = {device.handle: device for device in self.devices}
        self.memories = {m.handle: m for device in self.devices for m in device.memories}

    @property
    def handle(self) -> int:
        """Its PJRT_Client, and the PJRT_TopologyDescription of its devices."""
        return ctypes.addressof(self.record)

    def numbered(self, numbers: Iterable[int]) -> tuple[PjrtDevice, ...]:
        """Devices by their numbers.

        Raises
        ------
        PjrtError
            INVALID_ARGUMENT if there is none of a number.
        """
        wanted = tuple(numbers)
        if wrong := [n for n in wanted if not 0 <= n < len(self.devices)]:
            message = (
                f"there is no device {wrong[0]}; PyHLO has {counted(len(self.devices), 'device')}"
            )
            hint = f"(PYHLO_JAX_DEVICES={max(wrong) + 1} makes as many)"
            raise PjrtError(ErrorCode.INVALID_ARGUMENT, f"{message} {hint}")
        return tuple(self.devices[n] for n in wanted)

    def memory_of(self, device: int, memory: int) -> PjrtMemory:
        """The memory with a handle; where that is 0, the default one of the device."""
        return self.memories[memory] if memory else self.by_handle[device].memories[0]


def wanted_devices() -> int:
    """The number of devices that `$PYHLO_JAX_DEVICES` asks for; 1 if it says nothing.

    Raises
    ------
    PjrtError
        INVALID_ARGUMENT if that is no number of devices.
    """
    given = os.environ.get("PYHLO_JAX_DEVICES", "1")
    if not given.isdecimal() or not 1 <= int(given) <= MOST_DEVICES:
        message = f"PYHLO_JAX_DEVICES={given!r}: not a number from 1 to {MOST_DEVICES}"
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, message)
    return int(given)


_made: list[Client] = []


def make_client(others: Callable[[int], OtherProcesses] | None) -> Client:
    """Make the client of this process, once.

    Parameters
    ----------
    others : connects it with other processes, which it tells how many devices it has.
    """
    if not _made:
        count = wanted_devices()
        _made.append(Client(count, others(count) if others else None))
    return _made[0]


def client() -> Client:
    """The client of this process; made when it is first used."""
    return make_client(None)
