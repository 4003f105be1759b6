"""The table of custom calls that have a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.table import WholeArray, elements
from hlo import attributes as a
from hlo.errors.error import HloError
from optimizer.expanders.custom_call_expander import all_expansions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo.instruction import Instruction

    # Emits statements that write all outputs, and gives the bytes of scratch memory they need.
    Write = Callable[[Body, Instruction, Sequence[Name]], int | None]

# The hint for a module that says how its arrays are split, but is not divided.
_PARTITION = "the pass spmd-partitioning{entry=true} makes the module that each device runs"


class CustomCallKernels:
    """The kernels of custom calls, by target; those of all emitters, and one emitter's own."""

    def __init__(self, base: CustomCallKernels | None = None) -> None:
        self._base = base
        self._writes: dict[str, Write] = {}

    def __call__(self, *targets: str) -> Callable[[Write], Write]:
        """Register the decorated function as the kernel of custom calls of some names."""

        def register(write: Write) -> Write:
            for target in targets:
                if target in self:
                    raise KeyError(f"the custom call {target!r} is defined twice")
                self._writes[target] = write
            return write

        return register

    def get(self, target: str) -> Write | None:
        """The function that writes the kernel of a target; None if there is none."""
        write = self._writes.get(target)
        return write or (self._base.get(target) if self._base else None)

    @property
    def targets(self) -> frozenset[str]:
        """All targets that have a kernel."""
        return frozenset([*self._writes, *(self._base.targets if self._base else ())])

    def __contains__(self, target: object) -> bool:
        """Whether a target has a kernel."""
        return isinstance(target, str) and self.get(target) is not None

    def entry(self) -> WholeArray:
        """The table entry of custom calls that have one of these kernels."""

        def write(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
            attrs = a.CustomCall.of(instr)
            write = self.get(attrs.custom_call_target)
            assert write is not None
            return write(body, instr, outputs)

        return WholeArray(write)


kernel = CustomCallKernels()


def refuse(instr: Instruction) -> HloError:
    """The error for a custom call that has no kernel and is no other instruction either."""
    attrs = a.CustomCall.of(instr)
    target = attrs.custom_call_target
    if any(s.is_buffer for i in (instr, *instr.operands) for _, s in i.shape.leaves()):
        message = f"{instr.name}: {target} makes a buffer, or an array of one, which is no value"
        note = "only an array that is pinned and given back at once can be compiled"
        return HloError("HLO181", message, instr.span, [note])
    if target in all_expansions():
        whole = instr.operands[0].shape
        message = f"{instr.name}: {whole} is split, and the module is not partitioned"
        return HloError("HLO181", message, instr.span, [_PARTITION])
    message = f"{instr.name}: the custom call {target!r} can't be compiled to C"
    return HloError(
        "HLO181", message, instr.span, ["it calls a function that is written in no HLO"]
    )


elements.define("custom-call", kernel.entry())
