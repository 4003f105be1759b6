"""Why an instruction has the layout that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.error import HloError, did_you_mean
from hlo.walk import names_of
from optimizer.layout.assigner import Assigner
from optimizer.layout.planner import choosable
from optimizer.layout.policy import POLICIES

if TYPE_CHECKING:
    from hlo.instruction import Module


def why_layout(module: Module, name: str, target: str = "cpu") -> str:
    """What layout assignment chooses for an instruction: the rule and the bytes, an array a line.

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
    wanted = name.removeprefix("%")
    found = next((i for i in module.instructions() if i.name == wanted), None)
    arrays = choosable(found.shape) if found else []
    if found is None or (arrays and (found, arrays[0][0]) not in assigner.choices):
        known = [instr.name for instr, _ in assigner.choices]
        message = f"layouts are chosen for no instruction `{wanted}`"
        raise HloError("HLO158", message, notes=did_you_mean(wanted, known))
    place = f"{found.span.source.name}:{found.span.line}: " if found.span else ""
    origin = found.annotations.metadata
    if origin and origin.source_file:
        place = f"{place}{origin.source_file}:{origin.source_line}: "
    lines = [
        f"{place}%{found.name}{list(index) if index else ''} {choice}"
        for index, choice in ((index, assigner.choices[found, index]) for index, _ in arrays)
    ]
    return "\n".join(lines) or f"{place}%{found.name}: there is only one order of its elements"
