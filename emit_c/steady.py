"""What a loop's body leaves where it is: state that it hands on, or changes in place.

Without this a loop would copy its whole state in every turn, and a loop that fills an array element
by element would take time quadratic in the array's size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emit_c.table import Kernel, emits_c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.attributes import GetTupleElement
    from hlo.instruction import Computation, Instruction


@dataclass(frozen=True, slots=True)
class Steady:
    """Leaves of a loop's state that stay in their buffers.

    Attributes
    ----------
    through : those that the body hands on unchanged.
    in_place : those that one instruction updates, by number; nobody else reads them.
    """

    through: frozenset[int]
    in_place: Mapping[int, Instruction]

    @property
    def leaves(self) -> frozenset[int]:
        """All of them."""
        return self.through | self.in_place.keys()


NOTHING = Steady(frozenset(), {})


def steady(body: Computation) -> Steady:
    """Find them, for states that are tuples of arrays and nothing deeper."""
    parameter, root = body.parameters[0], body.root
    if root.opcode != "tuple" or any(e.is_tuple for e in root.shape.elements):
        return NOTHING
    users: dict[Instruction, list[Instruction]] = {i: [] for i in body.instructions}
    for instr in body.instructions:
        for operand in instr.operands:
            users[operand].append(instr)
    if any(user.opcode != "get-tuple-element" for user in users[parameter]):
        return NOTHING
    through: set[int] = set()
    in_place: dict[int, Instruction] = {}
    for number, element in enumerate(root.operands):
        if _is_element(element, parameter, number):
            through.add(number)
            continue
        entry = emits_c.get(element.opcode)
        if not isinstance(entry, Kernel) or entry.updates is None or users[element] != [root]:
            continue
        updated = element.operands[entry.updates]
        readers = [u for u in users[parameter] if _is_element(u, parameter, number)]
        if readers == [updated] and users[updated] == [element]:
            in_place[number] = element
    return Steady(frozenset(through), in_place)


def _is_element(instr: Instruction, parameter: Instruction, number: int) -> bool:
    if instr.opcode != "get-tuple-element" or instr.operands[0] is not parameter:
        return False
    attrs: GetTupleElement = instr.attrs  # type: ignore[assignment]
    return attrs.index == number
