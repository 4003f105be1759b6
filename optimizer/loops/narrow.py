"""Takes elements out of a loop's state.

What is taken out has a stand-in: another element that is always equal to it, or from which it can
be computed; or a constant that it always is; or none, because nothing that counts is computed from
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hlo.attributes.annotations import Annotations
from hlo.effects import without_dead
from hlo.instruction import Instruction
from hlo.types.shape import Shape, tuple_of
from hlo.walk import Plan, rebuild
from optimizer.loops.state import chosen, elements_taken
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation
    from hlo.names import NameSupply
    from optimizer.loops.site import LoopSite


@dataclass(frozen=True)
class Affine:
    """An affine function of another element, `factor` times it plus `offset`, of its type.

    The factor is not 1 or the offset not 0; otherwise the number of the other element says it.
    """

    of: int
    factor: int
    offset: int

    def value(self, element: Instruction) -> list[Instruction]:
        """The instructions that compute it of the other element, the value last."""
        steps: list[Instruction] = [element]
        bits = element.shape.element_type.bits
        if self.factor != 1:
            steps += _with_number("multiply", element, self.factor % 2**bits)
        if self.offset % 2**bits:
            steps += _with_number("add", steps[-1], self.offset % 2**bits)
        return steps[1:]


def _with_number(opcode: str, left: Instruction, number: int) -> list[Instruction]:
    right = splat(np.asarray(number, np.uint64), left.shape)
    return [right, make(opcode, left, right)]


# For each removed element its value: one that stays, one derived of it, a constant, or none.
StandIns = dict[int, "int | Affine | Instruction | None"]


def narrowed(site: LoopSite, gone: StandIns) -> Instruction:
    """A loop without some elements of its state, as the tuple of all elements that the loop had.

    An element without stand-in must be one that nobody uses after the loop, or that the loop never
    changes: in its place is what it was at first.
    """
    loop = site.loop
    instr, init = loop.instr, loop.instr.operands[0]
    indices = [i for i in range(loop.size) if i not in gone]
    values = [site.initial(i) for i in range(loop.size)]
    start = site.named(make("tuple", *[values[i] for i in indices]))
    condition, body = [narrow(site.own(c), indices, gone, site.names) for c in instr.called]
    new_loop = instr.with_(
        operands=(start.with_(annotations=chosen(init, indices)),),
        shape=of_elements(instr.shape, indices),
        called=(condition, body),
        annotations=chosen(instr, indices),
    )
    for index, i in enumerate(indices):
        values[i] = site.element(new_loop, index)
    for i, stand_in in gone.items():
        if isinstance(stand_in, int):
            values[i] = values[stand_in]
        elif isinstance(stand_in, Affine):
            values[i] = _named(stand_in, values[stand_in.of], site.names)
    whole = site.named(make("tuple", *values))
    return whole.with_(annotations=chosen(instr, range(loop.size)))


def narrow(
    computation: Computation, indices: Sequence[int], gone: StandIns, names: NameSupply
) -> Computation:
    """A loop's condition or body that sees, and if it gives a state yields, only some elements."""
    plan, root = narrow_parameter(computation, indices, gone, names), computation.root
    if root.shape.is_tuple:
        plan[root] = root.with_(
            operands=tuple([root.operands[i] for i in indices]),
            shape=of_elements(root.shape, indices),
            annotations=chosen(root, indices),
        )
    return without_dead(rebuild(computation, plan))


def narrow_parameter(
    computation: Computation, places: Sequence[int], gone: StandIns, names: NameSupply
) -> Plan:
    """The plan by which a computation's parameter has only some of its elements."""
    state = computation.parameters[0]
    new_state = state.with_(
        shape=of_elements(state.shape, places), annotations=chosen(state, places)
    )
    renumbered = {old: new for new, old in enumerate(places)}
    plan = {state: new_state}
    copies = {
        i: stand_in.with_(name=names.unique(stand_in.name))
        for i, stand_in in gone.items()
        if isinstance(stand_in, Instruction)
    }
    for taken, i in elements_taken(computation).items():
        stand_in = gone.get(i, i)
        if isinstance(stand_in, int):
            attrs = replace(taken.attrs, index=renumbered[stand_in])
            plan[taken] = taken.with_(operands=(new_state,), attrs=attrs)
        elif isinstance(stand_in, Affine):
            base = make("get-tuple-element", new_state, index=renumbered[stand_in.of])
            base = base.with_(name=names.unique(base.name), annotations=taken.annotations)
            plan[taken] = _named(stand_in, base, names)
        elif i in copies:
            plan[taken] = copies[i]
    return plan


def _named(stand_in: Affine, element: Instruction, names: NameSupply) -> Instruction:
    """The value of a stand-in, its new instructions under names of their own."""
    became: dict[Instruction, Instruction] = {}
    for instr in stand_in.value(element):
        became[instr] = instr.with_(
            name=names.unique(instr.opcode),
            operands=tuple([became.get(o, o) for o in instr.operands]),
            annotations=Annotations(metadata=element.annotations.metadata),
            span=element.span,
        )
    return list(became.values())[-1]


def of_elements(shape: Shape, indices: Sequence[int]) -> Shape:
    """The tuple of some of a tuple's elements."""
    return tuple_of(*[shape.elements[i] for i in indices])
