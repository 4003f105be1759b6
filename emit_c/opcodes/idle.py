"""Loops that change nothing: they run not at all or forever, and are taken to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.effects import has_effect

if TYPE_CHECKING:
    from hlo.attributes import GetTupleElement
    from hlo.instruction import Instruction
    from optimizer.expanders.op_expander import Site


def state_of_idle(site: Site) -> Instruction | None:
    """The initial state of a loop whose body hands it on as it is; None for any other loop.

    References
    ----------
    XLA, as C++ does, assumes that loops end; see `interpreter.control.evaluate_while`.
    """
    instr = site.instr
    body = instr.called[1]
    changed = any(
        not shape.is_token and _origin(body.root, path) != (body.parameters[0], path)
        for path, shape in body.root.shape.leaves()
    )
    return None if changed or has_effect(instr) else instr.operands[0]


def _origin(instr: Instruction, path: tuple[int, ...]) -> tuple[Instruction, tuple[int, ...]]:
    """The instruction that makes an element of a value, and the element's place in its value."""
    while True:
        if instr.opcode == "tuple":
            instr, path = instr.operands[path[0]], path[1:]
        elif instr.opcode == "get-tuple-element":
            attrs: GetTupleElement = instr.attrs  # type: ignore[assignment]
            instr, path = instr.operands[0], (attrs.index, *path)
        elif instr.opcode in ("copy", "opt-barrier", "domain", "add-dependency"):
            instr = instr.operands[0]
        else:
            return instr, path
