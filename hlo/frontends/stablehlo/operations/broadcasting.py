"""Operations of the dialect CHLO whose operands are repeated to one shape, as NumPy does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operations.movement import broadcast
from hlo.frontends.stablehlo.table import given, integers, translates, translation_of
from hlo.types.literal import literal
from hlo.types.shape import UNBOUNDED, array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.frontends.stablehlo.table import Made
    from hlo.instruction import Instruction

    Operands = list[Instruction]

# By CHLO's name after `broadcast_`, the operation of operands of one shape.
_ALIKE = {
    **{
        name: f"stablehlo.{name}"
        for name in (
            *("add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum"),
            *("multiply", "or", "power", "remainder", "select", "shift_left"),
            *("shift_right_arithmetic", "shift_right_logical", "subtract", "xor"),
        )
    },
    **{name: f"chlo.{name}" for name in ("next_after", "polygamma", "zeta")},
}


@translates(*(f"chlo.broadcast_{name}" for name in _ALIKE))
def broadcasted(scope: RegionScope, op: Operation, operands: Operands) -> Made:
    """An elementwise operation whose operands are repeated first.

    Dimensions are paired from the last one on, unless `broadcast_dimensions` says to which of the
    result's dimensions those of the operand of the lower rank belong.
    """
    written = given(op, "broadcast_dimensions", default=()) or ()
    sizes = _common_sizes(op, [operand.shape.dims for operand in operands], integers(written))
    whole: list[Instruction] = []
    for operand in operands:
        shape = operand.shape.with_dims(sizes)
        rank, own = len(sizes), operand.shape.rank
        lower = written and own < rank
        dimensions = integers(written) if lower else tuple(range(rank - own, rank))
        is_whole = operand.shape.dims == sizes
        asked = replace(op, result_shapes=(shape,))
        whole.append(operand if is_whole else broadcast(scope, asked, operand, dimensions))
    plain = replace(op, name=_ALIKE[op.name.partition("broadcast_")[2]])
    return translation_of(plain)(scope, plain, whole)


def _common_sizes(
    op: Operation, dims: Sequence[tuple[int, ...]], written: tuple[int, ...]
) -> tuple[int, ...]:
    """The sizes to which all operands are repeated."""
    rank = max(map(len, dims))
    sizes = [1] * rank
    for own in dims:
        places = written if written and len(own) < rank else range(rank - len(own), rank)
        for place, size in zip(places, own, strict=True):
            if size not in (1, sizes[place]):
                if sizes[place] != 1 or UNBOUNDED in (size, sizes[place]):
                    message = f"{op.name}: sizes {sizes[place]} and {size} do not go together"
                    raise HloError("HLO013", message, op.span)
                sizes[place] = size
    return tuple(sizes)


@translates("chlo.constant_like")
def constant_like(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A number as an array of the type and the sizes of another one."""
    scalar = array(op.result_shapes[0].element_type)
    number = np.asarray(given(op, "value")).astype(scalar.element_type.dtype)
    constant = scope.add("constant", shape=scalar, literal=literal(number, scalar))
    shape = scalar.with_dims(operands[0].shape.dims)
    return scope.add("broadcast", constant, shape=shape, dimensions=()) if shape.rank else constant
