"""Whether a module becomes far too large once nothing is called from two sites.

Where each computation calls the one before twice, it doubles from one to the next: thirty lines of
text are a thousand million instructions. So one asks first, and counts without copying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import called_first

if TYPE_CHECKING:
    from collections.abc import Collection

    from hlo.instruction import Computation, Module

LIMIT = 50_000
TIMES = 20  # Large programs call much from many sites, and yet each of it from few.


def explodes(module: Module, opcodes: Collection[str], limit: int) -> bool:
    """Whether copies for each caller are more instructions than a limit, and many times the module.

    Parameters
    ----------
    opcodes : of the callers that get copies of their own.
    """
    sizes: dict[Computation, int] = {}
    called: set[Computation] = set()
    for computation in called_first(*module.computations):
        callers = [i for i in computation.instructions if i.called and i.opcode in opcodes]
        callees = [c for i in callers for c in i.called]
        sizes[computation] = len(computation.instructions) + sum(sizes[c] for c in callees)
        called.update(callees)
    whole = sum(size for computation, size in sizes.items() if computation not in called)
    now = sum(len(computation.instructions) for computation in sizes)
    return whole - now > max(limit, TIMES * now)
