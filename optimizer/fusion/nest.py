"""The loops of a kernel with several results or several sweeps: what they count, what each does.

    for each row                        the kept digits
      for each element of the row       the folded digits: first sweep
        m = max(m, x)
      for each element of the row       second sweep
        e = exp(x - m); s += e
      for each element of the row       third sweep
        y = e / s

All folds of such a kernel keep the same digits and fold the same ones. A value is *whole* if it has
an element for each iteration of all loops, and a *row value* if it has one for each row. What
depends on a fold belongs to a later sweep than the fold; several sweeps need rows that stay in the
cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer import machine
from optimizer.fusion.digits import Digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Instruction
    from optimizer.fusion.digits import Place


@dataclass(frozen=True)
class LoopNest:
    """The loops of a kernel, and the place of its values in them.

    Attributes
    ----------
    digits : of all loops.
    order : the digits in the order of memory; `kept` and `folded` are parts of it.
    place : the one place at which each value is asked for, where there is one.
    sweep : in which sweep a value can be computed first: the longest chain of folds below it.
    folds, outputs : both among the members.
    """

    digits: Digits
    order: Place
    kept: Place
    folded: Place
    place: Mapping[Instruction, Place]
    sweep: Mapping[Instruction, int]
    members: Sequence[Instruction]
    folds: Sequence[Instruction]
    outputs: Sequence[Instruction]

    @property
    def by_columns(self) -> bool:
        """Whether elements of a reduction lie apart, and neighbours in memory are of others."""
        return bool(self.folded and self.kept) and self.order[-1] in self.kept

    @property
    def sweeps(self) -> int:
        """The number of sweeps over a row."""
        whole = [o for o in self.outputs if self.place[o] == self.order]
        return 1 + max((self.sweep[i] for i in (*self.folds, *whole)), default=0)

    @property
    def repeated(self) -> Instruction | None:
        """A value that each iteration computes at several indices, though nothing is folded.

        Such a value is better stored: what shifts the indices, as a concatenate does, cuts the loop
        into pieces, whose remainders compute everything else one by one as well.
        """
        if self.folds:
            return None
        return next((m for m in self.members if not self._is_computed_once(m)), None)

    def _is_computed_once(self, member: Instruction) -> bool:
        return member in self.place or member.opcode == "constant"

    def count(self, place: Place) -> int:
        """The number of iterations of the loops of some digits."""
        return prod(self.digits.size(d) for d in place)

    def is_cached(self, most: int) -> bool:
        """Whether a cache of some bytes holds a row until the last sweep over it."""
        return self.sweeps == 1 or self.row_bytes() <= most

    def row_bytes(self) -> int:
        """The bytes that the sweeps over a row keep in the cache."""
        computed = set(self.members) - set(self.outputs)
        whole = {
            value: value.shape.bytes
            for member in self.members
            for value in (member, *member.operands)
            if self.place.get(value) == self.order and value not in computed
        }
        rows = self.count(self.kept)
        if self.by_columns:
            rows = max(rows // machine.LANES, 1)
        return sum(whole.values()) // max(rows, 1)


def nest_of(members: Sequence[Instruction], outputs: Sequence[Instruction]) -> LoopNest | str:
    """The common loops of some values, or why they have none.

    Parameters
    ----------
    members : what is computed, each after its operands; these may also be others, which are read.
    outputs : members whose values are stored.
    """
    places = _Places(members, outputs)
    place = places.resolved()
    folds = [m for m in members if m.opcode == "reduce"]
    empty = next((f for f in folds if not f.operands[0].shape.size), None)
    if empty is not None:
        return f"%{empty.name} folds nothing"
    lost = next((i for i in (*folds, *outputs) if i not in place), None)
    if lost is not None:
        return f"%{lost.name} is asked for at several indices"
    inputs = {f: places.digits.resolve(places.folded[f]) for f in folds}
    order = inputs[folds[0]] if folds else place[outputs[0]]
    kept = place[folds[0]] if folds else order
    for fold in folds:
        if inputs[fold] != order or place[fold] != kept:
            return f"%{fold.name} and %{folds[0].name} fold in different loops"
    for output in outputs:
        if place[output] not in (order, kept):
            return f"%{output.name} has other elements than the loops have iterations"
    folded = tuple(d for d in order if d not in kept)
    if tuple(d for d in order if d in kept) != kept:
        return f"%{folds[0].name} has its elements in another order than what it folds"
    sweep = _sweeps(members)
    return LoopNest(places.digits, order, kept, folded, place, sweep, members, folds, outputs)


def _sweeps(members: Sequence[Instruction]) -> dict[Instruction, int]:
    """The longest chain of folds below each value."""
    sweep: dict[Instruction, int] = {}
    for member in members:
        below = (sweep[o] + (o.opcode == "reduce") for o in member.operands if o in sweep)
        sweep[member] = max(below, default=0)
    return sweep


class _Places:
    """The places at which values are asked for, found from the results backwards."""

    def __init__(self, members: Sequence[Instruction], outputs: Sequence[Instruction]) -> None:
        self.digits = Digits()
        self.folded: dict[Instruction, Place] = {}
        self._place: dict[Instruction, Place | None] = {}
        for space, output in enumerate(outputs):
            self._ask(output, self.digits.new(output.shape.first_leaf.dims, space))
        self._spaces = len(outputs)
        for member in reversed(members):
            self._pass_on(member)

    def _ask(self, instr: Instruction, place: Place | None) -> None:
        """Let a value be asked for at one more place."""
        if instr not in self._place:
            self._place[instr] = place
            return
        known = self._place[instr]
        if known is None or place is None or not self.digits.unify(known, place):
            self._place[instr] = None

    def _pass_on(self, member: Instruction) -> None:
        """Ask for the operands of a value."""
        place = self._place.get(member)
        arrays = len(member.operands) // 2 if member.opcode == "reduce" else 0
        if arrays and place is not None:
            place = self._folded(member, place)
        for number, operand in enumerate(member.operands):
            if place is None:
                self._ask(operand, () if operand.shape.size == 1 else None)
            elif arrays:
                self._ask(operand, place if number < arrays else ())
            else:
                self._ask(operand, self.digits.operand(member, number, place))

    def _folded(self, member: Instruction, place: Place) -> Place | None:
        """The place at which a reduce asks for its operand, when it is asked for at a place."""
        attrs = a.Dimensions.of(member)
        groups = self.digits.grouped(place, member.shape.first_leaf.dims)
        if groups is None:
            self._place[member] = None
            return None
        kept, found = iter(groups), list[int]()
        self._spaces += 1
        self.digits.belong(place, self._spaces)
        for number, size in enumerate(member.operands[0].shape.dims):
            folded = number in attrs.dimensions
            found += self.digits.new((size,), self._spaces) if folded else next(kept)
        self.folded[member] = tuple(found)
        return tuple(found)

    def resolved(self) -> dict[Instruction, Place]:
        """The place of each value that has one."""
        pairs = self._place.items()
        return {i: self.digits.resolve(p) for i, p in pairs if p is not None}
