"""Value numbers for `while` loops: a number for each element of the state after the loop.

An array that the body does not change is the same after the loop. Two arrays that are equal before
the loop, and that the body changes in the same way, are equal after it. Both are assumed of all
arrays first, and given up where the body contradicts, so that loops whose state has fewer arrays,
or others in between, give the same numbers. If the condition is false at first, the result of a
loop is its initial state.

References
----------
M. Wegman and F. Zadeck, "Constant Propagation with Conditional Branches", 1991: start from the
best that may hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import GetTupleElement
from hlo.effects import has_effect, has_own_effect
from hlo.walk import called_first
from hlo_tools.proofs.numbering import Numbering, Value, acts, leaves, numbers

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from hlo_tools.proofs.elements import Ids

# What neither changes nor has a representative.
UNCHANGED = -1


@numbers("while")
def number_loop(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    """The elements of the state after a loop."""
    if acts(instr):
        return None
    state = State(here, instr, operands[0], depth)
    value = here.remembered(
        ("while", *instr.called, here.digest(operands[0]), depth),
        lambda: state_if_skipped(here, instr, operands[0], depth) or state.after(),
    )
    if has_effect(instr):
        here.effects += exchanged(instr)
    return value


def state_if_skipped(here: Numbering, instr: Instruction, value: Value, depth: int) -> Value | None:
    """The initial state of a loop that never runs its body; None of any other loop."""
    goes_on: Ids = here.computed(instr.called[0], [value], depth)[0]
    is_known = here.elements.is_constant[goes_on]
    return value if is_known and not here.elements.first[goes_on] else None


def exchanged(instr: Instruction) -> list[Hashable]:
    """The exchanges of devices in a loop, whatever they exchange."""
    inside = [i for c in called_first(*instr.called) for i in c.instructions if has_own_effect(i)]
    return [(i.opcode, i.attrs) for i in inside]


class State:
    """The state of a loop, as a row of arrays.

    Attributes
    ----------
    initial : the arrays before the loop.
    speaker : of each array, the number of the first one that always equals it; `UNCHANGED` of one
        that stays what it was.
    """

    def __init__(self, here: Numbering, instr: Instruction, value: Value, depth: int) -> None:
        self.here, self.instr, self.depth = here, instr, depth + 1
        self.shape = instr.shape
        self.shapes = [shape for _, shape in instr.shape.leaves()]
        self.initial = leaves(value)
        self.speaker = [UNCHANGED] * len(self.initial)

    def after(self) -> Value:
        """The elements after the loop."""
        starts = [self.here.digest(value) for value in self.initial]
        while True:
            outs, _ = self.turn(self.speakers)
            groups: dict[Hashable, int] = {}
            now = [
                UNCHANGED
                if self.speaker[n] == UNCHANGED and out == starts[n]
                else groups.setdefault((self.speaker[n], starts[n], out), n)
                for n, out in enumerate(map(self.here.digest, outs))
            ]
            if now == self.speaker:
                break
            self.speaker = now
        orders = {n: self.needed(n) for n in self.speakers}
        turns = {order: self.turn(order) for order in orders.values()}
        changed = {n: self.result(n, order, *turns[order]) for n, order in orders.items()}
        flat = [
            start if n == UNCHANGED else changed[n]
            for n, start in zip(self.speaker, self.initial, strict=True)
        ]
        return built(self.shape, flat)

    @property
    def speakers(self) -> list[int]:
        """The arrays that change, each of those that always equal each other once."""
        return sorted(set(self.speaker) - {UNCHANGED})

    def turn(self, order: Sequence[int]) -> tuple[list[Ids], Ids]:
        """The arrays after a turn, and whether there is one, of unknown arrays before it.

        Parameters
        ----------
        order : of the arrays that matter.
        """
        names = {n: ("state", self.depth, rank) for rank, n in enumerate(order)}
        parts = [
            start
            if n == UNCHANGED
            else self.here.symbols(shape, *names.get(n, ("state", self.depth, "other", n)))
            for n, start, shape in zip(self.speaker, self.initial, self.shapes, strict=True)
        ]
        condition, body = self.instr.called
        state = built(self.shape, parts)
        goes_on: Ids = self.here.computed(condition, [state], self.depth)[0]
        return leaves(self.here.computed(body, [state], self.depth)[0]), goes_on

    def needed(self, number: int) -> tuple[int, ...]:
        """The arrays on which one depends, in order; the condition's are always among them."""
        condition, body = self.instr.called
        count = len(self.shapes)
        (asked,), read = reads(condition, count), reads(body, count)
        needed = {self.speaker[n] for n in {number, *asked}} - {UNCHANGED}
        while True:
            more = {self.speaker[n] for element in needed for n in read[element]} - {UNCHANGED}
            if more <= needed:
                return tuple(sorted(needed))
            needed |= more

    def result(self, number: int, order: tuple[int, ...], outs: list[Ids], goes_on: Ids) -> Value:
        """The elements of one array after the loop, from a turn of all that it depends on."""
        digest = self.here.digest
        parts = [(digest(self.initial[n]), digest(outs[n])) for n in order]
        key = ("whole", "while", digest(goes_on), tuple(parts), order.index(number))
        return self.here.parts(key, self.shapes[number])


def reads(computation: Computation, count: int) -> list[set[int]]:
    """The arrays of the only argument that each array of a computation's result follows from."""
    read_by: dict[Instruction, set[int]] = {}
    every, parameter = set(range(count)), computation.parameters[0]
    flat = parameter.shape.is_tuple and not any(e.is_tuple for e in parameter.shape.elements)
    for instr in computation.instructions:
        if instr is parameter:
            read_by[instr] = every
        elif flat and instr.opcode == "get-tuple-element" and instr.operands[0] is parameter:
            read_by[instr] = {GetTupleElement.of(instr).index}
        else:
            read_by[instr] = set[int]().union(*(read_by[o] for o in instr.operands))
    root = computation.root
    if root.opcode == "tuple" and len(root.operands) == count:
        return [read_by[o] for o in root.operands]
    return [read_by[root]] * root.shape.leaf_count


def built(shape: Shape, flat: list[Any]) -> Value:
    """A value of its arrays in order."""
    rest = iter(flat)

    def build(part: Shape) -> Value:
        return tuple(map(build, part.elements)) if part.is_tuple else next(rest)

    return build(shape)
