"""Cotangents of a linear program: each linear instruction hands its own back to its operands.

    dy = cos(x) dx                 y^ = y^ + x z^
    dz = dx * y + dy * x    =>     x^ = y z^ + cos(x) y^

An instruction comes after all that use it, so that their sum is complete. Instructions that are
not linear are used where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import needed_first
from optimizer.derivative.movement import added
from optimizer.derivative.table import Leaves, as_leaves, refusal, transposes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hlo.instruction import Instruction

    Back = Callable[[Instruction, Leaves, Sequence[bool]], Sequence[Leaves | Instruction | None]]


def cotangents(
    results: Iterable[tuple[Instruction, Instruction]],
    inputs: Sequence[Instruction],
    control: Back,
) -> list[Instruction | None]:
    """The cotangents of a linear program's inputs.

    Parameters
    ----------
    results : each with its cotangent.
    inputs : arrays, in which the results are linear.
    control : gives the cotangents of the operands of loops and branches.

    Returns
    -------
    list of Instruction or None
        an entry an input; None for an input that no result depends on.

    Raises
    ------
    HloError
        HLO155 at an instruction whose transpose is not known.
    """
    results = list(results)
    order = needed_first((root for root, _ in results), lambda instr: instr.operands)
    linear = set(inputs)
    for instr in order:
        if any(o in linear for o in instr.operands):
            linear.add(instr)
    sums: dict[Instruction, list[Instruction | None]] = {}

    def hand(instr: Instruction, leaves: Leaves) -> None:
        old = sums.setdefault(instr, [None] * len(leaves))
        sums[instr] = [added(x, y) for x, y in zip(old, leaves, strict=True)]

    for root, cotangent in results:
        hand(root, (cotangent,))
    stops = set(inputs)
    for instr in reversed(order):
        if instr not in sums or instr not in linear or instr in stops:
            continue
        leaves = tuple(sums.pop(instr))
        which = [o in linear for o in instr.operands]
        rule = control if instr.opcode in ("while", "conditional") else transposes.get(instr.opcode)
        if rule is None:
            raise refusal(instr, "the transpose of this linear opcode is not known")
        operand_cotangents = rule(instr, leaves, which)
        for operand, part, wanted in zip(instr.operands, operand_cotangents, which, strict=True):
            back = as_leaves(part)
            if wanted and any(ct is not None for ct in back):
                hand(operand, back)
    return [sums.get(wanted, [None])[0] for wanted in inputs]
