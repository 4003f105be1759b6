"""Collectives of a module for several devices, as steps of its program.

    r = bf16[64] all-reduce(x), to_apply=maximum
        =>  CollectiveStep(x -> r, room for the x of all), and a launch that folds the room into r

A collective that moves whole arrays, or pieces that lie in one stretch, is a step on a stream, so
that kernels run beside it. A reduction is the library's where NCCL has one of the type; else all
members get the operands of all, and a kernel combines them in the order of the group. The processor
does the rest: pieces along an inner dimension, offsets that are known at run time alone, mail.

References
----------
XLA, `xla/backends/gpu/runtime/nccl_*_thunk.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Name, item
from codegen.kinds import Pointer
from codegen.opcodes.alone import OTHERS
from codegen.program.host_calls import host_call
from codegen.program.steps import CollectiveStep, Copy
from codegen.program.trees import leaves
from emit_cuda.grids.stages import each_thread
from emit_cuda.libraries.nccl import reduction_of
from emit_cuda.table import DEVICE_NUMBERS, HOST_QUEUES, MAIL, STEPS_OF_SEVERAL, TOGETHER
from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.types.literal import literal
from interpreter.groups import device_groups
from interpreter.plumbing import CONTEXT
from optimizer.expanders.degenerate_collective_remover import ENDS, STARTS

if TYPE_CHECKING:
    from codegen.program.steps import Launch
    from emit_cuda.program.schedule import CudaSchedule
    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape


def refuse_others(module: Module, devices: int) -> None:
    """Refuse talk with the host, and in code for one device with other devices.

    Raises
    ------
    HloError
        HLO181 at the first instruction that does.
    """
    for instr in module.instructions():
        mails = instr.opcode in MAIL
        if mails and (devices == 1 or a.Channel.of(instr).is_host_transfer):
            reason = HOST_QUEUES
        elif devices == 1 and instr.opcode in TOGETHER - DEVICE_NUMBERS - MAIL:
            reason = OTHERS
        else:
            continue
        message = f"{instr.name}: {instr.opcode} can't be compiled to CUDA: {reason}"
        raise HloError("HLO181", message, instr.span)


def write_together(schedule: CudaSchedule, instr: Instruction) -> None:
    """Add the step of a collective, or of a question for the device's number."""
    if schedule.module.grid == (1, 1) and instr.opcode in STEPS_OF_SEVERAL:
        schedule.compute(schedule.scope, instr)
        return
    results = [str(p) for p in leaves(schedule.pointers_of(instr), instr.shape) if p]
    if instr.opcode in DEVICE_NUMBERS:
        number = schedule.module.constants.device_number(instr.opcode)
        schedule.step(Copy(results[0], number, 4), uses=results)
    elif instr.opcode in ENDS:
        return  # its start has given the results a place, and whoever reads them waits
    elif not _is_step(instr):
        call = host_call(schedule.scope, instr, results)
        schedule.step(call, uses=map(str, call.arguments))
    else:
        _write_step(schedule, instr, results)


def _is_step(instr: Instruction) -> bool:
    """Whether whole arrays or stretches of them are exchanged, as was known before."""
    match instr.attrs:
        case a.AllGather() | a.ReduceScatter() | a.AllToAll() if instr.attrs.dimensions:
            along = instr.attrs.dimensions[0]
            return all(prod(o.shape.dims[:along]) == 1 for o in instr.operands)
        case a.CollectiveBroadcast():
            return not instr.attrs.has_dynamic_root
        case a.CollectivePermute():
            return not instr.attrs.slice_sizes
        case a.AllReduce() | a.AllToAll():
            return True
        case _:
            return False


def _write_step(schedule: CudaSchedule, instr: Instruction, results: list[str]) -> None:
    pointers = schedule.scope.pointers_of
    operands = [p for o in instr.operands for p in leaves(pointers(o), o.shape) if p]
    if instr.opcode in STARTS and len(results) > len(operands):
        # A start yields its operands, too, and a permutation's contexts without meaning.
        count = len(operands)
        zero = schedule.constants.pointer(literal(CONTEXT), "context")
        for context in results[2 * count :]:
            schedule.step(Copy(context, zero, CONTEXT.nbytes), uses=[context])
        results = results[count : 2 * count]
    rooms: list[str] = []
    folds: list[tuple[int, tuple[Launch, ...]]] = []
    if isinstance(instr.attrs, a.AllReduce | a.ReduceScatter) and not _is_native(schedule, instr):
        sizes = _sizes(schedule, instr)
        shapes = [shape for _, shape in instr.shape.leaves()]
        rooms = [
            schedule.local(max(sizes) * shape.size * shape.element_type.bytes, "room")
            for shape in shapes
        ]
        for count in sizes:
            launches = [
                _fold(schedule, instr, shape, target, room, count)
                for shape, target, room in zip(shapes, results, rooms, strict=True)
                if shape.size
            ]
            folds.append((count, tuple(launches)))
    arguments = (*operands, *results, *rooms)
    writes = (*(False for _ in operands), *(True for _ in (*results, *rooms)))
    schedule.step(CollectiveStep(instr, arguments, writes, tuple(folds)), uses=arguments)


def _is_native(schedule: CudaSchedule, instr: Instruction) -> bool:
    """Whether the library reduces all operands itself."""
    has_library = schedule.module.libraries.nccl is not None
    return has_library and all(
        reduction_of(instr.called[0], o.shape.element_type) for o in instr.operands
    )


def _sizes(schedule: CudaSchedule, instr: Instruction) -> list[int]:
    """The sizes of groups in a reduction."""
    groups = device_groups(instr, a.Collective.of(instr), *schedule.module.grid)
    return sorted({len(group) for group in groups})


def _fold(
    schedule: CudaSchedule,
    instr: Instruction,
    shape: Shape,
    target: str,
    room: str,
    count: int,
) -> Launch:
    """A launch whose threads each combine what all members have for one element."""
    kernel, kind, size = schedule.new_kernel(schedule.scope), shape.element_type, shape.size
    to = kernel.output(shape, target, instr.name)
    stored = Pointer(kind.name, const=True, restrict=True)
    brought = kernel.argument(stored, room, "brought", count * size)
    body, thread = kernel.body, Name("thread")
    with body.block() as statements:
        folded = body.variable(kind.name, "folded", item(brought, thread))
        with body.loop("member", count, start=1) as member:
            both = (folded, item(brought, member * size + thread))
            values = [body.loaded_from(kind, e, name) for e, name in zip(both, "xy", strict=True)]
            (value, *_) = body.apply(instr.called[0], *values)
            body.assign(folded, body.stored(kind, value))
        body.assign(item(to, thread), folded)
    stage = each_thread("thread", size, statements, "fold of members")
    return schedule.launched(kernel, instr, stage)
