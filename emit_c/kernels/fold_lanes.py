"""Lanes of folds, folded into the first ones: half of the lanes into the other half, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.folds import SUM_OF_FLOATS, all_joined
from codegen.expressions import Load, Name, as_expr
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer
from codegen.statements import For, Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = {"+": "sum", SUM_OF_FLOATS: "sum", "*": "product", "max": "maximum", "min": "minimum",
         "&": "and", "|": "or", "^": "xor"}  # fmt: skip


def folding_lanes(
    name: str, folds: Sequence[tuple[str, str]], lanes: int, left: int = 1, *, is_inline: bool
) -> Function:
    """A function that folds lanes into the first ones: half into the other half, and so on.

    Its statements for one sum of eight lanes:

        #pragma omp simd
        for (s64 k = 0; k < 4; k++) lanes[k] = lanes[k] + lanes[k + 4];
        #pragma omp simd
        for (s64 k = 0; k < 2; k++) lanes[k] = lanes[k] + lanes[k + 2];
        lanes[0] = lanes[0] + lanes[1];

    Parameters
    ----------
    folds : the operation and the type of each array of lanes; one of indices comes after that of
        their extremes.
    left : how many lanes are left, of which `lanes` is a multiple by a power of two.
    """
    names = [f"lanes{k}" if k else "lanes" for k in range(len(folds))]
    steps: list[Statement] = []
    count = lanes
    while count > left:
        count //= 2
        lane = Name("k") if count > 1 else as_expr(0)
        other = Name("k") + count if count > 1 else as_expr(1)
        joins = all_joined(
            [
                (op, Load(Name(n), lane), Load(Name(n), other))
                for (op, _), n in zip(folds, names, strict=True)
            ]
        )
        steps += [For("k", count, joins, simd=True)] if count > 1 else joins
    parameters = (Parameter(Pointer(kind), n) for (_, kind), n in zip(folds, names, strict=True))
    return Function(name, tuple(parameters), tuple(steps), is_inline=is_inline)
