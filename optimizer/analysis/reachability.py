"""Reachability: the instructions of a computation that others need, at any distance.

References
----------
XLA, `xla/hlo/analysis/hlo_reachability.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import post_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Computation, Instruction


class Reachability:
    """All that each instruction needs: operands and control predecessors, theirs, and so on.

    One number an instruction, whose bit i says whether it needs instruction i. A computation of n
    instructions takes n^2 / 8 bytes, and n operations on numbers of n bits.
    """

    def __init__(self, computation: Computation) -> None:
        self._bit: dict[Instruction, int] = {}
        self._needs: dict[Instruction, int] = {}
        for i, instr in enumerate(post_order(computation)):
            self._bit[instr] = 1 << i
            needs = 1 << i
            for needed in (*instr.operands, *instr.control_predecessors):
                needs |= self._needs[needed]
            self._needs[instr] = needs

    def reaches(self, source: Instruction, target: Instruction) -> bool:
        """Whether `target` needs `source`; every instruction reaches itself."""
        return bool(self._needs[target] & self._bit[source])

    def any_reaches(self, sources: Iterable[Instruction], targets: Iterable[Instruction]) -> bool:
        """Whether any of some instructions needs any of others."""
        needs = 0
        for target in targets:
            needs |= self._needs[target]
        return any(needs & self._bit[source] for source in sources)
