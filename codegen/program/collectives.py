"""Collectives of a program: their sites, and the plan of who meets whom.

Emitted code names a collective by the number of its site. The plan says, for each site and each
device, with whom the device meets there. It is made when a module is emitted, by the interpreter's
own rules for groups, so that the runtime library knows nothing of HLO.

    r = f32[4] all-reduce(x), replica_groups={{0,2},{1,3}}     =>     site 0
    device 2: meeting 0, members 0 and 2, itself the second

Layout of a plan: see `struct hlo_place` in `emit_c/executable/runtime/devices.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.errors.error import HloError
from interpreter.collectives import check_sizes
from interpreter.devices import has_one_source, other_end, routes_of, sender
from interpreter.engine.device import Device
from interpreter.engine.lockstep import Lockstep, signature
from interpreter.groups import find_group, group_of, permute_pairs

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from hlo.errors.error import Span
    from hlo.instruction import Instruction, Module

# Of a place: meeting, signature, count, position, source; the members follow.
_NO_GROUP = -1
# Of these, one device puts something into a mail box, or another one takes it out.
_MAIL = frozenset({"send", "recv", "recv-done"})
HEAD = 6


@dataclass(frozen=True, slots=True)
class CollectiveSite:
    """A collective of a program, for messages about it.

    Attributes
    ----------
    signature : the opcode, and the shapes of operands and result.
    span : where it is in the module's text; None where it is nowhere.
    """

    name: str
    opcode: str
    signature: tuple[str, str]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class MeetingPlan:
    """The plan of a program for a number of devices.

    Attributes
    ----------
    numbers : as the runtime library reads them.
    boxes : for each mail box, who puts something into it.
    has_open_ends : whether there is a mail box that is not of one source and one target.
    sent : by signature, the shape of what is sent.
    refused : by site and device, why the device can't take part, and hints.
    """

    devices: int
    numbers: tuple[int, ...]
    boxes: tuple[str, ...] = ()
    has_open_ends: bool = False
    sent: Mapping[int, str] = field(default_factory=dict[int, str])
    refused: Mapping[tuple[int, int], Sequence[str]] = field(default_factory=dict[Any, Any])

    def members(self, site: int, device: int) -> tuple[int, ...]:
        """The devices that a device meets at a site, or the numbers of its mail boxes."""
        at = self.numbers[HEAD + site * self.devices + device]
        count = self.numbers[at + 2]
        return self.numbers[at + 5 : at + 5 + max(count, 0)]


@dataclass(frozen=True, slots=True)
class Meetings:
    """All that is known of the collectives of a program.

    Attributes
    ----------
    sites : by their numbers.
    plans : by the number of devices: of those that the program is for, and of a device alone.
    """

    sites: tuple[CollectiveSite, ...]
    plans: Mapping[int, MeetingPlan]

    def as_json(self, module: Module) -> Any:
        """All of it in lists, numbers and texts; for a span, whose span it is in the module."""
        names = {i.span: i.name for i in module.instructions()}
        return [
            [(s.name, s.opcode, s.signature, names.get(s.span)) for s in self.sites],
            [
                (
                    p.devices,
                    p.numbers,
                    p.boxes,
                    p.has_open_ends,
                    [*p.sent.items()],
                    [*p.refused.items()],
                )
                for p in self.plans.values()
            ],
        ]

    @classmethod
    def of_json(cls, lists: Any, module: Module) -> Meetings:
        """The meetings that `as_json` has written down, of an equal module."""
        sites, plans = lists
        spans = {i.name: i.span for i in module.instructions()} if sites else {}
        return cls(
            tuple(
                CollectiveSite(name, opcode, tuple(devices), spans.get(original))
                for name, opcode, devices, original in sites
            ),
            {
                count: MeetingPlan(
                    count, tuple(numbers), tuple(boxes), open_ends, dict(sent),
                    {tuple(at): why for at, why in refused},
                )
                for count, numbers, boxes, open_ends, sent, refused in plans
            },
        )  # fmt: skip


NONE = Meetings((), {})


class Collectives:
    """The collectives of a module whose code is being written.

    Parameters
    ----------
    replicas, partitions : the devices that it is for.
    """

    def __init__(self, replicas: int, partitions: int) -> None:
        self.grid = replicas, partitions
        self._numbers: dict[Instruction, int] = {}

    def site(self, instr: Instruction) -> int:
        """The number of a collective's site."""
        return self._numbers.setdefault(instr, len(self._numbers))

    def meetings(self, size: int) -> Meetings:
        """The sites that the written code has, and their plans.

        Parameters
        ----------
        size : bytes that a device reads and writes, at least.
        """
        instrs = tuple(self._numbers)
        sites = tuple(CollectiveSite(i.name, i.opcode, signature(i), i.span) for i in instrs)
        grids = dict.fromkeys([self.grid, (1, 1)])
        return Meetings(sites, {r * p: plan(instrs, r, p, size) for r, p in grids})


def plan(
    sites: Sequence[Instruction], replicas: int, partitions: int, size: int = 0
) -> MeetingPlan:
    """The plan of collectives for a grid of devices.

    Parameters
    ----------
    size : bytes that a device reads and writes, at least.
    """
    lockstep = Lockstep(replicas, partitions)
    devices = [
        Device(replica, partition, lockstep=lockstep)
        for replica in range(replicas)
        for partition in range(partitions)
    ]
    known = _Numbers()
    refused: dict[tuple[int, int], Sequence[str]] = {}
    starts: list[int] = []
    places: list[int] = []
    for number, instr in enumerate(sites):
        for device in devices:
            starts.append(HEAD + len(sites) * len(devices) + len(places))
            try:
                places += _place(instr, device, known)
            except HloError as error:
                refused[number, device.number] = (error.message, *error.notes)
                places += (0, 0, _NO_GROUP, 0, -1)
    head = (len(devices), partitions, len(sites), len(known.meetings), len(known.boxes), size)
    sent = {n: key for key, n in known.signatures.items() if isinstance(key, str)}
    boxes = tuple(map(sender, known.boxes))
    open_ends = not all(map(has_one_source, known.boxes))
    numbers = (*head, *starts, *places)
    return MeetingPlan(len(devices), numbers, boxes, open_ends, sent, refused)


class _Numbers:
    """Numbers of meetings, signatures and mail boxes, each given once."""

    def __init__(self) -> None:
        self.meetings: dict[Hashable, int] = {}
        self.signatures: dict[Hashable, int] = {}
        self.boxes: dict[tuple[Any, ...], int] = {}

    def box(self, route: tuple[Any, ...]) -> int:
        return self.boxes.setdefault(route, len(self.boxes))


def _place(instr: Instruction, device: Device, known: _Numbers) -> tuple[int, ...]:
    """The part of a device in a collective, as numbers."""
    if instr.opcode in _MAIL:
        is_sent = instr.opcode == "send"
        value = instr.operands[0].shape if is_sent else instr.shape.elements[0]
        number = known.signatures.setdefault(value.text_without_layout, len(known.signatures))
        routes = _routes(instr, device)
        boxes = [known.box(route) for route in routes]
        ends = [other_end(route, device, 1 if is_sent else 0) for route in routes]
        return (0, number, len(boxes), 0, -1, *boxes, *ends)
    tail: tuple[int, ...] = ()
    source = -1
    if isinstance(instr.attrs, a.CollectivePermute):
        pairs = permute_pairs(device, instr.attrs)
        members = tuple(sorted({device for pair in pairs for device in pair}))
        if device.number not in members:
            members = ()
        source = next((members.index(s) for s, t in pairs if t == device.number and members), -1)
        tail = _slices(pairs, members, device.number)
    else:
        attrs = a.Collective.of(instr)
        is_broadcast = isinstance(attrs, a.CollectiveBroadcast)
        members = (find_group if is_broadcast else group_of)(device, instr, attrs)
        check_sizes(instr, len(members))
    if not members:
        return (0, 0, 0, 0, -1)
    channel = getattr(instr.attrs, "channel_id", None)
    meeting = known.meetings.setdefault((channel, members), len(known.meetings))
    number = known.signatures.setdefault(signature(instr), len(known.signatures))
    position = members.index(device.number)
    return (meeting, number, len(members), position, source, *members, *tail)


def _slices(
    pairs: tuple[tuple[int, int], ...], members: tuple[int, ...], me: int
) -> tuple[int, ...]:
    """The number of slices that a device gets; for each its source's position, and its number."""
    slices: list[int] = []
    sent: dict[int, int] = {}
    for source, target in pairs:
        number = sent[source] = sent.get(source, -1) + 1
        if target == me and members:
            slices += (members.index(source), number)
    return (len(slices) // 2, *slices)


def _routes(instr: Instruction, device: Device) -> list[tuple[Any, ...]]:
    """The routes by which a device sends, or expects a value."""
    if instr.opcode == "recv-done":
        return []
    return routes_of(device, instr, a.Channel.of(instr), end=int(instr.opcode == "recv"))
