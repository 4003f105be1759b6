"""Computes in f32 where a backend cannot compute in a small float type.

bf16 add(x, y)   =>   convert(f32 add(convert(x), convert(y)))

Only opcodes that compute: what moves elements, or converts them, takes every type. Small floats
mean just that (see `interpreter.numbers.widths`), so every bit is kept. Sums and products over a
dimension of small floats are computed in f32 as a whole, and rounded once; other called
computations are treated like all others, and round after every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo.monoid import monoid_of
from hlo.opcode import CONVERSIONS, OPCODES, having
from hlo.types.element_type import ELEMENT_TYPES, F32, ElementType
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.expanders.parts import to_type
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

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


@register
@dataclass(frozen=True)
class FloatNormalization:
    """Surrounds computing instructions of unsupported small floats with converts.

    XLA makes one pass of each type.

    Attributes
    ----------
    backend : a row of SUPPORTED.
    """

    name = "float-normalization"
    xla = "xla/service/float_normalization.cc"
    backend: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module that computes in supported types."""
        unsupported = unsupported_by(self.backend)

        def fold_in_f32(site: ExpansionSite) -> Instruction | None:
            return folded_wide(site, unsupported)

        def compute_in_f32(site: ExpansionSite) -> Instruction | None:
            return widened(site.instr, unsupported)

        # What folds apply is known before it is changed.
        module = expand(module, log, dict.fromkeys(having("reduction"), fold_in_f32))
        return expand(module, log, dict.fromkeys(COMPUTES, compute_in_f32))


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


def folded_wide(site: ExpansionSite, unsupported: set[ElementType]) -> Instruction | None:
    """The fold in f32; None if no fold of small floats is computed in a wider type as a whole."""
    instr, element_type = site.instr, site.instr.operands[0].shape.element_type
    monoid = monoid_of(instr.called[0])
    rounds = monoid is not None and element_type.bits < 32 and monoid.rounds(element_type)
    if not rounds or element_type not in unsupported:
        return None
    if any(x.shape.element_type is not element_type for x in (instr, *instr.operands)):
        return None
    wide = instr.with_(
        operands=tuple(to_type(o, F32) for o in instr.operands),
        shape=instr.shape.with_type(F32),
        called=(site.binary(instr.called[0].root.opcode, F32),),
    )
    return to_type(wide, element_type)
