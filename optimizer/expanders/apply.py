"""Computations of scalars, applied to whole arrays instruction by instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import GIVEN
from hlo.types.shape import array
from optimizer.expanders.parts import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction


def is_elementwise(body: Computation) -> bool:
    """Whether a computation of scalars means something for arrays too."""
    return all(
        i.row.elementwise or i.opcode in GIVEN or (i.opcode == "tuple" and i is body.root)
        for i in body.instructions
    )


def applied(body: Computation, operands: Sequence[Instruction]) -> list[Instruction]:
    """The results of an elementwise computation on arrays of the same dimensions."""
    dims = operands[0].shape.dims
    became = dict(zip(body.parameters, operands, strict=True))
    for scalar in body.instructions:
        if scalar in became or scalar.opcode == "tuple":
            continue
        elementwise = scalar.with_(
            operands=tuple([became[o] for o in scalar.operands]),
            control_predecessors=(),
        )
        if scalar.opcode == "constant":
            became[scalar] = spread(elementwise, dims)
        else:
            became[scalar] = elementwise.with_(shape=array(scalar.shape.element_type, dims))
    root = body.root
    return [became[o] for o in (root.operands if root.opcode == "tuple" else (root,))]
