"""Instructions that call computations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.build import Builder
from hlo.types.element_type import S32
from hlo.types.shape import array, tuple_of
from tests.divisible.maker import Maker, makes

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@makes("call", "conditional")
def _called(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(), m.dims()
    branches = [m.by(by, kind) for by in ("add", "subtract", "maximum")]
    made: list[Computation] = []
    for branch in branches:
        inner = Builder(m.b.names.unique("branch"), m.b.names)
        x = inner.parameter(tuple_of(array(kind, dims), array(kind, dims)))
        each = (inner.add("get-tuple-element", x, index=n) for n in range(2))
        made.append(inner.build(inner.add(branch.root.opcode, *each)))
    both = m.b.add("tuple", m.given(kind, *dims), m.given(kind, *dims))
    if opcode == "call":
        return m.b.add(opcode, both, called=made[:1])
    return m.b.add(opcode, m.given(S32), both, both, both, called=made)


@makes("while")
def _loop(m: Maker, opcode: str) -> Instruction:
    """Adds an array, which does not change, to another one, which is transposed each time."""
    kind, n = m.kind(), m.size()
    square = array(kind, (n, n))
    shape = tuple_of(array(S32), square, square)
    ends = Builder(m.b.names.unique("condition"), m.b.names)
    counter = ends.add("get-tuple-element", ends.parameter(shape), index=0)
    ends.add("compare", counter, ends.number(m.random.randint(0, 3), counter), direction="LT")
    body = Builder(m.b.names.unique("body"), m.b.names)
    state = body.parameter(shape)
    counter, fixed, moved = (body.add("get-tuple-element", state, index=i) for i in range(3))
    following = body.add("add", body.add("transpose", moved, dimensions=(1, 0)), fixed)
    body.add("tuple", body.add("add", counter, body.number(1, counter)), fixed, following)
    start = m.b.add("tuple", m.number(0, S32), m.given(kind, n, n), m.given(kind, n, n))
    return m.b.add(opcode, start, called=[ends.build(), body.build()])
