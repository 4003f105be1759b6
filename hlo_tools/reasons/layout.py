"""Reasons for the layout of an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import names_of
from optimizer.instruction_lookup import instruction_named
from optimizer.layout.assigner import Assigner
from optimizer.layout.planner import choosable
from optimizer.layout.policy import POLICIES

if TYPE_CHECKING:
    from hlo.instruction import Module


def why_layout(module: Module, name: str, target: str = "cpu") -> str:
    """The choices of layout assignment for an instruction: the rule and the bytes, an array a line.

    Parameters
    ----------
    name : of an instruction, with or without "%".

    Raises
    ------
    HloError
        HLO158 if layouts are chosen for no instruction of that name.
    """
    assigner = Assigner(module, POLICIES[target], names_of(module))
    assigner.run()
    chosen = {instr for instr, _ in assigner.choices}
    known = [i for i in module.instructions() if i in chosen or not choosable(i.shape)]
    instr = instruction_named(name, known, module, "layouts are chosen for no instruction {}")
    arrays = choosable(instr.shape)
    lines = [
        f"%{instr.name}{list(index) if index else ''} {choice}"
        for index, choice in ((index, assigner.choices[instr, index]) for index, _ in arrays)
    ]
    return "\n".join(lines) or f"%{instr.name}: there is only one order of its elements"
