"""Processes that run a module together, each on a device: calls, and what holds them together.

Every process compiles the same module and calls it with the arguments of its own device. Arrays go
by MPI. Besides, each process holds a connection to each other one, on which nothing is sent but a
last word: where it ends, so has the process.
"""

from __future__ import annotations

import ctypes
import pickle
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.executable.devices import (
    DEVICE,
    KIND,
    LOST,
    MODULE_FAILED,
    OTHER_DEVICE,
    OTHER_PROGRAM,
    REPORT_HEAD,
    explained,
)
from emit_c.executable.mpi import library
from emit_c.executable.runtime import runtime
from hlo.errors.error import HloError
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.executable.devices import DevicesCaller

Value = Any  # an array, None for a token, or a tuple of values

# Calls that failed since a process had ended.
_KEPT: list[Any] = []


# Seconds of silence after which a machine is asked whether it is there; then so often, each second.
IDLE, QUESTIONS = 3, 5


@dataclass(frozen=True)
class SharedProgram:
    """A compiled module, as all processes know it.

    Attributes
    ----------
    number : of 63 bits, another one for each module.
    """

    number: int
    together: DevicesCaller


class StoppedError(Exception):
    """A run has been stopped, as a report says."""

    def __init__(self, report: Sequence[int]) -> None:
        super().__init__(report)
        self.report = report


def run_by_messages(
    wire: int, program: SharedProgram, per_device: Sequence[Sequence[Any]], devices: int
) -> list[Value]:
    """The values of a program on the devices of this process.

    Parameters
    ----------
    wire : address of a `struct hlo_wire`.
    per_device : the arguments of each of them.
    devices : how many all processes have.

    Raises
    ------
    StoppedError
        if a device has failed.
    """
    together = program.together
    call = together.call(per_device)
    report = np.zeros(REPORT_HEAD + 2 * devices, np.int64)
    status = runtime().threads.hlo_run_process(
        *(wire, program.number, together.run, together.address(devices)),
        *(call.ins, call.outs, call.arenas, report.ctypes.data),
    )
    if status:
        # Messages to and from a process that has ended may still refer to the arrays.
        if runtime().threads.hlo_runs(wire) < 0:
            _KEPT.append(call)
        raise StoppedError(report.tolist())
    return together.results(call)


class Processes:
    """The processes of a communicator of MPI.

    Parameters
    ----------
    communicator : of mpi4py; None for all processes that `mpiexec` has started.

    Attributes
    ----------
    rank : the number of this process, and of its device.
    size : how many there are.
    failure : what all processes failed with last.

    Raises
    ------
    HloError
        HLO126 if there is no library of MPI, or it fails.
    """

    def __init__(self, communicator: Any = None) -> None:
        # mpi4py loads the library, if it is not loaded yet.
        handle = None if communicator is None else int(communicator.handle)
        mpi = library()
        own = mpi.copy(mpi.world if handle is None else handle)
        self.rank, self.size = mpi.rank_and_size(own)
        hosts, self._sockets = connected(partial(mpi.tell_all, own), self.rank)
        fds = [-1 if s is None else s.fileno() for s in self._sockets]
        self.wire = runtime().threads.hlo_mpi_wire(
            *(ctypes.byref(mpi.table), own, self.rank, self.size),
            *(hosts.count(hosts[self.rank]), mpi.most_tags(own)),
            (ctypes.c_int64 * self.size)(*fds),
        )
        self._agreed: set[int] = set()
        self.failure: BaseException | None = None
        mpi.at_end(self._say_goodbye)

    def __repr__(self) -> str:
        """The number of this process, and how many there are."""
        return f"<process {self.rank} of {self.size}>"

    def gather(self, own: bytes) -> list[bytes]:
        """The bytes of each process, equally many of each.

        Raises
        ------
        HloError
            HLO126 if a process has ended.
        """
        everybody = ctypes.create_string_buffer(max(len(own) * self.size, 1))
        report = np.zeros(REPORT_HEAD + 2 * self.size, np.int64)
        status = runtime().threads.hlo_gather(
            self.wire, own, len(own), everybody, report.ctypes.data
        )
        if status:
            raise self._failed(report.tolist(), None)
        return [everybody.raw[k : k + len(own)] for k in range(0, len(own) * self.size, len(own))]

    def gather_values(self, own: Value) -> list[Value]:
        """The value of each process.

        Raises
        ------
        HloError
            HLO126 if a process has ended.
        """
        packed = pickle.dumps(own, protocol=5)
        lengths = self.gather(len(packed).to_bytes(8, "little"))
        sizes = [int.from_bytes(length, "little") for length in lengths]
        gathered = self.gather(packed.ljust(max(sizes), b"\0"))
        return [pickle.loads(record) for record in gathered]

    def agree(self, program: SharedProgram) -> None:
        """See once that all processes run the same program, on as many devices as there are.

        Raises
        ------
        HloError
            HLO116 if the module is for another number of devices, HLO126 if the programs differ.
        """
        if program.number in self._agreed:
            return
        name, devices = program.together.name, program.together.devices
        numbers = self.gather(program.number.to_bytes(8, "little"))
        if other := next((r for r, number in enumerate(numbers) if number != numbers[0]), None):
            message = f"{name}: process 0 and process {other} run different programs"
            raise self._together("HLO126", message, _SAME)
        if devices != self.size:
            wanted, there = counted(devices, "device"), counted(self.size, "process")
            message = f"{name} is for {wanted}, and is run by {there}"
            raise self._together("HLO116", message, f"mpiexec -n {devices} starts as many")
        if any(plan.has_open_ends for plan in program.together.meetings.plans.values()):
            message = f"{name}: a send or recv says nothing of sources and targets"
            raise self._together("HLO181", message, "without pairs any process might be meant")
        self._agreed.add(program.number)

    def run(self, program: SharedProgram, arguments: Sequence[Any]) -> Value:
        """The value of a program on the device of this process.

        Raises
        ------
        HloError
            as for devices that are threads; HLO126 if a process ends, or runs another program.
        """
        self.agree(program)
        try:
            return run_by_messages(self.wire, program, [arguments], self.size)[0]
        except StoppedError as stopped:
            raise self._failed(stopped.report, program.together) from None

    def _say_goodbye(self) -> bool:
        """Tell all processes that this one ends, and wait for their word; whether all gave it."""
        there = [s for s in self._sockets if s is not None]
        word = runtime().threads.hlo_runs(self.wire).to_bytes(8, sys.byteorder, signed=True)
        for other in there:
            with suppress(OSError):
                other.sendall(word)
        return all(len(_read(other, len(word))) == len(word) for other in there)

    def _together(self, code: str, message: str, note: str) -> BaseException:
        self.failure = HloError(code, message, notes=[note])
        return self.failure

    def _failed(self, report: Sequence[int], together: DevicesCaller | None) -> BaseException:
        self.failure = failure = self._explained(report, together)
        return failure

    def _explained(self, report: Sequence[int], together: DevicesCaller | None) -> BaseException:
        return explained_of_processes(report, together, [self.rank])


def explained_of_processes(
    report: Sequence[int], together: DevicesCaller | None, own: Sequence[int]
) -> BaseException:
    """The exception for a run by several processes that was stopped.

    Parameters
    ----------
    own : the devices of this process.
    """
    kind, device = report[KIND], report[DEVICE]
    if kind == LOST:
        who = f"process {device}" if device >= 0 else "one of the processes"
        return HloError("HLO126", f"{who} has ended before the others", notes=[_WAY_ON])
    if kind == OTHER_PROGRAM:
        one, other = sorted((device, report[OTHER_DEVICE]))
        message = f"process {one} and process {other} run different programs"
        return HloError("HLO126", message, notes=[_SAME])
    if together is None or (kind == MODULE_FAILED and device not in own):
        return HloError("HLO126", f"the run failed in process {device}", notes=[_THERE])
    return explained(report, together.meetings.sites, together.plan(together.devices))


_SAME = "each process compiles the same module, and calls programs in the same order"
_WAY_ON = "start again with the processes that are left: docs/howto/run-in-several-processes.md"
_THERE = "its own message says why"


def run_process_address() -> int:
    """The address of `hlo_run_process`."""
    return ctypes.cast(runtime().threads.hlo_run_process, ctypes.c_void_p).value or 0


_OF_COMMUNICATORS: dict[int | None, Processes] = {}


def processes_of(communicator: Any = None) -> Processes:
    """The processes of a communicator, or of `mpiexec`; the same object each time.

    Raises
    ------
    HloError
        HLO126 if there is no library of MPI, or it fails.
    """
    if isinstance(communicator, Processes):
        return communicator
    key = None if communicator is None else int(communicator.handle)
    if key not in _OF_COMMUNICATORS:
        _OF_COMMUNICATORS[key] = Processes(communicator)
    return _OF_COMMUNICATORS[key]


def connected(
    tell_all: Callable[[bytes], Sequence[bytes]], rank: int
) -> tuple[list[str], list[socket.socket | None]]:
    """The host of each process, and a connection to each other one.

    Each process connects to those of lower ranks. A word that only they know says that it is one of
    them.

    Parameters
    ----------
    tell_all : tells all processes a record, and gives those of all by their ranks.
    """
    listener = socket.create_server(("", 0), backlog=1024)
    name = socket.gethostname()
    record = f"{name} {listener.getsockname()[1]} {secrets.token_hex(16)}"
    records = [record.decode().split() for record in tell_all(record.encode())]
    word = records[0][2].encode()
    connections: list[socket.socket | None] = [None] * len(records)
    for other, (host, port, _) in enumerate(records[:rank]):
        where = "127.0.0.1" if host == name else host
        connection = socket.create_connection((where, int(port)), timeout=60)
        connection.settimeout(None)
        connection.sendall(word + rank.to_bytes(4, "little"))
        connections[other] = connection
    for _ in records[rank + 1 :]:
        while True:
            connection, _where = listener.accept()
            if _read(connection, len(word)) == word:
                break
            connection.close()
        connections[int.from_bytes(_read(connection, 4), "little")] = connection
    listener.close()
    for peer in connections:
        if peer is not None:
            _notice_silence(peer)
    return [host for host, *_ in records], connections


def _notice_silence(connection: socket.socket) -> None:
    """Let a connection end soon after the machine at its other end has vanished.

    A machine that is there answers, however busy its processes are. TCP_USER_TIMEOUT would also
    end the connection of a process that computes for long and reads nothing meanwhile.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    seconds = {"TCP_KEEPIDLE": IDLE, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": QUESTIONS}
    for name, value in seconds.items():
        if hasattr(socket, name):  # not every system has all
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _read(connection: socket.socket, count: int) -> bytes:
    """So many bytes, or fewer if the connection ends."""
    data = b""
    with suppress(OSError):
        while len(data) < count and (more := connection.recv(count - len(data))):
            data += more
    return data
