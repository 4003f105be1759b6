"""Derivatives of loops.

Forwards, a loop carries tangents beside its state: any loop will do.

Backwards, a loop of a known number of iterations runs twice. The first time it also keeps the
values that its tangents need, in arrays with a row for each iteration; the second time it counts
down, reads the rows, and carries cotangents:

    for k in 0 .. n-1:  s = f(s); rows[k] = r            r: what the linear part of f needs of s
    for k in n-1 .. 0:  s^ = (transpose of f' at rows[k]) s^

With checkpoints, that loop runs over segments of sqrt(n) iterations, and keeps the state before
each; backwards, it runs each segment again, and keeps the rows of that one alone. The memory is
that of 2 sqrt(n) iterations, and each iteration is computed once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, Any

from hlo.walk import rebuild
from optimizer.derivative.bodies import (
    LinearBody,
    assembled,
    elements,
    placeholder,
    placeholders,
    remade,
    single,
    together,
)
from optimizer.derivative.linearize import copies
from optimizer.derivative.stored import KeptRows, stored
from optimizer.derivative.table import (
    Dual,
    Leaves,
    element,
    filled,
    leaf_shapes,
    leaves_of,
    refusal,
    zeros,
)
from optimizer.derivative.transposition import cotangents
from optimizer.derivative.trips import trips_of
from optimizer.expanders.parts import number
from optimizer.loops.state import Loop, elements_taken
from optimizer.loops.trip_count import counter_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from optimizer.derivative.transposition import Back


@dataclass
class Loops:
    """The rules of loops.

    Parameters
    ----------
    back : the cotangents of loops and branches inside.
    checkpoints : a loop of n iterations keeps the state of every sqrt(n)-th only.
    """

    back: Back
    checkpoints: bool
    # How many tangents a loop carries, by its body.
    carried: dict[Computation, int] = field(default_factory=dict[Any, Any])

    def forwards(self, instr: Instruction, state: Dual, body: LinearBody) -> Dual:
        """The loop of the state and its tangents."""
        changes = [state.tangents[k] for k in body.tangents]
        shapes = [t.shape for t in body.tangents.values()]
        starts = [filled(t, shape) for t, shape in zip(changes, shapes, strict=True)]
        inputs = [*body.leaves, *body.tangents.values()]
        results = [
            *body.values,
            *(filled(body.changes[k], t.shape) for k, t in body.tangents.items()),
        ]
        running = loop(
            instr,
            [*leaves_of(state.value), *starts],
            self.condition(instr, body, inputs),
            assembled(body.name, inputs, results, acting=body.acting),
        )
        return self.of_loop(instr, body, elements(running))

    def of_loop(self, instr: Instruction, body: LinearBody, leaves: Sequence[Instruction]) -> Dual:
        """The value and tangents of a loop, from its leaves and then its tangents."""
        count = len(body.leaves)
        tangents = dict(zip(body.tangents, leaves[count:], strict=False))
        value = together(instr.shape, leaves[:count])
        return Dual(value, tuple(tangents.get(k) for k in range(count)))

    def condition(
        self, instr: Instruction, body: LinearBody, inputs: Sequence[Instruction]
    ) -> Computation:
        """The condition of a loop, of a state with more elements."""
        old = instr.called[0]
        (parameter,) = old.parameters
        whole = together(parameter.shape, body.leaves)
        (goes_on,) = copies([old.root], {parameter: whole})
        return single(old.name, inputs, goes_on)

    def backwards(self, instr: Instruction, state: Dual, body: LinearBody) -> Dual:
        """The loop that keeps values, and the one that carries tangents, for its transpose."""
        condition = self.condition(instr, body, body.leaves)
        alone = assembled(body.name, body.leaves, body.values, acting=body.acting)
        whole = loop(instr, leaves_of(state.value), condition, alone)
        known = Loop(whole.with_(annotations=instr.annotations), alone.root.operands)
        trips = trips_of(known)
        if trips is None:
            raise refusal(
                instr,
                "how often it runs is not known before",
                "derivative{mode=forward} differentiates any loop",
            )
        length = isqrt(trips)
        if not self.checkpoints or length < 2:
            rows = KeptRows(trips, body, counter_of(known))
            return self.kept_loop(instr, state, rows, stored(body, rows), counted=False)
        segment = self.segment(instr, state.value.shape, body, length)
        rows = KeptRows(trips // length, segment, None)
        state = self.kept_loop(instr, state, rows, rows.state(), counted=True)
        if trips % length:
            rows = KeptRows(trips % length, body, None)
            state = self.kept_loop(instr, state, rows, stored(body, rows), counted=True)
        return state

    def segment(
        self, instr: Instruction, shape: Shape, body: LinearBody, length: int
    ) -> LinearBody:
        """Some iterations of a loop as the body of another: its values are those of a plain loop.

        The one that keeps the values of each iteration is there for the tangents, and only runs
        where these are needed: in the loop backwards.
        """
        leaves = placeholders(leaf_shapes(shape))
        tangents = {k: placeholder(t.shape) for k, t in body.tangents.items()}
        whole = together(shape, leaves)
        state = Dual(whole, tuple(tangents.get(k) for k in range(len(leaves))))
        rows = KeptRows(length, body, None)
        inner = self.kept_loop(instr, state, rows, stored(body, rows), counted=True)
        alone = self.kept_loop(instr, state, rows, [], counted=True)
        pairs = zip(leaves, leaves_of(alone.value), strict=True)
        values = [leaf if k in rows.constant else x for k, (leaf, x) in enumerate(pairs)]
        return LinearBody(body.name, leaves, tangents, values, inner.tangents, [])

    def kept_loop(
        self,
        instr: Instruction,
        state: Dual,
        rows: KeptRows,
        stored_values: Sequence[Instruction],
        *,
        counted: bool,
    ) -> Dual:
        """A loop that keeps some values of its body in rows, and its tangents.

        Parameters
        ----------
        counted : it ends after as many iterations as there are rows, whatever its condition says.
        """
        new = [x for x in stored_values if x not in rows.shared]
        body, inputs = rows.body, rows.inputs(new)
        if counted:
            more = make("compare", rows.row, rows.trips, direction="LT")
            condition = single(f"{body.name}.condition", inputs, more)
        else:
            condition = self.condition(instr, body, inputs)
        running = loop(
            instr,
            [*leaves_of(state.value), *rows.first_row(), *(rows.empty(x) for x in new)],
            condition,
            assembled(
                body.name,
                inputs,
                [*body.values, *rows.next_row(), *rows.written(new)],
                acting=body.acting,
            ),
        )
        leaves = elements(running)
        rest = iter(leaves[len(leaves) - len(new) :])
        arrays = [leaves[rows.shared[x]] if x in rows.shared else next(rest) for x in stored_values]
        used, untouched = rows.invariants(stored_values), rows.untouched(state.tangents)
        backwards, goes_on = self.body_back(
            rows, dict(zip(stored_values, arrays, strict=True)), used, untouched
        )
        self.carried[backwards] = len(body.tangents)
        changes = [filled(state.tangents[k], t.shape) for k, t in body.tangents.items()]
        # As before the loop: what follows from a state around it may be computed again.
        before = leaves_of(state.value)
        constant = [before[k] for k in used]
        start = make("tuple", number(rows.trips - 1), *changes, *constant, *arrays)
        carrying = remade(instr, [start], [goes_on, backwards], start.shape)
        tangents = elements(carrying)[1 : 1 + len(changes)]
        return self.of_loop(instr, body, [*leaves[: len(body.leaves)], *tangents])

    def body_back(
        self,
        rows: KeptRows,
        stored_values: Mapping[Instruction, Instruction],
        used: Sequence[int],
        untouched: set[int],
    ) -> tuple[Computation, Computation]:
        """One iteration of the loop that counts down, and its condition.

        Parameters
        ----------
        stored_values : instructions of the body whose values are stored, with their arrays.
        used : the leaves that stay the same, and are used.
        untouched : the leaves whose cotangents stay the same: an iteration reads its own row.
        """
        body, row = rows.body, placeholder(number(0).shape)
        given_cotangents = placeholders(t.shape for t in body.tangents.values())
        results = [
            (change.operands[1], rows.writes[k].read(ct, row)) if k in untouched else (change, ct)
            for k, ct in zip(body.tangents, given_cotangents, strict=True)
            if (change := body.changes[k]) is not None
        ]
        inputs = list(body.tangents.values())
        new_cotangents = cotangents(results, inputs, self.back)
        invariants = [body.leaves[k] for k in used]
        arrays = placeholders(array.shape for array in stored_values.values())
        state = [row, *given_cotangents, *invariants, *arrays]

        def places(new: Sequence[Instruction]) -> Mapping[Instruction, Instruction]:
            return rows.read(new[0], list(stored_values), new[len(new) - len(stored_values) :])

        next_state = [
            make("subtract", row, 1),
            *(
                old if k in untouched else filled(ct, old.shape)
                for k, ct, old in zip(body.tangents, new_cotangents, given_cotangents, strict=True)
            ),
            *invariants,
            *arrays,
        ]
        backwards = assembled(f"{body.name}.transpose", state, next_state, places=places)
        more = make("compare", row, 0, direction="GE")
        return backwards, single(f"{body.name}.condition", state, more)

    def transposed(self, instr: Instruction, leaves: Leaves) -> Sequence[Leaves]:
        """The cotangents of the state of a loop that carries tangents."""
        shapes = leaf_shapes(instr.shape)
        count, (start,) = self.carried[instr.called[1]], instr.operands
        pairs = zip(leaves[1 : 1 + count], shapes[1 : 1 + count], strict=True)
        cts = [filled(ct, shape) for ct, shape in pairs]
        rest = start.operands[1 + count :]
        state = make("tuple", start.operands[0], *cts, *rest)
        none = {k for k in range(1, 1 + count) if leaves[k] is None}
        condition, body = instr.called
        whole = instr.with_(operands=(state,), called=(condition, with_zeros(body, none)))
        return [(None, *elements(whole)[1 : 1 + count], *[None] * len(rest))]


def with_zeros(body: Computation, which: set[int]) -> Computation:
    """A loop's body that knows some elements of its state to be zeros, if it never changes them."""
    (state,), root = body.parameters, body.root
    taken = elements_taken(body)
    same = {k for k in which if taken.get(root.operands[k]) == k}
    plan = {instr: zeros(instr.shape) for instr, k in taken.items() if k in same}
    if plan:
        elements_kept = [element(state, taken[o]) if o in plan else o for o in root.operands]
        plan[root] = root.with_(operands=tuple(elements_kept))
    return rebuild(body, plan)


def loop(
    instr: Instruction,
    starts: Sequence[Instruction],
    condition: Computation,
    body: Computation,
) -> Instruction:
    """A loop over a tuple, in the place of another one."""
    return remade(instr, [make("tuple", *starts)], [condition, body], body.root.shape)
