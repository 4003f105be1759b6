"""The table of ATen operations: each is a function that makes HLO of its arguments.

    @aten("add.Tensor", "add.Scalar")
    def add(out, x, y, *, alpha=1):
        return to_shape(out, x) + to_shape(out, y) * alpha

`out` is the shape of the result as torch has it, and None for several results. Arguments are
instructions for tensors, and else what torch gives: numbers, lists, None. Inside a rule, operators
of instructions make instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from hlo.instruction import Computation, Instruction
from hlo.types.element_type import BF16, C64, C128, F16, F32, F64, PRED, S64, ElementType
from hlo.types.limits import highest_of, lowest_of
from hlo.types.shape import Shape, array
from optimizer.expanders.parts import number, spread, to_dims, to_type
from optimizer.rewriting.make import make, splat

Number = bool | int | float | complex
Value = Instruction | Number
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def aten(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule for operations of ATen."""

    def enter(rule: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise KeyError(f"{name} has two rules")
            RULES[name] = rule
        return rule

    return enter


class Unsupported(Exception):  # noqa: N818 - a state of affairs, which is reported
    """An operation, or a form of it, that the table does not have; the text says why."""


def converted(x: Instruction, kind: ElementType) -> Instruction:
    """The same numbers in another element type; complex ones lose their imaginary part."""
    if x.shape.element_type.is_complex and not kind.is_complex:
        x = make("real", x)
    if kind.is_complex and not x.shape.element_type.is_complex:
        real = to_type(x, kind.real)
        return make("complex", real, splat(0, real.shape))
    return to_type(x, kind)


def to_shape(out: Shape, x: Value) -> Instruction:
    """A value in a shape: converted, and broadcast as torch and NumPy do."""
    if not isinstance(x, Instruction):
        return splat(x, out)
    return broadcast(converted(x, out.element_type), out.dims)


def broadcast(x: Instruction, dims: Sequence[int]) -> Instruction:
    """An array repeated along dimensions of size 1, and new ones in front."""
    dims = tuple(dims)
    if x.shape.dims == dims:
        return x
    first = len(dims) - x.shape.rank
    kept = [k for k, n in enumerate(x.shape.dims) if n == dims[first + k]]
    return spread(to_dims(x, [x.shape.dims[k] for k in kept]), dims, [first + k for k in kept])


def common(*values: Value) -> ElementType:
    """The element type in which torch computes with several values.

    Arrays decide before scalars of torch, and these before Python's numbers, but for the kind: a
    whole number and 0.5 meet in f32.

    References
    ----------
    `torch.result_type`
    """
    arrays = [v.shape for v in values if isinstance(v, Instruction)]
    ranks = (
        [s.element_type for s in arrays if s.rank],
        [s.element_type for s in arrays if not s.rank],
    )
    numbers = [_of_number(v) for v in values if not isinstance(v, Instruction)]
    found: ElementType | None = None
    for kinds in (*ranks, numbers):
        for kind in kinds if found is None else [k for k in kinds if _order(k) > _order(found)]:
            found = kind if found is None else _wider(found, kind)
    assert found is not None
    return found


def _order(kind: ElementType) -> int:
    if kind is PRED:
        return 0
    return 1 if kind.is_integer else 2 if kind.is_floating else 3


def _of_number(value: Number) -> ElementType:
    if isinstance(value, bool):
        return PRED
    return S64 if isinstance(value, int) else F32 if isinstance(value, float) else C64


def _wider(x: ElementType, y: ElementType) -> ElementType:
    if _order(x) != _order(y):
        low, high = sorted((x, y), key=_order)
        return C128 if high.is_complex and low is F64 else high
    if {x, y} == {F16, BF16}:
        return F32
    if x.bits == y.bits and x is not y:  # u8 and s8
        return next(k for k in (x, y) if k.kind == "signed")
    return x if x.bits >= y.bits else y


def floats_of(kind: ElementType) -> ElementType:
    """The type in which torch computes with floats: f32 where theirs is smaller, or integers."""
    if kind.is_complex or (kind.is_floating and kind.bits >= 32):
        return kind
    return F32


def at(axis: int, rank: int) -> int:
    """An axis that may be counted from the end."""
    return axis + max(rank, 1) if axis < 0 else axis


def axes_of(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes in order; all of them for None and for an empty list."""
    if isinstance(axes, int):
        axes = [axes]
    return tuple(sorted({at(a, rank) for a in axes})) if axes and rank else tuple(range(rank))


@cache
def binary(opcode: str, kind: ElementType) -> Computation:
    """The computation of one opcode on two scalars."""
    x, y = (make("parameter", shape=array(kind), number=k) for k in (0, 1))
    root = make(opcode, x, y)
    return Computation(opcode, (x, y, root), root)


def least(kind: ElementType) -> Instruction:
    """A scalar that is no greater than any other."""
    return number(lowest_of(kind), kind)


def greatest(kind: ElementType) -> Instruction:
    """A scalar that is no less than any other."""
    return number(highest_of(kind), kind)
