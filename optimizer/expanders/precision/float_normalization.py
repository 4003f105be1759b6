"""Computes in f32 where a backend cannot compute in a small float type.

bf16 add(x, y)   =>   convert(f32 add(convert(x), convert(y)))

Only opcodes that compute: what moves elements, or converts them, takes every type. Called
computations are treated like all others, so that a reduce of bf16 adds in f32 inside, and rounds
after every step. Small floats mean just that (see `interpreter.numbers.widths`), so every bit is
kept.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hlo.opcode import CONVERSIONS, OPCODES
from hlo.types.element_type import ELEMENT_TYPES, F32, ElementType
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# Elementwise opcodes that every backend has for every type, since they compute nothing, or whose
# meaning depends on the very type.
ANY_TYPE = CONVERSIONS | {"select", "reduce-precision"}
PRODUCTS = ("dot", "convolution")
COMPUTES = (
    *PRODUCTS,
    *(name for name, row in OPCODES.items() if row.elementwise and name not in ANY_TYPE),
)
# The small floats in which a backend has arithmetic; all others are normalized.
SUPPORTED: dict[str, frozenset[str]] = {
    "cpu": frozenset({"f16"}),
    "gpu": frozenset({"f16", "bf16"}),
    "none": frozenset(),
}


@expander("float-normalization", *COMPUTES, xla="xla/service/float_normalization.cc")
def compute_in_f32(site: ExpansionSite, *, backend: str = "cpu") -> Instruction | None:
    """Surrounds computing instructions of unsupported small floats with converts.

    XLA makes one pass of each type.

    Parameters
    ----------
    backend : a row of SUPPORTED.
    """
    return widened(site.instr, unsupported_by(backend))


@cache
def unsupported_by(backend: str) -> set[ElementType]:
    """The small floats in which a backend has no arithmetic."""
    small = {t for t in ELEMENT_TYPES.values() if t.is_floating and t.bits <= 16}
    return {t for t in small if t.name not in SUPPORTED[backend]}


def widened(instr: Instruction, unsupported: set[ElementType]) -> Instruction | None:
    """The instruction in f32; None if its types are all supported.

    A product of small floats that gives integers is rounded to their type in between. It stays as
    it is until `result_caster` has made that explicit.
    """
    types = {o.shape.element_type for o in (instr, *instr.operands)}
    target = instr.shape.element_type
    if not types & unsupported or (instr.opcode in PRODUCTS and target.is_integer):
        return None

    def wide(x: Instruction) -> Instruction:
        return to_type(x, F32) if x.shape.element_type in unsupported else x

    operands = tuple(map(wide, instr.operands))
    if target not in unsupported:
        return instr.with_(operands=operands)
    return to_type(instr.with_(operands=operands, shape=instr.shape.with_type(F32)), target)
