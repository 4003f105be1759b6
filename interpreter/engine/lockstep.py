"""Many devices, one at a time: how the devices of a module take turns and wait for each other.

Each device is a thread, but only the one that holds the baton runs. It runs until it must wait for
another device, then hands the baton to the next one that can go on. So an evaluation is the same
every time, and a deadlock is no mystery: it is the moment at which nobody can go on, and everybody
can say what they wait for.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from hlo.errors.error import Span
    from hlo.instruction import Instruction
    from hlo.types.sharding import Mesh

# An error names at most this many devices; the others are counted.
DEVICES_SHOWN = 8
NO_MESHES: Mapping[str, Mesh] = MappingProxyType({})


@dataclass(eq=False, slots=True)
class Waiting:
    """A device that waits: its instruction, the thing it waits for, and the test that ends it."""

    ready: Callable[[], bool]
    instr: Instruction | None = None
    wanting: str = ""


@dataclass(eq=False, slots=True)
class Meeting:
    """A rendezvous: the value and the instruction of each device that has arrived so far."""

    brought: dict[int, Any] = field(default_factory=dict[int, Any])
    instrs: dict[int, Instruction] = field(default_factory=dict[int, Any])


class Lockstep:
    """The devices that run a module together.

    Attributes
    ----------
    replicas, partitions : the grid; device d is replica d // partitions, partition d % partitions.
    meshes : by name, for calls that cut arrays into parts; see `hlo.sharded`.
    """

    def __init__(
        self, replicas: int = 1, partitions: int = 1, meshes: Mapping[str, Mesh] = NO_MESHES
    ) -> None:
        self.replicas = replicas
        self.partitions = partitions
        self.meshes = meshes
        self._batons = [threading.Semaphore(0) for _ in range(replicas * partitions)]
        # Before its first step, a device waits for the baton and for nothing else.
        self._waiting = {d: Waiting(lambda: True) for d in range(replicas * partitions)}
        self._failure: BaseException | None = None
        self._meetings: dict[Hashable, list[Meeting]] = {}
        self._mail: dict[Hashable, list[Any]] = {}

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.replicas * self.partitions

    def run(self, bodies: Sequence[Callable[[], Any]]) -> list[Any]:
        """The result of each device's function; the first error of any of them is raised.

        Raises
        ------
        HloError
            HLO116 if the system starts no thread for each device.
        """
        results: list[Any] = [None] * len(bodies)

        def run_device(device: int) -> None:
            self._batons[device].acquire()
            try:
                if self._failure is None:
                    del self._waiting[device]
                    results[device] = bodies[device]()
                    self._pass_baton(device)
            except BaseException as error:
                self._fail(error)

        if len(bodies) == 1:
            return [bodies[0]()]
        threads = self._start(run_device)
        self._batons[0].release()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:  # an interrupt: let the threads end too
            self._fail(error)
            for thread in threads:
                _stop(thread)
            raise
        if self._failure is not None:
            raise self._failure
        return results

    def _start(self, run_device: Callable[[int], None]) -> list[threading.Thread]:
        """A thread for each device; fewer, and a failure, if the system starts no more."""
        threads: list[threading.Thread] = []
        try:
            for device in range(self.devices):
                thread = threading.Thread(target=run_device, args=(device,), daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            count = f"{self.devices:,} devices, and the system starts {len(threads):,} threads"
            self._fail(HloError("HLO116", f"{count}: each device is one"))
        return threads

    def meet(
        self, device: int, instr: Instruction, members: Sequence[int], key: Hashable, value: Any
    ) -> dict[int, Any]:
        """Bring a value to a rendezvous of some devices; gives the values of all.

        Parameters
        ----------
        key : which rendezvous: devices that bring the same key and members meet. A device that
            comes a second time, before the others came once, opens a second rendezvous.

        Raises
        ------
        HloError
            HLO117 if the others never come.
        """
        rounds = self._meetings.setdefault((key, tuple(members)), [])
        meeting = next((m for m in rounds if device not in m.brought), None)
        if meeting is None:
            meeting = Meeting()
            rounds.append(meeting)
        meeting.brought[device] = value
        meeting.instrs[device] = instr
        _check_alike(meeting)
        if len(meeting.brought) == len(members):
            rounds.remove(meeting)
        else:
            wanting = wanting_of(members)
            self._wait(
                device, Waiting(lambda: len(meeting.brought) == len(members), instr, wanting)
            )
        return meeting.brought

    def put(self, key: Hashable, value: Any) -> None:
        """Leave a value for whoever takes it; the first one left is the first one taken."""
        self._mail.setdefault(key, []).append(value)

    def take(self, device: int, instr: Instruction, key: Hashable, wanting: str) -> Any:
        """The oldest value that was left under a key; waits until there is one.

        Raises
        ------
        HloError
            HLO117 if none ever comes.
        """
        box = self._mail.setdefault(key, [])
        self._wait(device, Waiting(lambda: bool(box), instr, wanting))
        return box.pop(0)

    def _wait(self, device: int, waiting: Waiting) -> None:
        if waiting.ready():
            return
        self._waiting[device] = waiting
        self._pass_baton(device)
        self._batons[device].acquire()
        if self._failure is not None:
            raise self._failure
        del self._waiting[device]

    def _pass_baton(self, device: int) -> None:
        """Let the next device run that can; if none can, but some would, it is a deadlock."""
        order = [(device + i) % self.devices for i in range(1, self.devices + 1)]
        for other in order:
            if other in self._waiting and self._waiting[other].ready():
                self._batons[other].release()
                return
        if self._waiting:
            self._fail(self._deadlock())

    def _fail(self, error: BaseException) -> None:
        """Keep the first error, and wake everybody up to find it."""
        if self._failure is None:
            self._failure = error
        for baton in self._batons:
            baton.release()

    def _deadlock(self) -> HloError:
        waiting = (self._waiting.get(device) for device in range(self.devices))
        return deadlock([w and w.instr and (w.instr, w.wanting) for w in waiting])


class Communicating(Protocol):
    """An instruction at which devices wait, or the facts of one that is gone."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def opcode(self) -> str: ...  # noqa: D102
    @property
    def span(self) -> Span | None: ...  # noqa: D102


def wanting_of(members: Sequence[int]) -> str:
    """The thing that a device waits for in a meeting of some devices, in words."""
    return "devices " + ", ".join(map(str, members)) + " to take part"


def deadlock(waiting: Sequence[tuple[Communicating, str] | None]) -> HloError:
    """The error for devices of which none can go on.

    Parameters
    ----------
    waiting : for each device where it waits, and for what; None for one that has finished.
    """
    notes: list[str] = []
    for device, waits in enumerate(waiting[:DEVICES_SHOWN]):
        if waits is None:
            notes.append(f"device {device} has finished")
        else:
            notes.append(f"device {device} is in {_wait_of(waits[0])}: {waits[1]}")
    if len(waiting) > DEVICES_SHOWN:
        notes.append(f"and {len(waiting) - DEVICES_SHOWN} more devices")
    stuck = next(waits[0] for waits in waiting if waits is not None)
    message = f"{stuck.name}: deadlock: no device can go on"
    return HloError("HLO117", message, stuck.span, notes)


def _stop(thread: threading.Thread) -> None:
    """Raise an exception in a thread, wherever it is, be it in a loop that never ends."""
    stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
    stop(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))


def _wait_of(instr: Communicating) -> str:
    line = f", line {instr.span.line}" if instr.span else ""
    return f"{instr.opcode} %{instr.name}{line}, and waits for"


def _check_alike(meeting: Meeting) -> None:
    """Devices that meet must do the same thing, though maybe at different instructions."""
    (first, one), *rest = meeting.instrs.items()
    for device, other in rest:
        if one is not other and signature(one) != signature(other):
            raise different((first, one, signature(one)), (device, other, signature(other)))


def different(
    one: tuple[int, Communicating, tuple[str, str]],
    other: tuple[int, Communicating, tuple[str, str]],
) -> HloError:
    """The error for two devices that meet and do different things.

    Parameters
    ----------
    one, other : the number of a device, its instruction, and the signature of that.
    """
    notes = [f"device {d} runs {s[0]} %{i.name} of {s[1]}" for d, i, s in (one, other)]
    message = f"{other[1].name}: devices that meet do different things"
    return HloError("HLO118", message, other[1].span, notes)


def signature(instr: Instruction) -> tuple[str, str]:
    """The opcode of an instruction, and the shapes of its operands and of its result."""
    operands = ", ".join(operand.shape.text_without_layout for operand in instr.operands)
    return instr.opcode, f"({operands}) -> {instr.shape.text_without_layout}"
