"""Rules whose left side puts numbers into another type, or reads their bits as another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Iota
from optimizer.number_guards import conversion_is_exact, counts_exactly, keeps_all
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import is_integer, same_shape, same_type
from optimizer.rewriting.make import fold, make
from optimizer.rewriting.pattern import (
    a,
    add,
    and_,
    b,
    bitcast_convert,
    c,
    convert,
    iota,
    multiply,
    one_of,
    or_,
    p,
    q,
    reduce_precision,
    subtract,
    x,
    xor,
    y,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# The low bits of their results depend on the low bits of their operands alone.
wrapping = one_of(add, subtract, multiply, and_, or_, xor)


@guard
def passes_through(x: Instruction, a: Instruction, b: Instruction) -> bool:
    """Converting x to a's type and then to b's is converting to b's at once.

    Nothing may be lost on the way. From integers to integers numbers wrap around, but from floats
    they are clamped: s8 to f32 to u8 makes 0 of -1, s8 to u8 makes 255.
    """
    source, middle, target = (instr.shape.element_type for instr in (x, a, b))
    if source.is_complex or middle.is_complex or target.is_complex:
        return False
    if source.is_integer and middle.is_integer and target.is_integer:
        return keeps_all(source, middle) or middle.bits >= target.bits
    clamps = source.is_integer and middle.is_floating and target.is_integer
    return keeps_all(source, middle) and (not clamps or keeps_all(source, target))


@guard
def same_width(*instrs: Instruction) -> bool:
    """Element types of the same number of bits, other than pred."""
    types = [instr.shape.element_type for instr in instrs]
    return len({t.bits for t in types}) == 1 and all(t.kind != "pred" for t in types)


@guard
def rounds_nothing(x: Instruction, p: int, q: int) -> bool:
    """A precision that is at least that of the type."""
    known = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
    exponent_bits, mantissa_bits = known.get(x.shape.element_type.name, (99, 99))
    return p >= exponent_bits and q >= mantissa_bits


@guard
def is_narrowed_from(a: Instruction, root: Instruction) -> bool:
    """Integers that lose their high bits by a conversion."""
    wide, narrow = a.shape.element_type, root.shape.element_type
    return wide.is_integer and narrow.is_integer and wide.bits >= narrow.bits


@rule(
    convert(wrapping(convert(x), convert(y)).as_(a)).as_(b),
    where=same_type(x, b) & same_type(y, b) & is_narrowed_from(a, b) & is_integer(x),
    xla="HandleConvert: convert(op(convert(A), convert(B))) => op(A, B)",
)
def narrow_arithmetic(x: Instruction, y: Instruction, a: Instruction) -> Instruction:
    """Numbers that are widened only to be narrowed again may be computed in the narrow type."""
    return make(a.opcode, x, y)


@rule(
    convert(wrapping(convert(x), c).as_(a)).as_(b),
    where=same_type(x, b) & is_narrowed_from(a, b) & is_integer(x),
    xla="HandleConvert: convert(op(convert(A), Const)) => op(A, Const)",
)
def narrow_arithmetic_with_constant(
    x: Instruction, c: Instruction, a: Instruction, b: Instruction
) -> Instruction:
    """Numbers that are widened only to be narrowed again may be computed in the narrow type."""
    small = fold("convert", b.shape, c)
    return make(a.opcode, x, small) if a.operands[1] is c else make(a.opcode, small, x)


@rule(convert(iota().as_(x)), where=is_integer(x), xla="HandleConvert: convert(iota) => iota")
def convert_of_iota(x: Instruction, root: Instruction) -> Instruction | None:
    """Count in the other type at once, where both count without rounding or wrapping around."""
    along = Iota.of(x).iota_dimension
    counting = make("iota", shape=root.shape, iota_dimension=along)
    return counting if counts_exactly(x) and counts_exactly(counting) else None


# fmt: off
RULES = (
    Rule(convert(x).as_(a), x, where=same_type(x, a), xla="convert(A) to its own type => A"),
    Rule(convert(convert(x).as_(a)).as_(b), x, where=same_type(x, b) & conversion_is_exact(x, a),
         xla="convert(convert(A, $TYPE1), $TYPE2) => A", name="conversion there and back"),
    Rule(convert(convert(x).as_(a)).as_(b), convert(x), where=passes_through(x, a, b),
         name="conversion by way of another type"),
    convert_of_iota,
    narrow_arithmetic,
    narrow_arithmetic_with_constant,
    Rule(bitcast_convert(x).as_(a), x, where=same_shape(x, a),
         xla="bitcast-convert(A) to its own type => A"),
    Rule(bitcast_convert(bitcast_convert(x)).as_(a), x, where=same_shape(x, a),
         xla="bitcast-convert there and back => A"),
    Rule(bitcast_convert(bitcast_convert(x).as_(b)).as_(a), bitcast_convert(x),
         where=same_width(x, b, a), xla="bitcast-convert(bitcast-convert(A)) => bitcast-convert(A)",
         name="bitcast-convert by way of another type"),
    Rule(reduce_precision(x, p, q), x, where=rounds_nothing(x, p, q),
         xla="reduce-precision to the type's own format => A"),
    Rule(reduce_precision(reduce_precision(x, p, q).as_(a), p, q), a,
         xla="reduce-precision twice => once"),
)
# fmt: on
