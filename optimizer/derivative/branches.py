"""Derivatives of branches.

Forwards, a branch yields tangents beside its results. Backwards, it computes what it needs of its
operands again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo.types.shape import tuple_of
from optimizer.derivative.bodies import (
    LinearBody,
    assembled,
    elements,
    placeholders,
    remade,
    together,
)
from optimizer.derivative.linearize import copied
from optimizer.derivative.movement import added
from optimizer.derivative.table import Dual, Leaves, filled, leaf_shapes, leaves_of, plain
from optimizer.derivative.transposition import cotangents
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.derivative.transposition import Back


@dataclass
class Branches:
    """The rules of branches.

    Parameters
    ----------
    back : the cotangents of loops and branches inside.
    """

    back: Back
    # For each tangent that a branch is given, the number of its cotangent among the results.
    places: dict[Computation, list[int | None]] = field(default_factory=dict[Any, Any])

    def forwards(
        self,
        instr: Instruction,
        operands: Sequence[Dual],
        branches: Sequence[LinearBody],
        results: Sequence[int],
    ) -> Dual:
        """The conditional of values and tangents."""
        shapes = leaf_shapes(instr.shape)
        called = [
            assembled(
                body.name,
                [*body.leaves, *body.tangents.values()],
                [*body.values, *(filled(body.changes[k], shapes[k]) for k in results)],
                acting=body.acting,
            )
            for body in branches
        ]
        arguments = [branch_argument(*pair) for pair in zip(operands[1:], branches, strict=True)]
        chosen = conditional(instr, operands[0].value, arguments, called)
        leaves = elements(chosen)
        tangents = dict(zip(results, leaves[len(shapes) :], strict=True))
        value = together(instr.shape, leaves[: len(shapes)])
        return Dual(value, tuple(tangents.get(k) for k in range(len(shapes))))

    def backwards(
        self,
        instr: Instruction,
        operands: Sequence[Dual],
        branches: Sequence[LinearBody],
        results: Sequence[int],
    ) -> Dual:
        """The conditional as it is, and one that carries tangents, for its transpose.

        Branches that are given the same tangent share a cotangent, as one of them alone runs.
        """
        shapes = leaf_shapes(instr.shape)
        wanted = [shapes[k] for k in results]
        back: list[Computation] = []
        pairs = zip(operands[1:], branches, strict=True)
        tangents_of = [[operand.tangents[k] for k in body.tangents] for operand, body in pairs]
        every = list(dict.fromkeys(t for some in tangents_of for t in some if t is not None))
        for body, incoming in zip(branches, tangents_of, strict=True):
            cts = placeholders(wanted)
            pairs = [
                (change, ct)
                for k, ct in zip(results, cts, strict=True)
                if (change := body.changes[k]) is not None
            ]
            inputs = list(body.tangents.values())
            own = cotangents(pairs, inputs, self.back)
            sums: dict[Instruction | None, Instruction | None] = {}
            for tangent, ct in zip(incoming, own, strict=True):
                sums[tangent] = added(sums.get(tangent), ct)
            totals = [filled(sums.get(t), t.shape) for t in every]
            back.append(assembled(f"{body.name}.transpose", [*body.leaves, *cts], totals))
            self.places[back[-1]] = [None if t is None else every.index(t) for t in incoming]
        value = copied(instr, [pair.value for pair in operands])
        arguments = [branch_argument(*pair) for pair in zip(operands[1:], branches, strict=True)]
        shape = tuple_of(*map(plain, wanted))
        carrying = remade(instr, [operands[0].value, *arguments], back, shape)
        tangents = dict(zip(results, elements(carrying), strict=True))
        return Dual(value, tuple(tangents.get(k) for k in range(len(shapes))))

    def transposed(self, instr: Instruction, leaves: Leaves) -> Sequence[Leaves]:
        """The cotangents of the operands of branches that carry tangents."""
        shapes = leaf_shapes(instr.shape)
        cts = [filled(ct, shape) for ct, shape in zip(leaves, shapes, strict=True)]
        places = [self.places[branch] for branch in instr.called]
        arguments: list[Instruction] = []
        for operand, own in zip(instr.operands[1:], places, strict=True):
            values = operand.operands[: len(operand.operands) - len(own)]
            arguments.append(make("tuple", *values, *cts))
        whole = conditional(instr, instr.operands[0], arguments, instr.called)
        # Each is handed to one of the operands that share it.
        elements_left: dict[int | None, Instruction] = dict(enumerate(elements(whole)))
        handed = [[elements_left.pop(place, None) for place in own] for own in places]
        pairs = zip(instr.operands[1:], handed, strict=True)
        return [(None,), *((*[None] * (len(o.operands) - len(own)), *own) for o, own in pairs)]


def branch_argument(operand: Dual, body: LinearBody) -> Instruction:
    """The leaves and the tangents that a branch is given."""
    tangents = (filled(operand.tangents[k], t.shape) for k, t in body.tangents.items())
    return make("tuple", *leaves_of(operand.value), *tangents)


def conditional(
    instr: Instruction,
    which: Instruction,
    arguments: Sequence[Instruction],
    branches: Sequence[Computation],
) -> Instruction:
    """A conditional that yields a tuple, in the place of another one."""
    return remade(instr, [which, *arguments], branches, branches[0].root.shape)
