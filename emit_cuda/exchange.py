"""The exchange of arrays among devices: who meets whom at a collective, and which bytes go where.

Devices are threads of one process. Each brings the addresses of its arrays to a meeting of its
group, of which `interpreter.engine.lockstep` knows when nobody can go on. The last one that comes
asks a transport to carry the bytes of all members, each on its stream: NCCL between GPUs, and
copies where devices share the processor's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emit_cuda.libraries.nccl import ADVICE, Nccl
from emit_cuda.transport import Move, Seat, SharedMemory
from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.support.dlpack import CUDA
from interpreter.collectives import check_sizes
from interpreter.groups import find_group, group_of, permute_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.program.steps import CollectiveStep
    from emit_cuda.devices import CudaDevice
    from emit_cuda.libraries import Libraries
    from emit_cuda.transport import Transport
    from hlo.instruction import Instruction
    from interpreter.engine.device import Device


@dataclass(frozen=True, slots=True)
class Rank:
    """A device among those that run a program together.

    Attributes
    ----------
    device : its place in the grid, and the others.
    """

    device: Device
    transport: Transport


def transport_of(devices: Sequence[CudaDevice], libraries: Libraries) -> Transport:
    """The way for arrays between some devices.

    Raises
    ------
    HloError
        HLO195 if they are GPUs, and NCCL is missing.
    """
    if libraries.nccl is not None:
        return libraries.nccl
    if any(device.dlpack_device[0] == CUDA for device in devices):
        raise HloError("HLO195", "NCCL, by which GPUs exchange arrays, is missing", notes=[ADVICE])
    return SharedMemory()


def meet(step: CollectiveStep, rank: Rank, seat: Seat) -> int:
    """Take part in a collective; gives the number of members, 0 where nobody sends anything here.

    Raises
    ------
    HloError
        HLO117 to HLO119 as the interpreter.
    """
    instr, device = step.instruction, rank.device
    pairs: tuple[tuple[int, int], ...] = ()
    if isinstance(instr.attrs, a.CollectivePermute):
        channel, pairs = instr.attrs.channel_id, permute_pairs(device, instr.attrs)
        members = tuple(sorted({end for pair in pairs for end in pair}))
    else:
        attrs = a.Collective.of(instr)
        is_broadcast = isinstance(attrs, a.CollectiveBroadcast)
        members = (find_group if is_broadcast else group_of)(device, instr, attrs)
        check_sizes(instr, len(members))
        channel = attrs.channel_id
    if device.number not in members:
        members = ()
    is_target = not pairs or any(target == device.number for _, target in pairs)
    if not (members and is_target):
        for address, size in zip(seat.outputs, _bytes(instr), strict=True):
            seat.device.fill(address, 0, size, seat.stream)
    if not members:
        return 0
    brought = device.lockstep.meet(device.number, instr, members, channel, seat)
    if next(reversed(brought)) == device.number:
        seats = [brought[member] for member in members]
        places = [(members.index(source), members.index(target)) for source, target in pairs]
        _exchange(step, rank.transport, seats, places)
    return len(members)


def _bytes(instr: Instruction) -> list[int]:
    return [o.shape.size * o.shape.element_type.bytes for o in instr.operands]


def _exchange(
    step: CollectiveStep,
    transport: Transport,
    seats: Sequence[Seat],
    pairs: Sequence[tuple[int, int]],
) -> None:
    """Carry the arrays of all members of a group.

    Parameters
    ----------
    pairs : of a permutation, the positions of sources and targets.
    """
    instr, sizes, count = step.instruction, _bytes(step.instruction), len(seats)
    arrays, everybody = range(len(sizes)), range(count)
    # The arrays that bytes go to.
    results = [seat.rooms or seat.outputs for seat in seats]
    ends = [[(s.inputs[k], r[k]) for s, r in zip(seats, results, strict=True)] for k in arrays]
    scatters = isinstance(instr.attrs, a.ReduceScatter)
    if pairs:
        transport.move(seats, [
            Move(i, seats[i].inputs[k], j, seats[j].outputs[k], sizes[k])
            for k in arrays for i, j in pairs
        ])  # fmt: skip
    elif isinstance(instr.attrs, a.CollectiveBroadcast):
        transport.broadcast(seats, ends, sizes)
    elif isinstance(instr.attrs, a.AllToAll) and not instr.attrs.dimensions:
        transport.move(seats, [
            Move(i, seats[i].inputs[j], j, seats[j].outputs[i], sizes[j])
            for i in everybody for j in everybody
        ])  # fmt: skip
    elif isinstance(instr.attrs, a.AllToAll) or (scatters and step.folds):
        transport.move(seats, [
            Move(i, seats[i].inputs[k] + j * piece, j, results[j][k] + i * piece, piece)
            for k in arrays for piece in [sizes[k] // count] for i in everybody for j in everybody
        ])  # fmt: skip
    elif isinstance(instr.attrs, a.AllGather) or step.folds:
        transport.gather(seats, ends, sizes)
    else:
        assert isinstance(transport, Nccl), "kernels combine what is gathered in shared memory"
        shapes = [shape for _, shape in instr.shape.leaves()]
        transport.reduce(seats, ends, shapes, instr.called[0], scatters=scatters)
