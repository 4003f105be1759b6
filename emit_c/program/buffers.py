"""The buffer assignment of a module in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.program import buffers
from emit_c.program.swapping import find_swaps
from emit_c.program.sweeps import common_loops
from emit_c.table import emits_c

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module

__all__ = ["CAliasInfo", "CMemory"]


class CAliasInfo(buffers.EmitterAliasInfo):
    """The rules of aliasing in C."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, emits_c)

    def is_one_kernel(self, computation: Computation) -> bool:
        """Whether one loop nest computes all results of a fusion."""
        return common_loops(computation) is not None


class CMemory(buffers.Memory):
    """The memory of a module whose C is being written.

    Attributes
    ----------
    swaps : loops whose state changes places; the copies that are spared are not needed for that.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module, CAliasInfo(module))
        self.swaps = find_swaps(self.buffers)
        self.spared = {swap.copy for swaps in self.swaps.values() for swap in swaps}
