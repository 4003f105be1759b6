"""Numbers in another element type, as the solver's terms."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import BF16, F32, F64, PRED
from hlo_tools.proofs.meanings import (
    FORMATS,
    NEAREST,
    Pair,
    UntranslatedError,
    number,
    parts,
    sort_of,
)
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from hlo.types.element_type import ElementType


def converted(x: Solved, source: ElementType, target: ElementType) -> Solved:
    """A number in another element type, as `interpreter.conversion.converted`.

    A complex number becomes no real one: the verifier refuses that.

    Raises
    ------
    UntranslatedError
        for floats whose format is not IEEE's.
    """
    if source is target:
        return x
    if target.is_complex:
        real, imag = parts(x) if source.is_complex else (x, number(0, source))
        return Pair(*(_converted(part, source.real, target.real) for part in (real, imag)))
    return _converted(x, source, target)


def _converted(x: Solved, source: ElementType, target: ElementType) -> Solved:
    """As `converted`, but for complex numbers."""
    if source is target:
        return x
    for kind in (source, target):
        if kind.is_floating and kind not in FORMATS:
            raise UntranslatedError(f"{kind} is no IEEE format")
    if source is PRED:
        return z3.If(x, number(1, target), number(0, target))
    if source.is_floating:
        return from_float(x, source, target)
    return from_integer(x, source, target)


def from_integer(x: Solved, source: ElementType, target: ElementType) -> Solved:
    """An integer as a float, or wrapped around."""
    if target is PRED:
        return x != 0
    if target.is_floating:
        to_float = z3.fpSignedToFP if source.kind == "signed" else z3.fpUnsignedToFP
        return to_float(NEAREST, x, sort_of(target))
    extend = z3.SignExt if source.kind == "signed" else z3.ZeroExt
    wider = target.bits - source.bits
    return extend(wider, x) if wider > 0 else z3.Extract(target.bits - 1, 0, x)


def from_float(x: Solved, source: ElementType, target: ElementType) -> Solved:
    """A float rounded to another format, or truncated and saturated to integers."""
    if target is PRED:
        return z3.Not(z3.fpIsZero(x))
    if target.is_floating:
        # As XLA's CPU does, by way of f32.
        if (source, target) == (F64, BF16):
            x = z3.fpFPToFP(NEAREST, x, sort_of(F32))
        return z3.fpFPToFP(NEAREST, x, sort_of(target))
    signed = target.kind == "signed"
    low = -(1 << target.bits - 1) if signed else 0
    high = low + (1 << target.bits) - 1
    lowest, highest = (z3.fpRealToFP(NEAREST, z3.RealVal(n), x.sort()) for n in (low, high))
    to_bits = z3.fpToSBV if signed else z3.fpToUBV
    whole = to_bits(z3.RTZ(), x, z3.BitVecSort(target.bits))
    whole = z3.If(z3.fpGEQ(x, highest), number(high, target), whole)
    whole = z3.If(z3.fpLEQ(x, lowest), number(low, target), whole)
    return z3.If(z3.fpIsNaN(x), number(0, target), whole)
