"""Values of a loop's iterations that the loop backwards needs: kept in rows, or computed again.

What follows from the iteration's number and from state that stays the same is computed again, if
that is as cheap as reading it: a slice of an array of all iterations, an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import having
from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo.walk import needed_first
from optimizer.derivative.bodies import LinearBody, placeholder
from optimizer.derivative.rows import source_of, written_rows
from optimizer.derivative.table import zeros
from optimizer.expanders.parts import number, to_dims, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Instruction
    from optimizer.loops.trip_count import InductionVariable

CHEAP = having("elementwise") | having("movement") | having("compile_time") | having("tuples")


@dataclass
class KeptRows:
    """Arrays with a row for each iteration of a loop.

    Parameters
    ----------
    trips : the number of iterations.
    body : of the loop.
    counter : the element of its state that counts, if it is known.
    """

    trips: int
    body: LinearBody
    counter: InductionVariable | None

    def __post_init__(self) -> None:
        """Find the leaves that stay the same, and the row's number: a leaf that counts from 0."""
        pairs = zip(self.body.leaves, self.body.values, strict=True)
        self.constant = {k for k, (leaf, value) in enumerate(pairs) if leaf is value}
        counter = self.counter
        counts = counter is not None and counter.init == 0 and counter.step == 1
        self.own = None if counts else placeholder(array(S32))
        self.row: Instruction = (
            self.body.leaves[counter.index] if counter and counts else self.own  # type: ignore[assignment]
        )
        self.arrays: dict[Instruction, Instruction] = {}
        self.writes = written_rows(self.body, counter, self.trips)
        # What the loop keeps in an array of its own.
        self.shared = {source_of(write.update): k for k, write in self.writes.items()}

    def first_row(self) -> list[Instruction]:
        """The first value of a counter that the loop has not itself."""
        return [] if self.own is None else [number(0)]

    def next_row(self) -> list[Instruction]:
        """The next value of that counter."""
        return [] if self.own is None else [make("add", self.own, 1)]

    def empty(self, x: Instruction) -> Instruction:
        """The array before any row is written."""
        return zeros(array(x.shape.element_type, (self.trips, *x.shape.dims)))

    def inputs(self, values: Sequence[Instruction]) -> list[Instruction]:
        """The state of the loop that keeps values."""
        self.arrays = {x: placeholder(self.empty(x).shape) for x in values}
        own = [] if self.own is None else [self.own]
        return [*self.body.leaves, *own, *self.arrays.values()]

    def written(self, values: Sequence[Instruction]) -> list[Instruction]:
        """The arrays with one more row."""
        return [
            make(
                "dynamic-update-slice",
                self.arrays[x],
                to_dims(x, (1, *x.shape.dims)),
                *starts(self.row, x.shape.rank),
            )
            for x in values
        ]

    def read(
        self, row: Instruction, values: Sequence[Instruction], arrays: Sequence[Instruction]
    ) -> Mapping[Instruction, Instruction]:
        """The values of an iteration: rows, and the counter of the loop."""
        by_value: dict[Instruction, Instruction] = {}
        for x, rows in zip(values, arrays, strict=True):
            if x in self.shared:
                by_value[x] = self.writes[self.shared[x]].value(rows, row, x)
                continue
            sizes = (1, *x.shape.dims)
            one = make("dynamic-slice", rows, *starts(row, x.shape.rank), dynamic_slice_sizes=sizes)
            by_value[x] = to_dims(one, x.shape.dims)
        if self.counter is not None:
            leaf = self.body.leaves[self.counter.index]
            value = to_type(row, leaf.shape.element_type)
            if self.counter.step != 1:
                value = make("multiply", value, self.counter.step)
            if self.counter.init:
                value = make("add", value, self.counter.init)
            by_value[leaf] = value
        return by_value

    def untouched(self, changes: Sequence[Instruction | None]) -> set[int]:
        """The leaves whose rows have cotangents that are read once, in the iteration they are of.

        Parameters
        ----------
        changes : the tangents of the state before the loop; None if that does not change.
        """
        body = self.body
        order = self.used(())
        reads = [operand for instr in order for operand in instr.operands]
        indices: set[int] = set()
        for k, tangent in body.tangents.items():
            change = body.changes[k]
            if (
                k in self.writes
                and changes[k] is None
                and change is not None
                and change.opcode == "dynamic-update-slice"
                and change.operands[0] is tangent
                and sum(operand is tangent for operand in reads) == 1
                and not any(other is tangent for other in body.changes)
            ):
                indices.add(k)
        return indices

    def invariants(self, values: Sequence[Instruction]) -> list[int]:
        """The leaves that stay the same, and are used in the loop backwards."""
        used = self.used(values)
        return [k for k in sorted(self.constant) if self.body.leaves[k] in used]

    def state(self) -> list[Instruction]:
        """The leaves that change, and are used in the loop backwards: all else follows."""
        used = self.used(())
        pairs = enumerate(self.body.leaves)
        return [leaf for k, leaf in pairs if leaf in used and k not in self.constant]

    def used(self, values: Sequence[Instruction]) -> set[Instruction]:
        """The instructions that tangents are made of, where some are kept."""
        roots, read = [change for change in self.body.changes if change is not None], set(values)
        return set(needed_first(roots, lambda i: () if i in read else i.operands))


def starts(row: Instruction, rank: int) -> list[Instruction]:
    """The start of a row."""
    zero = number(0, row.shape.element_type)
    return [row, *[zero] * rank]


def stored(body: LinearBody, rows: KeptRows) -> list[Instruction]:
    """The instructions of a loop's body whose values are kept for each iteration."""
    changes = [change for change in body.changes if change is not None]
    order = needed_first(changes, lambda instr: instr.operands)
    linear = set(body.tangents.values())
    for instr in order:
        if not linear.isdisjoint(instr.operands):
            linear.add(instr)
    known = {body.leaves[k] for k in rows.constant}
    if rows.counter is not None:
        known.add(body.leaves[rows.counter.index])
    cheap: set[Instruction] = set()
    for instr in order:
        is_known = instr in known or (
            instr.opcode in CHEAP
            and instr not in linear
            and all(o in cheap for o in instr.operands)
        )
        if is_known:
            cheap.add(instr)
    needed = dict.fromkeys(
        source(operand)
        for instr in order
        if instr in linear
        for operand in instr.operands
        if operand not in linear
    )
    return [x for x in needed if x not in cheap]


def source(instr: Instruction) -> Instruction:
    """The smallest value that an operand only repeats."""
    while instr.opcode == "broadcast":
        (instr,) = instr.operands
    return instr
