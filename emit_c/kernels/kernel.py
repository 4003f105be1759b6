"""A kernel of C while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements import kernel
from emit_c.code.names import CNames
from emit_c.table import emits_c

if TYPE_CHECKING:
    from codegen.elements.constants import Constants
    from codegen.elements.kernel import Scope


class CKernel(kernel.Kernel):
    """A kernel that is being written, in C.

    Parameters
    ----------
    scope : of the instructions that it computes.
    times : about how often it is called in one run of the module.
    flushes : whether subnormal numbers count as zeros.
    """

    def __init__(
        self, constants: Constants, scope: Scope, times: int = 1, *, flushes: bool = False
    ) -> None:
        super().__init__(emits_c, CNames(), constants, scope)
        self.times, self.writer.flushes = times, flushes
