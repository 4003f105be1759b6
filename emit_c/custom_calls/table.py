"""Which custom calls have a kernel, and how such a kernel finds its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.table import Kernel
from emit_c.table import emits_c
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo import attributes as a
    from hlo.instruction import Instruction

    # Emits statements that write all outputs, and gives the bytes of scratch memory they need.
    Write = Callable[[Body, Instruction, Sequence[Name]], int | None]

KERNELS: dict[str, Write] = {}


def kernel(*targets: str) -> Callable[[Write], Write]:
    """Register the decorated function as the kernel of custom calls of some names."""

    def register(write: Write) -> Write:
        for target in targets:
            if target in KERNELS:
                raise KeyError(f"the custom call {target!r} is defined twice")
            KERNELS[target] = write
        return write

    return register


def write_custom_call(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """What the kernel of the call's target writes."""
    attrs: a.CustomCall = instr.attrs  # type: ignore[assignment]
    return KERNELS[attrs.custom_call_target](body, instr, outputs)


def refuse(instr: Instruction) -> HloError:
    """The error for a custom call that has no kernel and is no other instruction either."""
    attrs: a.CustomCall = instr.attrs  # type: ignore[assignment]
    target = attrs.custom_call_target
    message = f"{instr.name}: the custom call {target!r} can't be compiled to C"
    return HloError(
        "HLO181", message, instr.span, ["it calls a function that is written in no HLO"]
    )


emits_c.define("custom-call", Kernel(write_custom_call))
