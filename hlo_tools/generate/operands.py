"""For each opcode: which operands and attributes give a result of a wanted shape.

This is shape inference backwards, and as it has many answers, a random one. It serves for left
sides of rules as well as for whole modules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.build import Builder
from hlo.opcode import OPCODES
from hlo.table import OpTable
from hlo.types.element_type import C64, C128, F32, F64, PRED, S32, ElementType
from hlo.types.literal import literal
from hlo.types.shape import Shape, array, tuple_of
from hlo.types.values import PaddingDim, SliceDim
from hlo_tools.generate.random_shapes import SIZES, TYPES, Dims, Types, random_shape
from interpreter.arithmetic import MEANINGS

if TYPE_CHECKING:
    from random import Random

    from hlo.instruction import Computation
    from hlo.names import NameSupply

# Opcodes that mean something for some kinds of numbers only.
ARITHMETIC = frozenset(opcode for meanings in MEANINGS.values() for opcode in meanings)


class UnfitError(Exception):
    """The opcode can't have a result of the wanted shape."""


@dataclass
class Wanted:
    """The needs of an instruction.

    Attributes
    ----------
    operands : shapes of the operands.
    attrs : fields of the attribute class.
    called : the computations of scalars that it calls: opcodes for binary operations, directions
        such as "LT" for comparisons.
    """

    operands: list[Shape]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    called: tuple[str, ...] = ()


# (random, shape, given parts) -> all parts of the instruction. Given are attributes, under
# "operands" their number, under "types" the element types that operands may have, and under
# "orders" the types of comparisons.
Generate = Callable[["Random", Shape, dict[str, Any]], Wanted]
operands_for: OpTable[Generate] = OpTable("operands_for")


def need(condition: bool) -> None:
    """Give up unless a condition holds."""
    if not condition:
        raise UnfitError


def elementwise(opcode: str) -> Generate:
    """Operands of the result's shape, or with other element types where the opcode says so."""

    def generate(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
        need(shape.is_array)
        arity = OPCODES[opcode].arity or 1
        kinds = ELEMENTWISE_OPERANDS.get(opcode)
        types = (
            kinds(random, shape.element_type, wishes.get("types", TYPES))
            if kinds
            else [shape.element_type] * arity
        )
        need(opcode not in ARITHMETIC or opcode in MEANINGS[types[0].kind])
        return Wanted([shape.with_type(t) for t in types])

    return generate


def _compared(random: Random, result: ElementType, types: Types) -> list[ElementType]:
    need(result is PRED)
    return [random.choice(types)] * 2


def _is_finite(random: Random, result: ElementType, types: Types) -> list[ElementType]:
    floats = [t for t in types if t.is_floating]
    need(result is PRED and bool(floats))
    return [random.choice(floats)]


def _parts(_random: Random, result: ElementType, _types: Types) -> list[ElementType]:
    need(result in (F32, F64))
    return [C64 if result is F32 else C128]


def _magnitude(random: Random, result: ElementType, _types: Types) -> list[ElementType]:
    wider = {F32: C64, F64: C128}.get(result, result)
    need(not result.is_complex)
    return [random.choice((result, result, wider))]


def _from_parts(_random: Random, result: ElementType, _types: Types) -> list[ElementType]:
    need(result.is_complex)
    return [result.real] * 2


ELEMENTWISE_OPERANDS: dict[str, Callable[[Random, ElementType, Types], list[ElementType]]] = {
    "compare": _compared,
    "is-finite": _is_finite,
    "real": _parts,
    "imag": _parts,
    "abs": _magnitude,
    "complex": _from_parts,
    "select": lambda _random, t, _types: [PRED, t, t],
    "convert": lambda random, t, types: [random.choice((t, *types))],
}
for _opcode, _row in OPCODES.items():
    if _row.elementwise and _opcode not in ("compare", "reduce-precision", "stochastic-convert"):
        operands_for.define(_opcode, elementwise(_opcode))
operands_for.define("copy", lambda _random, shape, _given: Wanted([shape]))


@operands_for("bitcast-convert")
def _bitcast_convert(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """From a type of as many bits, or of fewer ones with a dimension more."""
    wanted = shape.element_type
    types: Types = wishes.get("types", TYPES)
    alike = [t for t in types if t.bits == wanted.bits and PRED not in (t, wanted)]
    narrower = [t for t in types if t.bits < wanted.bits and PRED not in (t, wanted)]
    need(shape.is_array and bool(alike) and not wanted.is_complex)
    if narrower and random.random() < 0.3:
        chosen = random.choice(narrower)
        need(not chosen.is_complex)
        parts = (*shape.dims, wanted.bits // chosen.bits)
        return Wanted([shape.with_type(chosen).with_dims(parts)])
    chosen = random.choice(alike)
    need(not chosen.is_complex)
    return Wanted([shape.with_type(chosen)])


@operands_for("get-dimension-size")
def _get_dimension_size(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """Of an array with a size that is known at run time, along that dimension or another."""
    need(shape == array(S32))
    measured = random_shape(random, wishes.get("types", TYPES))
    need(measured.rank > 0)
    bounded = random.randrange(measured.rank)
    dynamic = tuple(d == bounded for d in range(measured.rank))
    along = random.randrange(measured.rank)
    return Wanted([measured.with_dims(measured.dims, dynamic)], {"dimensions": (along,)})


@operands_for("compare")
def _compare(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """Two operands of any type; complex ones have no order."""
    wanted = elementwise("compare")(random, shape, wishes)
    ordered = () if wanted.operands[0].element_type.is_complex else ("GE", "GT", "LE", "LT")
    direction = random.choice(("EQ", "NE", *ordered))
    orders: tuple[str, ...] = wishes.get("orders", ("",))
    total = len(orders) > 1 and wanted.operands[0].element_type.is_floating
    order = random.choice(orders) if total else ""
    return Wanted(wanted.operands, {"direction": direction, "type": order})


@operands_for("reduce-precision")
def _reduce_precision(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Some smaller format, or the format of the type itself."""
    exponent, mantissa = random.choice(((8, 7), (5, 10), (8, 23), (5, 2), (11, 52)))
    return Wanted([shape], {"exponent_bits": exponent, "mantissa_bits": mantissa})


@operands_for("tuple")
def _tuple(_random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    need(shape.is_tuple)
    return Wanted(list(shape.elements))


@operands_for("get-tuple-element")
def _get_tuple_element(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """From anywhere in a tuple of up to three."""
    types = wishes.get("types", TYPES)
    others = (shape, random_shape(random, types))
    around = [random.choice(others) for _ in range(random.randint(0, 2))]
    index = random.randint(0, len(around))
    return Wanted([tuple_of(*around[:index], shape, *around[index:])], {"index": index})


@operands_for("iota")
def _iota(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Along any dimension."""
    need(shape.rank > 0 and shape.element_type is not PRED)
    return Wanted([], {"iota_dimension": random.randrange(shape.rank)})


@operands_for("broadcast")
def _broadcast(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """From some of the result's dimensions."""
    dims = wishes.get("dimensions")
    if dims is None:
        dims = tuple(d for d in range(shape.rank) if random.random() < 0.75)
        # Any order is allowed, and few programs have another than this one.
        dims = dims if random.random() < 0.8 else tuple(random.sample(dims, len(dims)))
    need(all(d < shape.rank for d in dims))
    return Wanted([shape.with_dims(tuple(shape.dims[d] for d in dims))], {"dimensions": dims})


@operands_for("transpose")
def _transpose(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    moved = wishes.get("dimensions") or tuple(random.sample(range(shape.rank), shape.rank))
    need(len(moved) == shape.rank)
    dims = [0] * shape.rank
    for i, d in enumerate(moved):
        dims[d] = shape.dims[i]
    return Wanted([shape.with_dims(tuple(dims))], {"dimensions": moved})


@operands_for("reshape")
def _reshape(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """From the same dimensions, or with ones put in or taken out, or neighbours joined or split."""
    dims = list(shape.dims)
    for _ in range(random.randint(0, 3)):
        position = random.randint(0, len(dims))
        change = random.randrange(3)
        if change == 0:
            dims.insert(position, 1)
        elif change == 1 and position + 1 < len(dims):
            dims[position : position + 2] = [dims[position] * dims[position + 1]]
        elif position < len(dims) and dims[position] in (1, 4):
            dims[position : position + 1] = [] if dims[position] == 1 else [2, 2]
    return Wanted([shape.with_dims(tuple(dims))])


@operands_for("reverse")
def _reverse(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Any dimensions flipped."""
    flipped = tuple(d for d in range(shape.rank) if random.random() < 0.5)
    return Wanted([shape], {"dimensions": flipped})


@operands_for("slice")
def _slice(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of a larger operand, with strides; often of all of it in some dimensions."""
    ranges: list[SliceDim] = []
    dims: list[int] = []
    for size in shape.dims:
        start, stride = (random.choice((0, 0, 1, 2)), random.choice((1, 1, 2, 3)))
        limit = start + max(0, (size - 1) * stride + 1)
        ranges.append(SliceDim(start, limit, stride))
        dims.append(limit + random.choice((0, 0, 1, 2)))
    return Wanted([shape.with_dims(tuple(dims))], {"slice": tuple(ranges)})


@operands_for("pad")
def _pad(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Around, and between the elements of, an operand; negative padding too."""
    need(shape.rank > 0)
    padding: list[PaddingDim] = []
    dims: list[int] = []
    for size in shape.dims:
        interior = random.choice((0, 0, 0, 1))
        inner = random.randint(0, size + 1)
        spread = inner + max(inner - 1, 0) * interior
        low = random.randint(min(0, size - spread), max(0, size - spread))
        padding.append(PaddingDim(low, size - spread - low, interior))
        dims.append(inner)
    operands = [shape.with_dims(tuple(dims)), shape.with_dims(())]
    return Wanted(operands, {"padding": tuple(padding)})


@operands_for("concatenate")
def _concatenate(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """Of pieces of some dimension; a piece may be empty."""
    need(shape.rank > 0)
    (along,) = wishes.get("dimensions") or (random.randrange(shape.rank),)
    need(along < shape.rank)
    pieces: list[int] = []
    left = shape.dims[along]
    count = wishes.get("operands") or random.randint(1, 3)
    for _ in range(count - 1):
        pieces.append(random.randint(0, left))
        left -= pieces[-1]
    sizes = [*pieces, left]
    parts = [shape.with_dims((*shape.dims[:along], n, *shape.dims[along + 1 :])) for n in sizes]
    return Wanted(parts, {"dimensions": (along,)})


@operands_for("dynamic-slice")
def _dynamic_slice(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of a larger operand."""
    larger = tuple(n + random.choice((0, 0, 1, 2)) for n in shape.dims)
    starts = [array(S32)] * shape.rank
    return Wanted([shape.with_dims(larger), *starts], {"dynamic_slice_sizes": shape.dims})


@operands_for("dynamic-update-slice")
def _dynamic_update_slice(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """With an update that is no larger."""
    update = tuple(random.choice((n, random.randint(0, n))) for n in shape.dims)
    return Wanted([shape, shape.with_dims(update), *[array(S32)] * shape.rank])


@operands_for("dot")
def _dot(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Batch dimensions first, then those of the left side, then those of the right."""
    need(shape.element_type.kind != "pred")
    batch = shape.dims[: random.randint(0, min(2, shape.rank))]
    free = random.randint(len(batch), shape.rank)
    summed = tuple(random.choice(SIZES) for _ in range(random.choice((0, 1, 1, 1, 2))))
    attrs: dict[str, Any] = {}
    operands: list[Shape] = []
    for side, free_dims in (("lhs", shape.dims[len(batch) : free]), ("rhs", shape.dims[free:])):
        dims, batch_dims, contracting = _interleaved(random, free_dims, batch, summed)
        operands.append(shape.with_dims(dims))
        attrs[f"{side}_batch_dims"], attrs[f"{side}_contracting_dims"] = batch_dims, contracting
    return Wanted(operands, attrs)


def _interleaved(random: Random, free: Dims, batch: Dims, summed: Dims) -> tuple[Dims, Dims, Dims]:
    """The dimensions of one side of a dot, and where batch and contracted ones are among them.

    Half the time batch dimensions come first and contracted ones after them, as most have it.
    """
    size = len(free) + len(batch) + len(summed)
    places = random.sample(range(size), size) if random.random() < 0.5 else list(range(size))
    batch_dims = tuple(places[: len(batch)])
    contracting = tuple(places[len(batch) : len(batch) + len(summed)])
    sizes = dict(zip((*batch_dims, *contracting), (*batch, *summed), strict=True))
    rest = iter(free)
    return (
        tuple(sizes[d] if d in sizes else next(rest) for d in range(size)),
        batch_dims,
        contracting,
    )


@operands_for("reduce")
def _reduce(random: Random, shape: Shape, wishes: dict[str, Any]) -> Wanted:
    """Over dimensions put in anywhere."""
    dims: list[int] = list(shape.dims)
    folded = wishes.get("dimensions")
    if folded is None:
        rank = shape.rank + random.randint(0, 2)
        folded = tuple(sorted(random.sample(range(rank), rank - shape.rank)))
    for d in sorted(folded):
        need(d <= len(dims))
        dims.insert(d, random.choice(SIZES))
    kind = shape.element_type.kind
    reducers = ("and", "or") if kind == "pred" else ("add", "maximum", "minimum", "multiply")
    reducer = random.choice(("add",) if kind == "complex" else reducers)
    operands = [shape.with_dims(tuple(dims)), shape.with_dims(())]
    return Wanted(operands, {"dimensions": folded}, (reducer,))


def scalar_computation(kind: str, element_type: ElementType, names: NameSupply) -> Computation:
    """A computation of two scalars: an operation, or a comparison in total order.

    The total order tells a NaN with a sign from one without, and no two processors agree on the
    sign of a NaN that was computed. So a comparison makes all NaNs one first, as those of JAX do.
    """
    builder = Builder(names.unique(kind.lower()), names)
    x, y = (builder.parameter(array(element_type)) for _ in range(2))
    if not kind.isupper():
        builder.add(kind, x, y)
    elif element_type.is_floating:
        nan = builder.constant(literal(np.nan, array(element_type)))
        one, other = (
            builder.add("select", builder.add("compare", v, v, direction="NE"), nan, v)
            for v in (x, y)
        )
        builder.add("compare", one, other, direction=kind, type="TOTALORDER")
    else:
        builder.add("compare", x, y, direction=kind)
    return builder.build()
