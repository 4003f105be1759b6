"""The loop nest of a kernel with several results or several sweeps over its rows.

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
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.support import machine
from optimizer.fusion.digits import Digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Instruction
    from optimizer.fusion.digits import DigitIndex


@dataclass(frozen=True)
class LoopNest:
    """The loops of a kernel, and the index of each value in their digits.

    Attributes
    ----------
    digits : of all loops.
    order : the digits in the order of memory; `kept` and `folded` are parts of it.
    index_of : the index at which a value is read, of those that are read at one index only.
    sweep : the first sweep that can compute a value: the longest chain of folds below it.
    folds, outputs : both among the members.
    """

    digits: Digits
    order: DigitIndex
    kept: DigitIndex
    folded: DigitIndex
    index_of: Mapping[Instruction, DigitIndex]
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
        whole = [o for o in self.outputs if self.index_of[o] == self.order]
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
        return member in self.index_of or member.opcode == "constant"

    def count(self, index: DigitIndex) -> int:
        """The number of iterations of the loops of some digits."""
        return prod(self.digits.size(d) for d in index)

    def runs(self, index: DigitIndex) -> list[DigitIndex]:
        """The digits of an index, those together that all values have side by side.

        One loop can count a run, as if it were a single dimension.
        """
        runs: list[DigitIndex] = []
        for digit in index:
            if runs and self._are_neighbours(runs[-1][-1], digit):
                runs[-1] += (digit,)
            else:
                runs.append((digit,))
        return runs

    def _are_neighbours(self, first: int, second: int) -> bool:
        return self._is_known and all(
            (first in index) == (second in index)
            and (first not in index or index[index.index(first) :][1:2] == (second,))
            for index in {self.order, *self.index_of.values()}
        )

    @cached_property
    def _is_known(self) -> bool:
        """Whether each value is read at one index only, but for scalars."""
        values = {o for member in self.members for o in (member, *member.operands)}
        return all(v in self.index_of or v.shape.size == 1 for v in values)

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
            if self.index_of.get(value) == self.order and value not in computed
        }
        rows = self.count(self.kept)
        if self.by_columns:
            rows = max(rows // machine.LANES, 1)
        return sum(whole.values()) // max(rows, 1)


def nest_of(members: Sequence[Instruction], outputs: Sequence[Instruction]) -> LoopNest | str:
    """The common loops of some values, or the reason why there are none.

    Parameters
    ----------
    members : the values computed, each after its operands; an operand that is no member is read.
    outputs : members whose values are stored.
    """
    indices = _Indices(members, outputs)
    index_of = indices.resolved()
    folds = [m for m in members if m.opcode == "reduce"]
    empty = next((f for f in folds if not f.operands[0].shape.size), None)
    if empty is not None:
        return f"%{empty.name} folds nothing"
    lost = next((i for i in (*folds, *outputs) if i not in index_of), None)
    if lost is not None:
        return f"%{lost.name} is read at several indices"
    inputs = {f: indices.digits.resolve(indices.folded[f]) for f in folds}
    order = inputs[folds[0]] if folds else index_of[outputs[0]]
    dims = index_of[folds[0]] if folds else order
    for fold in folds:
        if inputs[fold] != order or index_of[fold] != dims:
            return f"%{fold.name} and %{folds[0].name} fold in different loops"
    for output in outputs:
        if index_of[output] not in (order, dims):
            return f"%{output.name} has other elements than the loops have iterations"
    folded = tuple(d for d in order if d not in dims)
    if tuple(d for d in order if d in dims) != dims:
        return f"%{folds[0].name} has its elements in another order than what it folds"
    sweep = _sweeps(members)
    return LoopNest(indices.digits, order, dims, folded, index_of, sweep, members, folds, outputs)


def _sweeps(members: Sequence[Instruction]) -> dict[Instruction, int]:
    """The longest chain of folds below each value."""
    sweep: dict[Instruction, int] = {}
    for member in members:
        below = (sweep[o] + (o.opcode == "reduce") for o in member.operands if o in sweep)
        sweep[member] = max(below, default=0)
    return sweep


class _Indices:
    """The indices at which values are read, found from the results backwards.

    Attributes
    ----------
    folded : the index at which each reduce reads its operands.
    """

    def __init__(self, members: Sequence[Instruction], outputs: Sequence[Instruction]) -> None:
        self.digits = Digits()
        self.folded: dict[Instruction, DigitIndex] = {}
        self._index: dict[Instruction, DigitIndex | None] = {}
        for space, output in enumerate(outputs):
            self._read_at(output, self.digits.new(output.shape.first_leaf.dims, space))
        self._spaces = len(outputs)
        for member in reversed(members):
            self._read_operands(member)

    def _read_at(self, instr: Instruction, index: DigitIndex | None) -> None:
        """Let a value be read at one more index; None stands for one that digits cannot say."""
        if instr not in self._index:
            self._index[instr] = index
            return
        known = self._index[instr]
        if known is None or index is None or not self.digits.unify(known, index):
            self._index[instr] = None

    def _read_operands(self, member: Instruction) -> None:
        """Let the operands of a value be read at the indices that its own leads to."""
        index = self._index.get(member)
        arrays = len(member.operands) // 2 if member.opcode == "reduce" else 0
        if arrays and index is not None:
            index = self._folded(member, index)
        for number, operand in enumerate(member.operands):
            if index is None:
                self._read_at(operand, () if operand.shape.size == 1 else None)
            elif arrays:
                self._read_at(operand, index if number < arrays else ())
            else:
                self._read_at(operand, self.digits.operand_index(member, number, index))

    def _folded(self, member: Instruction, index: DigitIndex) -> DigitIndex | None:
        """The index at which a reduce reads its operands, from the index of its result."""
        attrs = a.Dimensions.of(member)
        groups = self.digits.grouped(index, member.shape.first_leaf.dims)
        if groups is None:
            self._index[member] = None
            return None
        dims, digits = iter(groups), list[int]()
        self._spaces += 1
        self.digits.belong(index, self._spaces)
        for number, size in enumerate(member.operands[0].shape.dims):
            folded = number in attrs.dimensions
            digits += self.digits.new((size,), self._spaces) if folded else next(dims)
        self.folded[member] = tuple(digits)
        return tuple(digits)

    def resolved(self) -> dict[Instruction, DigitIndex]:
        """The index of each value that is read at one only."""
        pairs = self._index.items()
        return {i: self.digits.resolve(p) for i, p in pairs if p is not None}
