"""Calls of a module on several devices: threads of this process, which exchange arrays in C.

The runtime library runs the devices and says why it stopped them. The words are the interpreter's.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.executable.calling import aligned_bytes, failure
from emit_c.executable.runtime import runtime
from hlo.errors.error import HloError
from hlo.wording import counted
from interpreter.collectives import no_member, rows_out_of_place, slice_out_of_place
from interpreter.devices import wanting_from
from interpreter.engine.lockstep import deadlock, different, wanting_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from codegen.program.collectives import CollectiveSite, MeetingPlan, Meetings
    from emit_c.executable.calling import Leaf

Value = Any  # an array, None for a token, or a tuple of values

# As in devices.h.
KIND, STATUS, THREAD, DEVICE, SITE, OTHER_DEVICE, OTHER_SITE, NUMBERS = range(8)
REPORT_HEAD = NUMBERS + 3
MODULE_FAILED, DEADLOCK, DIFFERENT, NO_GROUP, OUT_OF_PLACE = range(5)
OTHER_SHAPE, NO_MEMBER, TOO_MANY, LOST, OTHER_PROGRAM = range(5, 10)


@dataclass(frozen=True)
class DevicesCall:
    """The memory of a call on some devices, and lists of the addresses for C."""

    results: Sequence[Sequence[NDArray[Any] | None]]
    memory: Sequence[NDArray[np.uint8]]
    inputs: Sequence[Sequence[NDArray[Any] | None]]
    ins: Any
    outs: Any
    arenas: Any
    owners: Any


class DevicesCaller:
    """Calls a module on several devices.

    Parameters
    ----------
    run : address of the module's entry.
    name : of the module.
    results : of one device, as of `emit_c.executable.calling`.
    convert : makes arrays of the arguments of a device.
    nest : puts the results of a device together.
    """

    def __init__(
        self,
        run: int,
        arena_bytes: int,
        name: str,
        meetings: Meetings,
        results: Sequence[Leaf],
        convert: Callable[..., Sequence[NDArray[Any] | None]],
        nest: Callable[[Sequence[Any]], Value],
    ) -> None:
        self.run, self._arena_bytes, self.name = run, arena_bytes, name
        self.meetings, self._results = meetings, results
        self._convert, self._nest = convert, nest
        self._numbers = {
            devices: np.array(plan.numbers, np.int64) for devices, plan in meetings.plans.items()
        }
        self._arenas: list[NDArray[np.uint8]] = []

    @property
    def devices(self) -> int:
        """The number of devices that the module is for."""
        return max(self.meetings.plans, default=1)

    def address(self, devices: int) -> int:
        """The address of the plan for so many devices."""
        return self._numbers[devices].ctypes.data

    def explain(self, report: Sequence[int]) -> BaseException:
        """The exception for a run on the module's devices that the runtime library has stopped."""
        return explained(report, self.meetings.sites, self.plan(self.devices))

    def plan(self, devices: int) -> MeetingPlan:
        """The plan for so many devices.

        Raises
        ------
        HloError
            HLO116 if the module is for another number of devices.
        """
        plan = self.meetings.plans.get(devices)
        if plan is None:
            wanted = self.devices
            message = f"arguments for {counted(devices, 'device')}"
            raise HloError(
                "HLO116", message, None, [f"{self.name} is for {counted(wanted, 'device')}"]
            )
        return plan

    def __call__(self, per_device: Sequence[Sequence[Any]]) -> list[Value]:
        """The module's value on each device, for the arguments of each.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit, HLO114 if there is not enough memory,
            HLO116 to HLO123 as the interpreter.
        """
        try:
            return self._run_all(per_device)
        except MemoryError:
            count = counted(len(per_device), "device")
            message = f"{self.name}: no memory for the arrays of {count}"
            raise HloError("HLO114", message) from None

    def _run_all(self, per_device: Sequence[Sequence[Any]]) -> list[Value]:
        plan = self.plan(len(per_device))
        call = self.call(per_device)
        report = np.zeros(REPORT_HEAD + 2 * len(per_device), np.int64)
        status = _run_devices(
            *(self.run, self.address(len(per_device))),
            *(call.ins, call.outs, call.arenas, report.ctypes.data),
        )
        if status:
            raise explained(report.tolist(), self.meetings.sites, plan)
        return self.results(call)

    def call(self, per_device: Sequence[Sequence[Any]]) -> DevicesCall:
        """The memory of a call with the arguments of some devices.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit.
        """
        inputs = [self._convert(*arguments) for arguments in per_device]
        results = [
            [None if dtype is None else np.empty(dims, dtype) for dtype, dims, _ in self._results]
            for _ in inputs
        ]
        ins, outs = _lists(inputs), _lists(results)
        memory = [self._arena() for _ in inputs]
        arenas = (ctypes.c_void_p * len(memory))(*(arena.ctypes.data for arena in memory))
        return DevicesCall(
            results, memory, inputs, _addresses(ins), _addresses(outs), arenas, (ins, outs)
        )

    def results(self, call: DevicesCall) -> list[Value]:
        """The value on each device of a call that has ended, whose memory later calls may use."""
        self._arenas += call.memory
        return [self._nest(device) for device in call.results]

    def _arena(self) -> NDArray[np.uint8]:
        try:
            return self._arenas.pop()
        except IndexError:
            return aligned_bytes(self._arena_bytes)


def _run_devices(*arguments: Any) -> int:
    """The status of a run; an exception of a signal's handler is raised here."""
    try:
        return runtime().threads.hlo_run_devices(*arguments)
    except SystemError as error:
        # So ctypes says that an exception waits.
        raise (error.__cause__ or error) from None


def run_devices_address() -> int:
    """The address of `hlo_run_devices`."""
    return ctypes.cast(runtime().threads.hlo_run_devices, ctypes.c_void_p).value or 0


def _lists(arrays: Sequence[Sequence[NDArray[Any] | None]]) -> list[Any]:
    """A C array of addresses for each device."""
    return [
        (ctypes.c_void_p * max(len(a), 1))(*(None if a is None else a.ctypes.data for a in a))
        for a in arrays
    ]


def _addresses(objects: Sequence[Any]) -> Any:
    """A C array of the addresses of C arrays."""
    return (ctypes.c_void_p * len(objects))(*map(ctypes.addressof, objects))


def explained(
    report: Sequence[int], sites: Sequence[CollectiveSite], plan: MeetingPlan
) -> BaseException:
    """The exception for a run that the runtime library has stopped.

    Parameters
    ----------
    report : the numbers that it left.
    """
    kind, device = report[KIND], report[DEVICE]
    if kind == MODULE_FAILED:
        return failure(report[STATUS], report[THREAD])
    if kind == TOO_MANY:
        count = f"{plan.devices:,} devices, and the system starts {device:,} threads"
        return HloError("HLO116", f"{count}: each device is one")
    if kind == DEADLOCK:
        places = zip(report[REPORT_HEAD::2], report[REPORT_HEAD + 1 :: 2], strict=True)
        return deadlock([_waits(plan, sites, d, *place) for d, place in enumerate(places)])
    return _EXPLANATIONS[kind](report, sites, plan)


def _no_group(
    report: Sequence[int], sites: Sequence[CollectiveSite], plan: MeetingPlan
) -> HloError:
    message, *notes = plan.refused[report[SITE], report[DEVICE]]
    return HloError("HLO119", message, sites[report[SITE]].span, notes)


def _different(
    report: Sequence[int], sites: Sequence[CollectiveSite], _plan: MeetingPlan
) -> HloError:
    places = ((report[OTHER_DEVICE], report[OTHER_SITE]), (report[DEVICE], report[SITE]))
    # In an order that does not depend on who came first.
    one, other = ((device, sites[n], sites[n].signature) for device, n in sorted(places))
    return different(one, other)


def _other_shape(
    report: Sequence[int], sites: Sequence[CollectiveSite], plan: MeetingPlan
) -> HloError:
    site = sites[report[SITE]]
    sent, wanted = (plan.sent[report[place]] for place in (OTHER_SITE, OTHER_DEVICE))
    message = f"{site.name}: what was sent: {sent} instead of {wanted}"
    return HloError("HLO118", message, site.span)


def _no_member(
    report: Sequence[int], sites: Sequence[CollectiveSite], plan: MeetingPlan
) -> HloError:
    members = plan.members(report[SITE], report[DEVICE])
    return no_member(sites[report[SITE]], report[NUMBERS], len(members))


def _out_of_place(
    report: Sequence[int], sites: Sequence[CollectiveSite], _plan: MeetingPlan
) -> HloError:
    site, (size, start, whole) = sites[report[SITE]], report[NUMBERS:REPORT_HEAD]
    is_ragged = site.opcode == "ragged-all-to-all"
    return (rows_out_of_place if is_ragged else slice_out_of_place)(site, size, start, whole)


_EXPLANATIONS = {
    DIFFERENT: _different,
    NO_GROUP: _no_group,
    NO_MEMBER: _no_member,
    OTHER_SHAPE: _other_shape,
    OUT_OF_PLACE: _out_of_place,
}


def _waits(
    plan: MeetingPlan, sites: Sequence[CollectiveSite], device: int, number: int, box: int
) -> tuple[CollectiveSite, str] | None:
    """The site at which a device waits, and the thing it waits for; None if it has finished."""
    if number < 0:
        return None
    wanting = (
        wanting_from(plan.boxes[box]) if box >= 0 else wanting_of(plan.members(number, device))
    )
    return sites[number], wanting
