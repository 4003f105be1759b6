"""The passes over a row of a computation that folds it several times.

    m = f32[8] reduce(x, -inf), dimensions={1}      pass 0 folds x;
    e = f32[8,99] exponential(x - b)                pass 1 needs m, computes e,
    s = f32[8] reduce(e, 0), dimensions={1}         and folds it;
    ROOT d = f32[8,99] divide(e, t)                 pass 2 needs s, and e again.

Each pass computes all that the folds of the passes before it allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.fusion.rows import LEAVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.rows import Rows


@dataclass(frozen=True)
class RowPasses:
    """The pass over a row in which each value of a computation is computed.

    Attributes
    ----------
    folds : the reduces that each pass folds for.
    stores : the wide results that it stores.
    read : parameters with an element for each of a row.
    narrow : the elements of rows that are known before each pass.
    kept : values that a later pass reads again, with the pass that computes them.
    readers : of each of these, the later passes that read it.
    """

    folds: tuple[tuple[Instruction, ...], ...]
    stores: tuple[tuple[Instruction, ...], ...]
    read: tuple[Instruction, ...]
    narrow: tuple[tuple[Instruction, ...], ...]
    kept: dict[Instruction, int]
    readers: dict[Instruction, set[int]]


def row_passes(rows: Rows, computation: Computation, results: Sequence[Instruction]) -> RowPasses:
    """The first pass over a row in which each value can be computed."""
    first: dict[Instruction, int] = {}
    for instr in computation.instructions:
        before = max((first[o] for o in instr.operands), default=0)
        first[instr] = before + rows.folds(instr)
    count = 1 + max(first.values())
    folds = [i for i in computation.instructions if rows.folds(i)]
    wides = [r for r in dict.fromkeys(results) if rows.is_wide(r)]
    passes = RowPasses(
        tuple(tuple(f for f in folds if first[f] == p + 1) for p in range(count)),
        tuple(tuple(w for w in wides if first[w] == p) for p in range(count)),
        tuple(p for p in computation.parameters if rows.is_wide(p)),
        tuple(
            tuple(i for i in first if rows.is_narrow(i) and not rows.folds(i) and first[i] == p)
            for p in range(count)
        ),
        {},
        {},
    )
    computed: dict[Instruction, int] = {}
    for number in range(count):
        stack = [o for f in passes.folds[number] for o in f.operands] + list(passes.stores[number])
        while stack:
            instr = stack.pop()
            if not rows.is_wide(instr) or instr.opcode in LEAVES:
                continue
            if computed.setdefault(instr, number) == number:
                stack += instr.operands
            else:
                passes.kept[instr] = computed[instr]
                passes.readers.setdefault(instr, set()).add(number)
    return passes
