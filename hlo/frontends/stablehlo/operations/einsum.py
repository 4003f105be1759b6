"""Products whose dimensions have letters: `ij,jk->ik`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operations.products import precision_of
from hlo.frontends.stablehlo.operations.reductions import folding
from hlo.frontends.stablehlo.table import given, translates
from hlo.types.element_type import S32
from hlo.types.literal import literal
from hlo.types.shape import array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]

_REST = "..."  # all dimensions of an operand that have no letter
_SIDE = r"([a-zA-Z]*(?:\.{3})?[a-zA-Z]*)"
_CONFIG = re.compile(f"{_SIDE},{_SIDE}->{_SIDE}")


@translates("stablehlo.einsum")
def einsum(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Dimensions of both sides are a batch if the result has them, and else summed over.

    An ellipsis stands for dimensions that one or both sides have, and the result, too.

    Source: `Einsum` in XLA's `xla/hlo/builder/lib/matrix.cc`.
    """
    config = str(given(op, "einsum_config", "config")).replace(" ", "")
    match = _CONFIG.fullmatch(config)
    ranks = [o.shape.rank for o in operands]
    left, right, result = _without_ellipsis(match.groups(), ranks) if match else ("", "", "")
    known = set(result) <= {*left, *right} and len(set(result)) == len(result)
    if not match or not known or [len(left), len(right)] != ranks:
        message = f"`{config}` does not name the dimensions of these operands and this result"
        raise HloError("HLO013", message, op.span)
    with scope.builder:
        one, left = _reduced(scope, operands[0], left, right + result)
        other, right = _reduced(scope, operands[1], right, left + result)
    batch = [x for x in left if x in right and x in result]
    summed = [x for x in left if x in right and x not in result]
    rest = [x for side in (left, right) for x in side if x not in batch and x not in summed]
    kind = op.result_shapes[0].element_type
    order = batch + rest
    sizes = dict(zip(left + right, one.shape.dims + other.shape.dims, strict=True))
    product = scope.add(
        "dot", one, other, operand_precision=precision_of(op),
        shape=array(kind, tuple(sizes[x] for x in order)),
        lhs_batch_dims=tuple(left.index(x) for x in batch),
        rhs_batch_dims=tuple(right.index(x) for x in batch),
        lhs_contracting_dims=tuple(left.index(x) for x in summed),
        rhs_contracting_dims=tuple(right.index(x) for x in summed),
    )  # fmt: skip
    dimensions = tuple(order.index(letter) for letter in result)
    return scope.add("transpose", product, dimensions=dimensions)


def _without_ellipsis(sides: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """The same sides with a sign for each dimension that an ellipsis stands for.

    Where both operands have such dimensions, they are the same ones, counted from the last.
    """
    letters = [
        len(side) - len(_REST) if _REST in side else rank
        for side, rank in zip(sides[:2], ranks, strict=True)
    ]
    counts = [rank - known for rank, known in zip(ranks, letters, strict=True)]
    most = max(0, *counts)
    signs = "".join(chr(ord("\u2460") + k) for k in range(most))
    return [
        side.replace(_REST, signs[most - count :] if count > 0 else "")
        for side, count in zip(sides, (*counts, most), strict=True)
    ]


def _reduced(
    scope: RegionScope, operand: Instruction, letters: str, others: str
) -> tuple[Instruction, str]:
    """An operand of which every dimension has a letter of its own that something else has, too.

    Of a letter that it has twice, the diagonal is taken; a letter that nothing else has is summed.
    """
    dropped: list[int] = []
    for place, letter in enumerate(letters):
        first = letters.index(letter)
        if first < place:
            places = operand.shape.with_type(S32)
            pair = [scope.add("iota", shape=places, iota_dimension=d) for d in (first, place)]
            diagonal = scope.add("compare", *pair, direction="EQ")
            zeros = scope.builder.number(0, operand)
            operand = scope.add("select", diagonal, operand, zeros)
        if first < place or letter not in others:
            dropped.append(place)
    if dropped:
        kind = operand.shape.element_type
        zero = scope.add("constant", literal=literal(0, array(kind)))
        add = folding(scope, "add", kind)
        operand = scope.add("reduce", operand, zero, called=(add,), dimensions=tuple(dropped))
    return operand, "".join(x for d, x in enumerate(letters) if d not in dropped)
