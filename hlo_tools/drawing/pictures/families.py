"""Families of opcodes, by their traits, and the colour of each in pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import OPCODES
from optimizer.analysis.cost import FREE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Instruction

INPUTS = "inputs and tuples"
# All are light enough for dark letters, and differ without colour vision.
COLOURS = {
    "matrix products": "#9ecae1",
    "reductions": "#f4a582",
    "elementwise": "#b8e0b0",
    "moved or copied": "#ffe699",
    "loops and branches": "#cbb8e8",
    "library and others": "#cfd4da",
    "between devices": "#f2b8d4",
    INPUTS: "#eef1f4",
}
# The family of whatever has a trait; the first one counts.
_BY_TRAIT = {
    "contraction": "matrix products",
    "reduction": "reductions",
    "control": "loops and branches",
    "collective": "between devices",
    "elementwise": "elementwise",
    "movement": "moved or copied",
    "data_dependent": "moved or copied",
}
# Other instructions of a fusion count for nothing beside one of these.
_HEAVIEST_FIRST = (
    "matrix products",
    "reductions",
    "loops and branches",
    "library and others",
    "between devices",
    "elementwise",
    "moved or copied",
)


def family_of(instr: Instruction) -> str:
    """The family of an instruction, as a key of the colours: of a fusion, the heaviest in it."""
    if instr.opcode == "fusion":
        return heaviest(instr.called[0].opcodes)
    return family_of_opcode(instr.opcode)


def heaviest(opcodes: Iterable[str]) -> str:
    """The family that says most of a kernel with some opcodes."""
    families = {family_of_opcode(opcode) for opcode in opcodes}
    return next((family for family in _HEAVIEST_FIRST if family in families), INPUTS)


def family_of_opcode(opcode: str) -> str:
    """The family of an opcode."""
    traits = OPCODES[opcode].traits
    if opcode in FREE or "leaf" in traits:
        return INPUTS
    family = next((family for trait, family in _BY_TRAIT.items() if trait in traits), None)
    return family or "library and others"
