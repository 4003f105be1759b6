"""Reductions over dimensions of run-time size.

What does not count must leave the others alone. For a sum that is 0; but not every computation has
such a number, and none is needed: with each element goes a pred, whether it counts, and

    f'((a, true), (x, true)) = (f(a, x), true)
    f'((a, true), (x, false)) = (a, true)        f'((a, false), (x, true)) = (x, true)

is as associative as f, and leaves alone what it shall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.instruction import Computation
from hlo.names import NameSupply
from hlo.sharded import with_sharding
from hlo.types.element_type import PRED
from hlo.types.shape import array, tuple_of
from hlo.walk import rebuild
from optimizer.dynamic_padder.rules import common, rule, several
from optimizer.dynamic_padder.values import Padded, Tree, static
from optimizer.expanders.op_expander import element, elements
from optimizer.expanders.parts import number
from optimizer.partitioning.wishes import leaves_of
from optimizer.reducers import identity_of
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from optimizer.dynamic_padder.rules import Sizes


@rule("reduce")
def reduce(instr: Instruction, *operands: Padded) -> Tree:
    """A reduce over the elements that count only."""
    attrs = a.Dimensions.of(instr)
    sizes = common(operands[: len(operands) // 2])
    dims = [d for d in range(operands[0].value.shape.rank) if d not in attrs.dimensions]
    left = {dims.index(d): s for d, s in sizes.items() if d in dims}
    folded = {d: s for d, s in sizes.items() if d in attrs.dimensions}
    return fold(instr, [o.value for o in operands], folded, left)


def fold(instr: Instruction, values: Sequence[Instruction], folded: Sizes, left: Sizes) -> Tree:
    """A reduce or reduce-window of arrays of which not all elements count.

    Parameters
    ----------
    values : its operands.
    folded : sizes of the arrays in dimensions along which they are folded.
    left : sizes of the results.
    """
    if not folded:
        return several(instr, values, left)
    count = len(values) // 2
    kind = values[0].shape.element_type
    neutral = identity_of(instr.called[0], kind) if count == 1 else None
    if neutral is not None:
        masked = Padded(values[0], folded).masked(number(neutral, kind))
        return several(instr, [masked, *values[1:]], left)
    no, yes = number(0, PRED), number(1, PRED)
    counts = Padded(splat(1, array(PRED, values[0].shape.dims)), folded).masked(no)
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    whole = instr.with_(
        operands=(*values[:count], counts, *values[count:], yes),
        shape=static(tuple_of(*shapes, shapes[0].with_type(PRED))),
        called=(_counting(instr.called[0]),),
        control_predecessors=(),
    )
    parts = elements(with_sharding(whole, None))[:count]
    shardings = (sharding for _, _, sharding in leaves_of(instr))
    results = tuple(Padded(part, left) for part in map(with_sharding, parts, shardings))
    return results if instr.shape.is_tuple else results[0]


def _counting(body: Computation) -> Computation:
    """A computation of two operands more, whether the others count: f' of the text above."""
    names = NameSupply(i.name for i in body.instructions)
    half = len(body.parameters) // 2
    folded, added = body.parameters[:half], body.parameters[half:]

    def named(opcode: str, *operands: Instruction, **more: Any) -> Instruction:
        return make(opcode, *operands, **more).with_(name=names.unique(opcode))

    moved = {p: named("parameter", shape=p.shape, number=half + 1 + i) for i, p in enumerate(added)}
    there = named("parameter", shape=array(PRED), number=half)
    counts = named("parameter", shape=array(PRED), number=2 * half + 1)
    both = rebuild(body, moved)
    order = [*both.instructions, there, counts]
    results: list[Instruction] = []
    for i, (old, new) in enumerate(zip(folded, moved.values(), strict=True)):
        together = both.root
        if together.shape.is_tuple:
            together = element(both.root, i).with_(name=names.unique("element"))
            order.append(together)
        first = named("select", there, together, new)
        results.append(named("select", counts, first, old))
        order += first, results[-1]
    any_ = named("or", there, counts)
    root = named("tuple", *results, any_)
    return Computation(body.name, (*order, any_, root), root)
