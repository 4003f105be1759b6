"""One rule for all elementwise operations: compute before repeating, not after.

    multiply(broadcast(x), broadcast(2))  =>  broadcast(multiply(x, 2))

On scalars the constant folder can then compute what is constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Broadcast
from hlo.opcode import OPCODES
from optimizer.dimensions import static
from optimizer.rewriting.application import Rest
from optimizer.rewriting.pattern import Constructor, broadcast
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dimensions import Dims, Operands

ELEMENTWISE = Constructor(tuple(name for name, row in OPCODES.items() if row.elementwise))


@rule(
    ELEMENTWISE(Rest("xs", "broadcast")),
    where=static,
    xla=(
        "TryToSinkBroadcastAfterOpWithUniqueNonScalarOperand: op(broadcast(A), "
        "broadcast(B)) => broadcast(op(A, B))"
    ),
)
def operation_on_broadcasts(xs: Operands, root: Instruction) -> Instruction | None:
    """All operands repeat something along the same dimensions, or a scalar along all of them."""
    # Of one dimension each, or none: the longest has the result's size.
    dims = max((_dims(x) for x in xs), key=len)
    if any(_dims(x) not in (dims, ()) for x in xs) or root.shape.rank == len(dims):
        return None
    operands = [x.operands[0] for x in xs]
    small = next(x for x in operands if x.shape.rank == len(dims)).shape
    spread = [x if x.shape.rank == len(dims) else _spread(x, small.dims) for x in operands]
    shape = root.shape.with_dims(small.dims)
    return broadcast(root.with_(operands=tuple(spread), shape=shape), dims, shape=root.shape)


def _dims(instr: Instruction) -> Dims:
    return Broadcast.of(instr).dimensions


def _spread(scalar: Instruction, dims: Dims) -> Instruction:
    return broadcast(scalar, (), shape=scalar.shape.with_dims(dims))


RULES = (operation_on_broadcasts,)
