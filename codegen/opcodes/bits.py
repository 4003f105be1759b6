"""Numbers as their bits, and bits as numbers of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.types import load
from codegen.expressions import (
    Cast,
    Expr,
    Group,
    Op,
    apply,
    binary,
    indexed,
    total_of,
)
from hlo.types.element_type import PRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Sum


def reinterpreted(body: Body, value: Expr, source: Shape, target: Shape) -> Expr:
    """The bits of a value under another element type of the same width."""
    kinds = (source.element_type, target.element_type)
    if kinds[0] is kinds[1]:
        return value
    return from_bits(body, bits_of(body, value, kinds[0]), kinds[1])


def part_of(body: Body, value: Expr, source: ElementType, target: ElementType, part: Sum) -> Expr:
    """Some bits of a value as one of a narrower type; part 0 is the lowest ones."""
    word = body.let("u64", "word", bits_of(body, value, source))
    return from_bits(body, word >> Group(indexed(part * target.bits)), target)


def joined_parts(
    body: Body, values: Sequence[Expr], source: ElementType, target: ElementType
) -> Expr:
    """The bits of several values, the lowest first, as one value of a wider type."""
    part_bits = [bits_of(body, value, source) for value in values]
    words = [Group(Cast("u64", bits) << k * source.bits) for k, bits in enumerate(part_bits)]
    return from_bits(body, total_of(words, "|"), target)


def bits_of(body: Body, value: Expr, kind: ElementType) -> Expr:
    """The bits of a value of at most 64 bits, as an unsigned integer."""
    stored = body.stored(kind, value)
    if kind.is_complex:
        value_bits = body.variable(kind.name, "bits", stored)
        taken = body.variable("u64", "word")
        body.call(BUILTINS["memcpy"], Op("&", (taken,)), Op("&", (value_bits,)), 8)
        return taken
    if kind.name in ("f32", "f64"):
        return apply(FUNCTIONS["bits", kind], stored)
    return Cast(f"u{8 * kind.bytes}", Group(stored))


def from_bits(body: Body, bits: Expr, kind: ElementType) -> Expr:
    """The value whose bits are the low ones of an unsigned integer."""
    word = f"u{8 * kind.bytes}"
    if kind.is_complex:
        whole = body.variable("u64", "word", bits)
        taken = body.variable(kind.name, "value")
        body.call(BUILTINS["memcpy"], Op("&", (taken,)), Op("&", (whole,)), 8)
        return taken
    if kind.name in ("f32", "f64"):
        return apply(FUNCTIONS["from_bits", kind], Cast(word, Group(bits)))
    if kind is PRED:
        return binary("!=", Cast(word, Group(bits)), 0)
    low = Group(bits) & ((1 << kind.bits) - 1) if kind.bits < 8 else Group(Group(bits))
    return load(kind, Cast(kind.name, low))
