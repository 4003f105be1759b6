"""The memory of a module whose C is being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.program.buffers import Memory
from emit_c.table import emits_c
from optimizer.memory.alias_info import ALIAS_INFO
from optimizer.memory.swapping import find_swaps

if TYPE_CHECKING:
    from hlo.instruction import Module


class CMemory(Memory):
    """The memory of a module whose C is being written.

    Attributes
    ----------
    swaps : loops whose state swaps buffers; the copies that are spared are not needed for that.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module, emits_c, ALIAS_INFO["cpu"])
        self.swaps = find_swaps(self.buffers)
        self.spared = {swap.copy for swaps in self.swaps.values() for swap in swaps}
