"""Fusions all of whose results one loop computes, element beside element."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from codegen.elements.table import Scalar, elemental
from emit_cuda.table import emits_cuda
from hlo.opcode import GIVEN, VIEWS

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction

# Elements that one thread may compute again for each element that asks for them.
_FREE = GIVEN | {"broadcast", "iota"}
# These only say which element of an operand is meant.
_MOVES = VIEWS - {"broadcast"} | {"concatenate", "pad"}


@lru_cache(maxsize=256)
def results_together(computation: Computation) -> tuple[Instruction, ...]:
    """The results that one loop computes; none where they need kernels of their own.

    They have equal dimensions, and nothing is computed that is worth being stored before.
    """
    root = computation.root
    if root.opcode != "tuple":
        return ()
    results, first = root.operands, root.operands[0]
    alike = all(r.shape.is_array and r.shape.dims == first.shape.dims for r in results)
    if not alike or first.shape.size == 0 or any(r.opcode == "parameter" for r in results):
        return ()
    if not all(is_cheap(instr) for instr in computation.instructions if instr is not root):
        return ()
    return results


def is_cheap(instr: Instruction) -> bool:
    """Whether an element is as well computed where it is read, as stored before."""
    if instr.opcode in _FREE or instr.opcode in _MOVES:
        return True
    entry = emits_cuda.get(instr.opcode)
    cheap = isinstance(entry, Scalar) or instr.opcode in ("gather", "dynamic-slice")
    return cheap and elemental(emits_cuda, instr.opcode)


def are_operands_cheap(dot: Instruction) -> bool:
    """Whether all that a product multiplies is computed from parameters as it is read."""
    stack, seen = list(dot.operands), set(dot.operands)
    while stack:
        instr = stack.pop()
        if not is_cheap(instr):
            return False
        stack += [o for o in instr.operands if o not in seen]
        seen.update(instr.operands)
    return True
