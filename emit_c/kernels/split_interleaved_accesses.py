"""Several columns of an array, loaded and stored one by one around a loop in lanes.

    for i < 64: y[i] = exp_f32(x[7 * i]) + x[7 * i + 2]

becomes

    for k < 64: column[k] = x[7 * k]
    for k < 64: column_1[k] = x[7 * k + 2]
    for k < 64: y[k] = exp_f32(column[k]) + column_1[k]

Columns that are stored are computed first, and then stored row after row, without lanes.

Loads or stores of one array at the same stride are an interleaved group for compilers, which load
it whole, and take it apart by shuffles. At most strides they find no shuffles, and run the loop
without lanes; at a large power of two they find thousands, and compile for seconds. A load that is
alone at its stride is done element by element, which disturbs no other statement; unless the stride
is such a power of two, where gcc 12 runs the whole loop without lanes. Without this, three
functions of the columns of rows of 5, 7 or 10 take 3 to 5 times as long, those that store 5, 6 or 7
columns 4 times, and the loss of proximal policy optimization (of a transposed array) 4 times.

Three columns are shuffled by compilers, but where a choice leaves out loads, gcc 12 loads all of
them under the masks of the first vector, and stores wrong numbers: so these are stored row after
row as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.kinds import element_of
from codegen.loops.work import trip_count, work
from codegen.loops.written_out import copied
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    base,
    each_side,
    replaced,
    rewritten,
    straight,
    trees,
    values,
)
from codegen.walk import names_of, rebuilt, substitute, walk
from emit_c.kernels.loads import certain_loads
from emit_c.kernels.strides import factor, has_loads, is_power_of_two
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.kinds import Kind


def split_interleaved_accesses(
    body: Body, statements: Sequence[Statement], kinds: Mapping[str, Kind]
) -> tuple[Statement, ...]:
    """Statements whose loops in lanes access no two columns of an array in one loop.

    Parameters
    ----------
    kinds : of the kernel's arrays, by name.
    """

    def change(statement: Statement) -> Sequence[Statement] | None:
        match statement:
            case For(simd=True, start=int(), stop=int(), step=1, body=inside) if straight(inside):
                return _Columns(body, statement, kinds).statements()
            case _:
                return None

    return replaced(statements, change)


class _Columns:
    """A loop in lanes, and the columns that it accesses.

    Attributes
    ----------
    numbers : names for the counter plus a number, with their values.
    varying : names of all else that changes within the loop.
    loaded, stored : elements of columns.
    """

    def __init__(self, body: Body, loop: For, kinds: Mapping[str, Kind]) -> None:
        self.body, self.loop, self.kinds = body, loop, kinds
        self._every = list(each_side(loop.body))
        lets = [s for s in self._every if isinstance(s, Let)]
        self.numbers = {
            s.name: s.value
            for s in lets
            if loop.name in names_of(s.value) and not has_loads(s.value)
        }
        self._written = Counter(base(s.target) for s in self._every if isinstance(s, Assign))
        declared = {s.name for s in self._every if isinstance(s, Let | LocalVariable)}
        self.varying = (declared | self._written.keys()) - self.numbers.keys()
        self._loads = [load for s in loop.body for tree in trees(s) for load in certain_loads(tree)]
        self.loaded = self._interleaved(
            [each for each in self._loads if base(each) not in self._written]
        )
        targets = (s.target for s in loop.body if isinstance(s, Assign))
        stores = [each for each in targets if isinstance(each, Load) and self._stride(each) > 1]
        self.stored = self._interleaved(self._written_once(stores)) if stores else []

    @cached_property
    def left_apart(self) -> set[int]:
        """Strides at which compilers are to take elements apart."""
        strides = {*machine.TAKEN_APART, *machine.TAKEN_WHOLE}
        trees_inside = (tree for s in self._every for tree in values(s))
        inside = {each for tree in trees_inside for each in walk(tree) if isinstance(each, Load)}
        is_masked = not inside <= {*self._loads}
        return strides - {*machine.TAKEN_WRONG_WITH_MASKS} if is_masked else strides

    @cached_property
    def all_known(self) -> bool:
        """Whether the stride of each load is known, so that none else keeps the loop from lanes."""
        return all(map(self._is_known, self._loads))

    def _written_once(self, stores: Iterable[Load]) -> list[Load]:
        """Those elements of arrays that nothing reads, and that are written for certain, once."""
        read = {name for s in self._every for tree in values(s) for name in names_of(tree)}
        at_once = {s.target for s in self.loop.body if isinstance(s, Assign)}
        # As many as are written: none is written twice, or in a branch.
        once = Counter(map(base, at_once))
        return [
            each
            for each in stores
            if base(each) not in read and self._written[base(each)] == once[base(each)]
        ]

    def _interleaved(self, elements: Iterable[Load]) -> list[Load]:
        """The elements that belong to a group which compilers do not take apart."""
        strides = {each: n for each in elements if (n := self._stride(each)) > 1}
        groups = Counter((base(each), stride) for each, stride in strides.items())
        return [each for each, n in strides.items() if self._splits(n, groups[base(each), n])]

    def _splits(self, stride: int, count: int) -> bool:
        """Whether so many elements at a stride keep a loop out of lanes that are worth columns."""
        if count > 1:
            return stride not in self.left_apart
        fills_vectors = stride < machine.LANES or trip_count(self.loop) > machine.LANES
        is_left_out = stride in self.left_apart and fills_vectors
        keeps_from_lanes = is_power_of_two(stride) and not is_left_out
        return keeps_from_lanes and self.all_known and self._computes_much()

    def _is_known(self, element: Load) -> bool:
        """Whether an element's stride is known, if the counter is in its index."""
        index = substitute(element.index, self.numbers)
        is_given = isinstance(element.pointer, Name) and base(element) in self.kinds
        return not is_given or self.loop.name not in names_of(index) or self._stride(element) > 0

    def _computes_much(self) -> bool:
        """Whether the loop does more than to move elements."""
        moves = (
            s
            for s in self.loop.body
            if isinstance(s, Let | Assign) and isinstance(s.value, Load | Name)
        )
        left = work(self.loop.body) - sum(1 for _ in moves) - len(self.numbers)
        return left >= machine.WORTH_A_COLUMN

    def _stride(self, element: Load) -> int:
        """The stride of an element's index; 0 if it is not known."""
        index = substitute(element.index, self.numbers)
        names = names_of(index)
        stride = abs(factor(self.loop.name, index) or 0)
        known = isinstance(element.pointer, Name) and base(element) in self.kinds
        if not known or has_loads(index) or not self.varying.isdisjoint(names):
            return 0
        return stride

    def statements(self) -> Sequence[Statement]:
        """The loop in blocks, each with loops around it that load and store columns."""
        loop, size = self.loop, machine.BLOCK_OF_COLUMNS
        columns = len(self.loaded) + len(self.stored)
        if not columns:
            return (loop,)
        if columns > machine.MOST_COLUMNS:
            return (replace(loop, simd=False, reductions=()),)
        assert isinstance(loop.start, int)
        assert isinstance(loop.stop, int)
        count = loop.stop - loop.start
        if count <= size:
            return tuple(self._block(loop.start, count))
        block, whole = self.body.name(f"{loop.name}_block"), loop.stop - count % size
        inside = tuple(self._block(Name(block), size))
        blocks = replace(
            loop, name=block, stop=whole, step=size, body=inside, simd=False, reductions=()
        )
        rest = self._block(whole, count % size) if count % size else ()
        return (blocks, *rest)

    def _block(self, start: Expr | int, count: int) -> Iterator[Statement]:
        """Some iterations of the loop, from one on."""
        lane = self.body.name("k")
        number = Name(lane) + start if start else Name(lane)
        columns: dict[Expr, Load] = {}
        loads: list[Statement] = []
        stores: list[Statement] = []
        for element in (*self.loaded, *self.stored):
            index = substitute(element.index, self.numbers)
            there = Load(element.pointer, substitute(index, {self.loop.name: number}))
            name = self.body.name("column")
            here = columns[element] = Load(Name(name), Name(lane))
            yield LocalVariable(element_of(self.kinds[base(element)]), name, None, count)
            if element in self.loaded:
                # At a power of two there are no lanes, but then the loop only loads.
                is_in_lanes = not is_power_of_two(self._stride(element))
                loads.append(For(lane, count, (Assign(here, there),), simd=is_in_lanes))
            else:
                stores.append(Assign(there, here))

        def change(tree: Expr) -> Expr:
            return columns[tree] if tree in columns else rebuilt(tree, change)

        counter = Let("s64", self.loop.name, number)
        inside = (counter, *(rewritten(s, change) for s in self.loop.body))
        yield from loads
        yield replace(
            self.loop,
            name=lane,
            start=0,
            stop=count,
            body=tuple(copied(self.body, inside, {})),
            parallel=False,
        )
        if stores:
            yield For(lane, count, tuple(stores))
