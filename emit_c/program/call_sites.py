"""The steps of C functions that call a module's kernels, and the task of each call.

A profile compares how long a kernel took with how long its bytes and operations must take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.analysis.cost import operations, traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.statements import Call, Statement, Try
    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class KernelStep:
    """A step that runs a kernel.

    Attributes
    ----------
    call : of its C function.
    instruction : what it computes, alone or with `computed`.
    computed : instructions that the kernel computes on its way.
    """

    call: Call | Try
    instruction: Instruction
    computed: tuple[Instruction, ...] = ()

    @property
    def site(self) -> KernelSite:
        """The work of the call."""
        return site(self.call.function.name, self.instruction, self.computed)


# A step of a C function: a kernel runs, or some other statements do.
Step = tuple["KernelStep | Statement", ...]


def statements_of(step: Step) -> Sequence[Statement]:
    """A step in C."""
    return [part.call if isinstance(part, KernelStep) else part for part in step]


@dataclass(frozen=True, slots=True)
class KernelSite:
    """A call of a kernel.

    Attributes
    ----------
    kernel : its name in C.
    instruction : what it computes, alone or with others.
    flops, transcendentals : operations of one call.
    bytes : that one call reads and writes.
    """

    kernel: str
    instruction: Instruction
    flops: int
    transcendentals: int
    bytes: int


def site(kernel: str, instr: Instruction, computed: Iterable[Instruction]) -> KernelSite:
    """The work of a call of a kernel.

    Parameters
    ----------
    computed : instructions that the kernel computes on its way.
    """
    members = dict.fromkeys(computed)
    if instr.opcode == "fusion":
        root = instr.called[0].root
        outputs = root.operands if root.opcode == "tuple" else (root,)
    else:
        members[instr] = None
        outputs = (instr,)
    inside = _ordered(members)
    counts = [operations(i) for i in inside]
    read, written = traffic(inside, outputs)
    return KernelSite(
        kernel,
        instr,
        sum(flops for flops, _ in counts),
        sum(hard for _, hard in counts),
        sum(read.values()) + written,
    )


def _ordered(members: Iterable[Instruction]) -> list[Instruction]:
    """Instructions such that each comes after its operands among them."""
    waiting = dict.fromkeys(members)
    done: dict[Instruction, None] = {}
    for member in waiting:
        stack = [member]
        while stack:
            instr = stack[-1]
            needed = [o for o in instr.operands if o in waiting and o not in done]
            if not needed:
                done[stack.pop()] = None
            stack += needed
    return list(done)
