"""Control flow: one kernel where the body is small, else driven by the host.

The host reads a predicate back, and launches the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from codegen.elements.table import is_of_scalars
from codegen.program.steps import Branch, Launch, While, flat
from codegen.program.trees import leaves
from emit_cuda.grids.loop import loop_stages
from emit_cuda.kernels.merging import merged
from emit_cuda.program.collectives import write_together
from emit_cuda.program.schedule import CudaSchedule
from emit_cuda.table import STEPS_OF_SEVERAL, TOGETHER, emits_cuda
from hlo.effects import has_effect
from optimizer.loops.state import loop_of
from optimizer.loops.trip_count import counter_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.program.schedule import Control
    from codegen.program.steps import Step
    from emit_cuda.program.module import CudaModuleWriter
    from hlo.instruction import Computation, Instruction


def write_call(schedule: CudaSchedule, instr: Instruction) -> None:
    """The steps of the computation."""
    schedule.step(*schedule.module.steps_of(instr.called[0]))


def write_conditional(schedule: CudaSchedule, instr: Instruction) -> None:
    """The steps of one branch."""
    index = instr.operands[0]
    branches = tuple(schedule.module.steps_of(branch) for branch in instr.called)
    is_pred = index.shape.element_type.name == "pred"
    number = str(schedule.scope.pointers_of(index))
    step = Branch(number, is_pred, branches)
    schedule.step(_merged(schedule, instr, step) or step, uses=[number])


def write_while(schedule: CudaSchedule, instr: Instruction) -> None:
    """The steps of the body as long as the condition holds; a loop of scalars is one kernel."""
    if schedule.is_constant(instr):
        # It runs not at all or forever; as in C++ and XLA, loops are taken to end.
        return
    if is_of_scalars(emits_cuda, instr):
        kernel = schedule.new_kernel(schedule.scope)
        outputs = kernel.outputs(instr, leaves(schedule.pointers_of(instr), instr.shape))
        schedule.launch(kernel, instr, loop_stages(kernel, [(instr, outputs)]))
        return
    condition, body = instr.called
    predicate = str(schedule.pointers_of(condition.root))
    first, second = map(schedule.module.repeated_steps_of, (condition, body))
    step = While(first, predicate, second, _trips(instr))
    one = _merged(schedule, instr, step)
    if one is None and step.trips is None:
        # The host reads it while the rest of the iteration runs.
        schedule.module.keep_apart([predicate, *_written(first)])
    schedule.step(one or step)


def _merged(schedule: CudaSchedule, instr: Instruction, step: While | Branch) -> Launch | None:
    """One kernel for a loop or a branch; None where it must be the host's."""
    return merged(schedule.module.kernels, instr, step, schedule.module.may_overlap)


def _written(steps: Sequence[Step]) -> Iterator[str]:
    """The arrays that launches write, before buffers are assigned."""
    for step in flat(steps):
        if isinstance(step, Launch):
            pairs = zip(step.arguments, step.writes, strict=True)
            yield from (str(pointer) for pointer, writes in pairs if writes)


def _trips(instr: Instruction) -> int | None:
    """The trip count of a loop that counts to a constant; notes at loops are not trusted."""
    loop = None if any(map(has_effect, instr.called[0].instructions)) else loop_of(instr)
    counter = counter_of(loop) if loop else None
    return counter.trips if counter else None


class _Controlled(CudaSchedule):
    """The steps of a computation, its loops and branches among them."""

    control: ClassVar[Mapping[str, Control]] = {
        "call": write_call,
        "conditional": write_conditional,
        "while": write_while,
        **dict.fromkeys(TOGETHER | STEPS_OF_SEVERAL, write_together),
    }


def write_steps(module: CudaModuleWriter, computation: Computation) -> tuple[Step, ...]:
    """The steps of a computation, before buffers are assigned."""
    return _Controlled(module, computation).finished()
