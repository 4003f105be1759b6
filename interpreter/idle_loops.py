"""Loops that change nothing: they run not at all or forever, and are taken to end.

XLA, as C++ does, assumes that loops end, and so takes these away. Any other loop that does not end
is run forever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.effects import has_effect
from hlo.support.memo import remembered

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


def is_idle(loop: Instruction) -> bool:
    """Whether the body of a while hands its state on as it is, and does nothing else."""
    return _hands_on(loop.called[1]) and not has_effect(loop)


@remembered
def _hands_on(body: Computation) -> bool:
    """Whether the value of a computation is its parameter."""
    return all(
        shape.is_token or _origin(body.root, path) == (body.parameters[0], path)
        for path, shape in body.root.shape.leaves()
    )


def _origin(instr: Instruction, path: tuple[int, ...]) -> tuple[Instruction, tuple[int, ...]]:
    """The instruction that makes an element of a value, and the element's place in its value."""
    while True:
        if instr.opcode == "tuple":
            instr, path = instr.operands[path[0]], path[1:]
        elif instr.opcode == "get-tuple-element":
            index = GetTupleElement.of(instr).index
            instr, path = instr.operands[0], (index, *path)
        elif instr.opcode in ("copy", "domain"):
            instr = instr.operands[0]
        else:
            return instr, path
