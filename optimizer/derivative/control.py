"""Derivatives of loops and branches.

Forwards, a loop carries tangents beside its state, and a branch yields them beside its results:
any loop will do.

Backwards, a loop of a known number of iterations runs twice. The first time it also keeps the
values that its tangents need, in arrays with a row for each iteration; the second time it counts
down, reads the rows, and carries cotangents:

    for k in 0 .. n-1:  s = f(s); rows[k] = r            r: what the linear part of f needs of s
    for k in n-1 .. 0:  s^ = (transpose of f' at rows[k]) s^

With checkpoints, that loop runs over segments of sqrt(n) iterations, and keeps the state before
each; backwards, it runs each segment again, and keeps the rows of that one alone. The memory is
that of 2 sqrt(n) iterations, and each iteration is computed once more.

A branch computes what it needs of its operands again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any

from hlo.types.shape import tuple_of
from hlo.walk import called_first, rebuild
from optimizer.derivative.bodies import (
    LinearBody,
    assembled,
    body_of,
    elements,
    placeholder,
    placeholders,
    single,
    together,
)
from optimizer.derivative.dependence import Dependence, Sets
from optimizer.derivative.linearize import copied, copies
from optimizer.derivative.movement import added
from optimizer.derivative.stored import KeptRows, stored
from optimizer.derivative.table import (
    Dual,
    Leaves,
    element,
    filled,
    leaf_shapes,
    leaves_of,
    plain,
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


@dataclass
class Transformation:
    """The derivative of all computations that a module's entry calls.

    Parameters
    ----------
    entry : the entry computation.
    active : for each leaf of its parameters, in order, whether it has a tangent.
    backwards : loops and branches will be transposed.
    checkpoints : a loop of n iterations keeps the state of every sqrt(n)-th only.
    """

    entry: Computation
    active: Sequence[bool]
    backwards: bool
    checkpoints: bool = False
    bodies: dict[tuple[Computation, Sets], LinearBody] = field(default_factory=dict[Any, Any])
    # How many tangents a loop carries, by its body.
    carried: dict[Computation, int] = field(default_factory=dict[Any, Any])
    # For each tangent that a branch is given, the number of its cotangent among the results.
    places: dict[Computation, list[int | None]] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        """Linearize all computations that loops and branches run, callees first."""
        self.dependence = Dependence(self.entry)
        asked = self._asked()
        for computation in called_first(self.entry):
            for given in asked.get(computation, ()) if computation is not self.entry else ():
                active = [k for k, each in enumerate(given) if each]
                control = self.control(computation, [given])
                self.bodies[computation, given] = body_of(computation, active, control)

    def _asked(self) -> dict[Computation, dict[Sets, None]]:
        """The leaves of each computation's parameters that have tangents, in all of its calls."""
        asked: dict[Computation, dict[Sets, None]] = {self.entry: {}}
        for computation in reversed(called_first(self.entry)):
            given = [self.of_entry()] if computation is self.entry else []
            given += [[sets] for sets in asked.get(computation, ())]
            for each in given:
                found = self.dependence.within(computation, each)
                for instr in computation.instructions:
                    if not any(found[instr]):
                        continue
                    if instr.opcode == "while":
                        asked.setdefault(instr.called[1], {})[marks(found[instr])] = None
                    if instr.opcode == "conditional":
                        for branch, operand in zip(instr.called, instr.operands[1:], strict=True):
                            asked.setdefault(branch, {})[marks(found[operand])] = None
        return asked

    def of_entry(self) -> list[Sets]:
        """For each parameter of the entry, which leaves have tangents."""
        rest = iter(self.active)
        return [
            tuple(int(next(rest)) for _ in range(p.shape.leaf_count)) for p in self.entry.parameters
        ]

    def control(self, computation: Computation, given: Sequence[Sets]) -> Any:
        """The rule of loops and branches in a computation."""
        found = self.dependence.within(computation, given)
        return partial(self.changed, found)

    def changed(
        self, found: dict[Instruction, Sets], instr: Instruction, operands: Sequence[Dual]
    ) -> Dual:
        """The value and tangents of a loop or of a branch."""
        results = [k for k, each in enumerate(found[instr]) if each]
        if not results:
            value = copied(instr, [pair.value for pair in operands])
            return Dual(value, (None,) * instr.shape.leaf_count)
        if instr.opcode == "conditional":
            branches = [
                self.bodies[branch, marks(found[operand])]
                for branch, operand in zip(instr.called, instr.operands[1:], strict=True)
            ]
            rule = self.branches_backwards if self.backwards else self.branches_forwards
            return rule(instr, operands, branches, results)
        body = self.bodies[instr.called[1], marks(found[instr])]
        rule = self.loop_backwards if self.backwards else self.loop_forwards
        return rule(instr, operands[0], body)

    def loop_forwards(self, instr: Instruction, state: Dual, body: LinearBody) -> Dual:
        """The loop of the state and its tangents."""
        changes = [state.tangents[k] for k in body.tangents]
        shapes = [t.shape for t in body.tangents.values()]
        starts = [filled(t, shape) for t, shape in zip(changes, shapes, strict=True)]
        inputs = [*body.leaves, *body.tangents.values()]
        results = [
            *body.values,
            *(filled(body.changes[k], t.shape) for k, t in body.tangents.items()),
        ]
        made = loop(
            instr,
            [*leaves_of(state.value), *starts],
            self.condition(instr, body, inputs),
            assembled(body.name, inputs, results, acting=body.acting),
        )
        return self.of_loop(instr, body, elements(made))

    def of_loop(self, instr: Instruction, body: LinearBody, found: Sequence[Instruction]) -> Dual:
        """The value and tangents of a loop, from its leaves and then its tangents."""
        count = len(body.leaves)
        tangents = dict(zip(body.tangents, found[count:], strict=False))
        value = together(instr.shape, found[:count])
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

    def loop_backwards(self, instr: Instruction, state: Dual, body: LinearBody) -> Dual:
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
        kept = self.kept_loop(instr, state, rows, stored(body, rows), counted=True)
        alone = self.kept_loop(instr, state, rows, [], counted=True)
        pairs = zip(leaves, leaves_of(alone.value), strict=True)
        values = [leaf if k in rows.constant else x for k, (leaf, x) in enumerate(pairs)]
        return LinearBody(body.name, leaves, tangents, values, kept.tangents, [])

    def kept_loop(
        self,
        instr: Instruction,
        state: Dual,
        rows: KeptRows,
        kept: Sequence[Instruction],
        *,
        counted: bool,
    ) -> Dual:
        """A loop that keeps some values of its body in rows, and its tangents.

        Parameters
        ----------
        counted : it ends after as many iterations as there are rows, whatever its condition says.
        """
        new = [x for x in kept if x not in rows.shared]
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
        found = elements(running)
        rest = iter(found[len(found) - len(new) :])
        arrays = [found[rows.shared[x]] if x in rows.shared else next(rest) for x in kept]
        used, untouched = rows.invariants(kept), rows.untouched(state.tangents)
        backwards, goes_on = self.body_back(
            rows, dict(zip(kept, arrays, strict=True)), used, untouched
        )
        self.carried[backwards] = len(body.tangents)
        changes = [filled(state.tangents[k], t.shape) for k, t in body.tangents.items()]
        # As before the loop: what follows from a state around it may be computed again.
        before = leaves_of(state.value)
        constant = [before[k] for k in used]
        start = make("tuple", number(rows.trips - 1), *changes, *constant, *arrays)
        carrying = remade(instr, [start], [goes_on, backwards], start.shape)
        tangents = elements(carrying)[1 : 1 + len(changes)]
        return self.of_loop(instr, body, [*found[: len(body.leaves)], *tangents])

    def body_back(
        self,
        rows: KeptRows,
        kept: Mapping[Instruction, Instruction],
        used: Sequence[int],
        untouched: set[int],
    ) -> tuple[Computation, Computation]:
        """One iteration of the loop that counts down, and its condition.

        Parameters
        ----------
        kept : instructions of the body whose values have been kept, with the arrays of those.
        used : the leaves that stay the same, and are used.
        untouched : the leaves whose cotangents stay the same: an iteration reads its own row.
        """
        body, row = rows.body, placeholder(number(0).shape)
        given = placeholders(t.shape for t in body.tangents.values())
        results = [
            (change.operands[1], rows.writes[k].read(ct, row)) if k in untouched else (change, ct)
            for k, ct in zip(body.tangents, given, strict=True)
            if (change := body.changes[k]) is not None
        ]
        inputs = list(body.tangents.values())
        found = cotangents(results, inputs, self.back)
        invariants = [body.leaves[k] for k in used]
        arrays = placeholders(array.shape for array in kept.values())
        state = [row, *given, *invariants, *arrays]

        def places(new: Sequence[Instruction]) -> Mapping[Instruction, Instruction]:
            return rows.read(new[0], list(kept), new[len(new) - len(kept) :])

        next_state = [
            make("subtract", row, 1),
            *(
                old if k in untouched else filled(ct, old.shape)
                for k, ct, old in zip(body.tangents, found, given, strict=True)
            ),
            *invariants,
            *arrays,
        ]
        backwards = assembled(f"{body.name}.transpose", state, next_state, places=places)
        more = make("compare", row, 0, direction="GE")
        return backwards, single(f"{body.name}.condition", state, more)

    def branches_forwards(
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
        made = conditional(instr, operands[0].value, arguments, called)
        found = elements(made)
        tangents = dict(zip(results, found[len(shapes) :], strict=True))
        value = together(instr.shape, found[: len(shapes)])
        return Dual(value, tuple(tangents.get(k) for k in range(len(shapes))))

    def branches_backwards(
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
        every = list(dict.fromkeys(t for each in tangents_of for t in each if t is not None))
        for body, incoming in zip(branches, tangents_of, strict=True):
            given = placeholders(wanted)
            pairs = [
                (change, ct)
                for k, ct in zip(results, given, strict=True)
                if (change := body.changes[k]) is not None
            ]
            inputs = list(body.tangents.values())
            own = cotangents(pairs, inputs, self.back)
            found: dict[Instruction | None, Instruction | None] = {}
            for tangent, ct in zip(incoming, own, strict=True):
                found[tangent] = added(found.get(tangent), ct)
            made = [filled(found.get(t), t.shape) for t in every]
            back.append(assembled(f"{body.name}.transpose", [*body.leaves, *given], made))
            self.places[back[-1]] = [None if t is None else every.index(t) for t in incoming]
        value = copied(instr, [pair.value for pair in operands])
        arguments = [branch_argument(*pair) for pair in zip(operands[1:], branches, strict=True)]
        shape = tuple_of(*map(plain, wanted))
        carrying = remade(instr, [operands[0].value, *arguments], back, shape)
        tangents = dict(zip(results, elements(carrying), strict=True))
        return Dual(value, tuple(tangents.get(k) for k in range(len(shapes))))

    def back(self, instr: Instruction, leaves: Leaves, _linear: Sequence[bool]) -> Sequence[Leaves]:
        """The cotangents of a loop's state, or of branches' operands.

        An instruction that carries tangents holds the computations that carry cotangents: it is
        there to be transposed, and never runs.
        """
        shapes = leaf_shapes(instr.shape)
        if instr.opcode == "while":
            count, (start,) = self.carried[instr.called[1]], instr.operands
            pairs = zip(leaves[1 : 1 + count], shapes[1 : 1 + count], strict=True)
            cts = [filled(ct, shape) for ct, shape in pairs]
            rest = start.operands[1 + count :]
            made = make("tuple", start.operands[0], *cts, *rest)
            none = {k for k in range(1, 1 + count) if leaves[k] is None}
            condition, body = instr.called
            whole = instr.with_(operands=(made,), called=(condition, with_zeros(body, none)))
            return [(None, *elements(whole)[1 : 1 + count], *[None] * len(rest))]
        cts = [filled(ct, shape) for ct, shape in zip(leaves, shapes, strict=True)]
        places = [self.places[branch] for branch in instr.called]
        arguments: list[Instruction] = []
        for operand, own in zip(instr.operands[1:], places, strict=True):
            values = operand.operands[: len(operand.operands) - len(own)]
            arguments.append(make("tuple", *values, *cts))
        whole = conditional(instr, instr.operands[0], arguments, instr.called)
        # Each is handed to one of the operands that share it.
        found: dict[int | None, Instruction] = dict(enumerate(elements(whole)))
        handed = [[found.pop(place, None) for place in own] for own in places]
        pairs = zip(instr.operands[1:], handed, strict=True)
        return [(None,), *((*[None] * (len(o.operands) - len(own)), *own) for o, own in pairs)]


def with_zeros(body: Computation, which: set[int]) -> Computation:
    """A loop's body that knows some elements of its state to be zeros, if it never changes them."""
    (state,), root = body.parameters, body.root
    taken = elements_taken(body)
    same = {k for k in which if taken.get(root.operands[k]) == k}
    plan = {instr: zeros(instr.shape) for instr, k in taken.items() if k in same}
    if plan:
        kept = [element(state, taken[o]) if o in plan else o for o in root.operands]
        plan[root] = root.with_(operands=tuple(kept))
    return rebuild(body, plan)


def branch_argument(operand: Dual, body: LinearBody) -> Instruction:
    """The leaves and the tangents that a branch is given."""
    tangents = (filled(operand.tangents[k], t.shape) for k, t in body.tangents.items())
    return make("tuple", *leaves_of(operand.value), *tangents)


def remade(
    instr: Instruction,
    operands: Sequence[Instruction],
    called: Sequence[Computation],
    shape: Shape,
) -> Instruction:
    """Another loop or conditional in the place of one: no note of that holds for it."""
    notes = replace(instr.annotations, sharding=None, backend_config="", origin="")
    return instr.with_(
        operands=tuple(operands),
        shape=shape,
        called=tuple(called),
        control_predecessors=(),
        annotations=notes,
    )


def loop(
    instr: Instruction,
    starts: Sequence[Instruction],
    condition: Computation,
    body: Computation,
) -> Instruction:
    """A loop over a tuple, in the place of another one."""
    return remade(instr, [make("tuple", *starts)], [condition, body], body.root.shape)


def conditional(
    instr: Instruction,
    which: Instruction,
    arguments: Sequence[Instruction],
    branches: Sequence[Computation],
) -> Instruction:
    """A conditional that yields a tuple, in the place of another one."""
    return remade(instr, [which, *arguments], branches, branches[0].root.shape)


def marks(sets: Sequence[int]) -> Sets:
    """For each leaf whether it has a tangent."""
    return tuple(int(bool(each)) for each in sets)
