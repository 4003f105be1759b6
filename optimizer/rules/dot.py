"""Rules whose left side is a dot product."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ZERO_SIGN
from optimizer.dimensions import is_empty, static, without
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import is_complex, same_type
from optimizer.rewriting.pattern import a, broadcast, convert, dot, multiply, reshape, x, y
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dimensions import Dims


@rule(
    dot(x, y).as_(a),
    promise=ZERO_SIGN,
    where=same_type(x, a) & same_type(y, a) & ~is_complex(x) & static,
    xla=(
        "HandleDot, enable_dot_to_multiply_rewrite: dot without contraction => "
        "broadcast(A) * broadcast(B)"
    ),
)
def dot_without_contraction(x: Instruction, y: Instruction, a: Instruction) -> Instruction | None:
    """Each element of the result is one product. Added to 0, as in a dot, -0 would be +0."""
    dims = DotDims.of(a)
    if dims.lhs_contracting_dims or dims.algorithm:
        return None
    batch = len(dims.lhs_batch_dims)
    lhs = _positions(x.shape.rank, dims.lhs_batch_dims, batch)
    rhs = _positions(y.shape.rank, dims.rhs_batch_dims, x.shape.rank)
    return multiply(broadcast(x, lhs, shape=a.shape), broadcast(y, rhs, shape=a.shape))


def _positions(rank: int, batch: Dims, first: int) -> Dims:
    """The result dimension of each dimension of an operand.

    Batch dimensions in front, free ones from first.
    """
    free = without(range(rank), batch)
    return tuple(batch.index(d) if d in batch else first + free.index(d) for d in range(rank))


@rule(
    dot(x, y).as_(a),
    where=static,
    xla="RemoveDegenerateDimensionFromDot: dot with dimensions of size 1 => dot without them",
)
def dot_of_ones(x: Instruction, y: Instruction, a: Instruction) -> Instruction | None:
    """Leave out dimensions of size 1, whatever their role is."""
    lhs, rhs = (tuple(d for d, n in enumerate(o.shape.dims) if n == 1) for o in (x, y))
    if not (lhs or rhs):
        return None
    old = DotDims.of(a)
    names = [f.name for f in fields(old) if f.name.endswith("_dims")]
    moved = {n: _renumbered(getattr(old, n), lhs if n.startswith("lhs") else rhs) for n in names}
    ones = tuple(d for d, n in enumerate(a.shape.dims) if n == 1)
    smaller = a.with_(
        operands=(_squeezed(x, lhs), _squeezed(y, rhs)),
        shape=a.shape.with_dims(without(a.shape.dims, ones)),
        attrs=replace(old, **moved),
    )
    return reshape(smaller, shape=a.shape) if ones else smaller


def _renumbered(dims: Dims, gone: Dims) -> Dims:
    return tuple(d - sum(1 for e in gone if e < d) for d in dims if d not in gone)


def _squeezed(x: Instruction, gone: Dims) -> Instruction:
    shape = x.shape.with_dims(without(x.shape.dims, gone))
    return reshape(x, shape=shape) if gone else x


@guard
def widens_bytes(x: Instruction, y: Instruction, a: Instruction) -> bool:
    """Sums in s32 of products of s8 or u8, four of which some processors add at once."""
    bytes_ = all(o.shape.element_type.name in ("s8", "u8") for o in (x, y))
    return bytes_ and all(o.shape.element_type.name == "s32" for o in (a, *a.operands))


@rule(
    dot(convert(x), convert(y)).as_(a),
    where=widens_bytes(x, y, a),
    xla=(
        "OperandUpcaster, the other way round: dot of widened bytes => dot of bytes, "
        "which widens them itself"
    ),
)
def dot_of_widened_bytes(x: Instruction, y: Instruction, a: Instruction) -> Instruction:
    """JAX widens before it multiplies s8 by u8; operands may be narrower than the result."""
    return a.with_(operands=(x, y))


# fmt: off
RULES = (
    Rule(dot(x, y), 0, where=(is_empty(x) | is_empty(y)) & static, xla="dot of nothing => 0"),
    dot_without_contraction,
    dot_of_ones,
    dot_of_widened_bytes,
)
# fmt: on
