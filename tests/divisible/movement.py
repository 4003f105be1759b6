"""Instructions that compute or move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.element_type import BF16, F32, F64, PRED, S8, S32, U32
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim
from hlo_tools.generate.values import small
from tests.divisible.maker import SIZES, Maker, makes

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from tests.divisible.maker import Dims


@makes("add", "and", "maximum", "multiply", "subtract", "xor", "shift-left")
def _binary(m: Maker, opcode: str) -> Instruction:
    kind = m.kind(S8, S32, U32) if opcode in ("and", "xor", "shift-left") else m.kind()
    dims = m.dims()
    return m.b.add(opcode, m.given(kind, *dims), m.given(kind, *dims))


@makes("negate", "abs", "copy", "not", "reduce-precision", "convert", "bitcast-convert")
def _unary(m: Maker, opcode: str) -> Instruction:
    kind, dims = (S32 if opcode == "not" else m.kind(F32, F64, BF16)), m.dims()
    if opcode == "bitcast-convert":
        wide, narrow = m.kind(F32, U32), m.kind(S8, BF16)
        more = (*dims, wide.bits // narrow.bits)
        if m.chance():
            return m.b.add(opcode, m.given(wide, *dims), shape=array(narrow, more))
        return m.b.add(opcode, m.given(narrow, *more), shape=array(wide, dims))
    attrs: dict[str, Any] = {}
    attrs |= {"exponent_bits": 5, "mantissa_bits": 3} if opcode == "reduce-precision" else {}
    attrs |= {"shape": array(S32, dims)} if opcode == "convert" else {}
    return m.b.add(opcode, m.given(kind, *dims), **attrs)


@makes("select", "clamp", "compare", "map")
def _several(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(S8, S32, F32), m.dims()
    ends = [() if m.chance() else dims] * 2
    x, y = m.given(kind, *dims), m.given(kind, *dims)
    if opcode == "select":
        return m.b.add(opcode, m.given(PRED, *dims), x, y)
    if opcode == "clamp":
        return m.b.add(opcode, m.given(kind, *ends[0]), x, m.given(kind, *ends[1]))
    if opcode == "map":
        attrs: dict[str, Any] = {"dimensions": tuple(range(len(dims)))}
        return m.b.add(opcode, x, y, called=[m.by("subtract", kind)], **attrs)
    return m.b.add(opcode, x, y, direction=m.random.choice(("LT", "GE", "EQ")))


@makes("broadcast")
def _broadcast(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(), m.dims(0, 4)
    kept: list[int] = m.some(range(len(dims)))
    m.random.shuffle(kept)
    operand = m.given(kind, *(dims[d] for d in kept))
    return m.b.add(opcode, operand, shape=array(kind, dims), dimensions=tuple(kept))


@makes("iota")
def _iota(m: Maker, opcode: str) -> Instruction:
    dims = m.dims(1)
    along = m.random.randrange(len(dims))
    return m.b.add(opcode, shape=array(m.kind(), dims), iota_dimension=along)


@makes("constant")
def _constant(m: Maker, _opcode: str) -> Instruction:
    shape = array(m.kind(), m.dims())
    return m.b.constant(literal(small(shape, m.random), shape))


@makes("transpose", "reverse")
def _turned(m: Maker, opcode: str) -> Instruction:
    dims = m.dims(0, 4)
    axes = m.random.sample(range(len(dims)), len(dims))
    chosen = axes if opcode == "transpose" else m.some(axes)
    return m.b.add(opcode, m.given(m.kind(), *dims), dimensions=tuple(chosen))


@makes("reshape")
def _reshape(m: Maker, opcode: str) -> Instruction:
    """Between two ways to join and split some factors, in front of which 1 may be."""
    factors = [m.random.choice((1, 2, 2, 2, 3, 4, 5)) for _ in range(m.random.randint(0, 5))]

    def joined() -> Dims:
        dims = [1] * m.random.randint(0, 1)
        for factor in factors:
            if dims and m.chance():
                dims[-1] *= factor
            else:
                dims.append(factor)
        return tuple(dims)

    kind, before, after = m.kind(), joined(), joined()
    return m.b.add(opcode, m.given(kind, *before), shape=array(kind, after))


@makes("concatenate")
def _concatenate(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(), m.dims(1)
    along = m.random.randrange(len(dims))
    sizes = [m.random.choice((0, *SIZES)) for _ in range(m.random.randint(1, 4))]
    operands = [m.given(kind, *dims[:along], n, *dims[along + 1 :]) for n in sizes]
    if m.chance(0.2):
        operands.append(m.random.choice(operands))
    return m.b.add(opcode, *operands, dimensions=(along,))


@makes("slice")
def _slice(m: Maker, opcode: str) -> Instruction:
    dims, ranges = m.dims(), list[SliceDim]()
    for n in dims:
        limit = n if m.chance() else m.random.randint(0, n)
        start = 0 if m.chance(0.4) else m.random.randint(0, limit)
        ranges.append(SliceDim(start, limit, m.random.choice((1, 1, 2, 3))))
    return m.b.add(opcode, m.given(m.kind(), *dims), slice=tuple(ranges))


@makes("pad")
def _pad(m: Maker, opcode: str) -> Instruction:
    kind, dims, around = m.kind(), m.dims(1), list[PaddingDim]()
    for n in dims:
        interior = m.random.choice((0, 0, 0, 1, 2))
        extent = n + (n - 1) * interior
        low = m.random.choice((0, 0, 1, 3, 8, -1, -2))
        high = m.random.choice((0, 0, 1, 2, 7, -1, -3))
        around.append(PaddingDim(max(low, -extent), max(high, -extent - min(low, 0)), interior))
        if low + high + extent < 0:
            around[-1] = PaddingDim(0, 0, interior)
    return m.b.add(opcode, m.given(kind, *dims), m.given(kind), padding=tuple(around))


@makes("dynamic-slice", "dynamic-update-slice")
def _dynamic_slice(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(), m.dims()
    part = tuple(n if m.chance() else m.random.randint(1, n) for n in dims)
    operand = m.given(kind, *dims)
    update = [m.given(kind, *part)] if opcode == "dynamic-update-slice" else []
    starts = [m.given(S32) for _ in dims]
    attrs: dict[str, Any] = {} if update else {"dynamic_slice_sizes": part}
    return m.b.add(opcode, operand, *update, *starts, **attrs)
