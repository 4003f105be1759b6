"""Sites of loops and conditionals, with names and computations for their rewrites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Annotations
from hlo.walk import callers
from optimizer.calls.clone import cloned

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply


@dataclass(frozen=True)
class CallSite:
    """An instruction that calls computations.

    Attributes
    ----------
    shared : gives the names of computations that are called more than once.
    """

    instr: Instruction
    names: NameSupply
    shared: Callable[[], set[str]]

    def named(self, instr: Instruction) -> Instruction:
        """A new instruction, with a name of its own and this one's place in the user's source."""
        annotations = Annotations(metadata=self.instr.annotations.metadata)
        name = self.names.unique(instr.name)
        return instr.with_(name=name, annotations=annotations, span=self.instr.span)

    def own(self, computation: Computation) -> Computation:
        """A computation that may be changed for this site: a copy if others call it too."""
        return cloned(computation, self.names) if computation.name in self.shared() else computation

    def own_with_twins(
        self, computation: Computation
    ) -> tuple[Computation, dict[Instruction, Instruction]]:
        """The computation as of `own`, and which of its instructions stands for each given one."""
        own = self.own(computation)
        # A copy has its instructions in the same order.
        return own, dict(zip(computation.instructions, own.instructions, strict=True))


def shared_computations(module: Module) -> set[str]:
    """The names of computations that are called more than once."""
    calls_of = callers(module).items()
    return {c.name for c, calls in calls_of if sum(i.called.count(c) for i in calls) > 1}
