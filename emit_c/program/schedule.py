"""A computation becomes a C function: which kernels it calls, in which order, on which buffers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.elements.memory import copied
from codegen.elements.table import Element
from codegen.expressions import Name, binary, item
from codegen.program.kernel_reuse import KnownCalls
from codegen.program.placement import in_memory
from codegen.program.trees import leaves
from codegen.statements import Call, If, names_in
from codegen.walk import substitute
from emit_c.kernels.writing import write_loops
from emit_c.program.call_sites import KernelStep, statements_of
from emit_c.program.control import CONTROL
from emit_c.program.function import FunctionWriter
from emit_c.program.relocatable import ENTRY
from emit_c.program.sweeps import write_sweeps
from emit_c.table import emits_c
from optimizer.fusion.together import common_nest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.elements.kernel import Scope
    from codegen.expressions import Expr
    from codegen.program.kernel_reuse import Work
    from codegen.program.schedule import Pointers
    from emit_c.program.module import ModuleWriter
    from emit_c.program.relocatable import RelocatableFunction
    from hlo.instruction import Computation, Instruction


def write_function(
    module: ModuleWriter, computation: Computation, name: str
) -> RelocatableFunction:
    """The C function of a computation, in which addresses are still missing."""
    schedule = ScheduledFunction(module, computation, name)
    schedule.write()
    module.hlo_names[name] = schedule.names.hlo_names
    return schedule.finish()


class ScheduledFunction(FunctionWriter):
    """The C function of one computation, written kernel by kernel."""

    control = CONTROL

    def write(self) -> None:
        """Go through the computation."""
        if self.name == ENTRY:
            self.step(*self.module.prologue)
            self._take_donated()
        super().write()

    def written(self) -> None:
        """Hand finished kernels out to compilers."""
        self.module.look()

    def _take_donated(self) -> None:
        """Bring donated arguments to where the results will be, if they are not there."""
        arguments = [s for p in self.computation.parameters for _, s in p.shape.leaves()]
        for result, number in self.module.memory.donated.items():
            there, here = item(Name("out"), result), item(Name("in"), number)
            copy = copied(there, here, arguments[number].unpacked_bytes)
            self.step(If(binary("!=", there, here), (copy,)))

    def compute(self, scope: Scope, instr: Instruction) -> None:
        """Write the kernels of an instruction, or call those of an equal one again."""
        work, begin = self.module.reuse.work(scope, instr, self.unread(instr)), len(self.steps)
        if not self._call_again(work, instr):
            super().compute(scope, instr)
            self._remember(work, begin)

    def _call_again(self, work: Work, instr: Instruction) -> bool:
        """Make the calls that computed the same before; whether there are such."""
        calls = self.module.reuse.known.get(work.key)
        if calls is None:
            return False
        names = dict(zip(calls.pointers, work.pointers, strict=True))
        for name, local in calls.local.items():
            names[name] = self.local(local.bytes, name, local.kind)
            self.locals[names[name]].first += local.first
        for step in calls.steps:
            step_again = tuple(_again(part, instr, names) for part in step)
            self.step(*step_again, uses=names_in(statements_of(step_again)))
        return True

    def _remember(self, work: Work, begin: int) -> None:
        """Keep the steps from one on, which did some work, if they are only calls."""
        steps = self.steps[begin:]
        if not all(isinstance(part, KernelStep | Call) for step in steps for part in step):
            return
        used = {name for step in steps for name in names_in(statements_of(step))}
        if not used & self.declared.keys() <= {*work.pointers, *self.locals}:
            return
        local = {n: replace(local, first=local.first - begin) for n, local in self.locals.items()}
        self.module.reuse.known[work.key] = KnownCalls(work.pointers, local, tuple(steps))

    def write_together(self, inner: Scope, instr: Instruction, target: object) -> bool:
        """One kernel for all that a fusion yields, where its loops have a nest in common."""
        called, nest = instr.called[0], common_nest(instr.called[0])
        if nest is None:
            return False
        root = called.root
        results = root.operands if root.opcode == "tuple" else (root,)
        if len(results) == 1 and not nest.folds and len(in_memory(emits_c, called)) == 1:
            # Its opcode may have a faster way to compute whole arrays.
            return False
        kernel = self.new_kernel(inner)
        outputs: dict[Instruction, list[Name]] = {}
        pointers = leaves(target, instr.shape)
        for result, pointer in zip(results, pointers, strict=True):
            outputs.setdefault(result, []).extend(kernel.outputs(result, [pointer]))
        self.call_kernel(kernel, instr, write_sweeps(kernel, nest, outputs))
        return True

    def write_elements(self, scope: Scope, instr: Instruction, pointers: Pointers) -> None:
        """A kernel that computes elements in loops, or whole arrays in a faster way."""
        kernel = self.new_kernel(scope)
        outputs = kernel.outputs(instr, pointers)
        entry, plain = emits_c[instr.opcode], self.module.kernels.plain
        scratch = (
            entry.whole(kernel.body, instr, outputs)
            if isinstance(entry, Element) and entry.whole is not None and not plain
            else None
        )
        if scratch is None:
            self.call_kernel(kernel, instr, write_loops(kernel, [(instr, outputs)], plain=plain))
        else:
            self.give_scratch(kernel, scratch)
            self.call_kernel(kernel, instr, tuple(kernel.writer.blocks[0]))


def _again(
    part: KernelStep | Call, instr: Instruction, names: Mapping[str, str]
) -> KernelStep | Call:
    """A call with other pointers, which computes another instruction."""
    if isinstance(part, KernelStep):
        call = replace(part.call, arguments=_renamed(part.call.arguments, names))
        return replace(part, call=call, instruction=instr)
    return replace(part, arguments=_renamed(part.arguments, names))


def _renamed(arguments: Sequence[Expr], names: Mapping[str, str]) -> tuple[Expr, ...]:
    """Arguments of a call with other pointers."""
    values = {name: Name(other) for name, other in names.items()}
    return tuple(substitute(argument, values) for argument in arguments)
