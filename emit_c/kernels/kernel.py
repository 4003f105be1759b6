"""A kernel of C in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements import kernel
from emit_c.code.names import CNames
from emit_c.table import emits_c

if TYPE_CHECKING:
    from codegen.elements.constants import Constants
    from codegen.elements.kernel import Scope


class CKernel(kernel.Kernel):
    """A kernel in the making, in C.

    Parameters
    ----------
    scope : of the instructions that it computes.
    times : how often it runs in one run of the module, about.
    """

    def __init__(self, constants: Constants, scope: Scope, times: int = 1) -> None:
        super().__init__(emits_c, CNames(), constants, scope)
        self.times = times
