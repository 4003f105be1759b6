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
columns 4 times, the exponentials of one column of rows of 64 more than 3 times, and the loss of
proximal policy optimization (of a transposed array) 4 times.

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
from codegen.loops.work import work
from codegen.schedule.divide import divide, fresh
from codegen.schedule.fission import reading
from codegen.schedule.linear import linear
from codegen.schedule.loop import LoopView, has_loads
from codegen.schedule.stage import loading, storing
from codegen.statements import Assign, For, Let, LocalVariable, Statement, base, in_lanes
from codegen.walk import names_of
from emit_c.kernels.distribute_loops import ITERATIONS_OF_A_BLOCK
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.schedule.types import KernelTypes

TAKEN_WRONG_WITH_MASKS = (3,)
"""A fact about gcc 12: of these, the distances at which it stores wrong numbers if some are loaded
under masks; powers of two are right."""
WORTH_A_COLUMN = 2
"""Measured: operations for which a loop in lanes is worth to load ahead a column at a stride that
keeps gcc from lanes. With one, both take as long; two take 0.6 times as long, a division 0.4."""


def split_interleaved_accesses(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose loops in lanes access no two columns of an array in one loop."""

    def change(loop: For) -> Sequence[Statement] | None:
        view = LoopView(loop)
        if not view.is_counted or not view.is_straight:
            return None
        return _Columns(view, types).statements(body)

    return in_lanes(statements, change)


class _Columns:
    """A loop in lanes, and the columns that it accesses.

    Attributes
    ----------
    loaded, stored : elements of columns.
    """

    def __init__(self, loop: LoopView, types: KernelTypes) -> None:
        self.loop, self.types = loop, types
        self._written = Counter(base(s.target) for s in loop.every if isinstance(s, Assign))
        self._changing = (loop.declared | loop.written) - loop.numbers.keys()
        targets = [s.target for s in loop.body if isinstance(s, Assign)]
        self._stores = [target for target in targets if isinstance(target, Load)]
        self.loaded = self._interleaved(
            [load for load in loop.certain_loads if base(load) not in self._written]
        )
        stores = [store for store in self._stores if self._stride(store) > 1]
        self.stored = self._interleaved(self._written_once(stores)) if stores else []

    @cached_property
    def left_apart(self) -> set[int]:
        """Strides at which compilers are to take elements apart."""
        strides = {*machine.TAKEN_APART, *machine.TAKEN_WHOLE}
        is_masked = not {*self.loop.loads} <= {*self.loop.certain_loads, *self._stores}
        return strides - {*TAKEN_WRONG_WITH_MASKS} if is_masked else strides

    @cached_property
    def all_known(self) -> bool:
        """Whether the stride of each load is known, so that none else keeps the loop from lanes."""
        return all(map(self._is_known, [*self.loop.certain_loads, *self._stores]))

    def _written_once(self, stores: Iterable[Load]) -> list[Load]:
        """Those elements of arrays that nothing reads, and that are written for certain, once."""
        # As many as are written: none is written twice, or in a branch.
        once = Counter(map(base, {*self._stores}))
        return [
            store
            for store in stores
            if base(store) not in self.loop.read and self._written[base(store)] == once[base(store)]
        ]

    def _interleaved(self, elements: Iterable[Load]) -> list[Load]:
        """The elements that belong to a group which compilers do not take apart."""
        strides = {element: n for element in elements if (n := self._stride(element)) > 1}
        groups = Counter((base(element), stride) for element, stride in strides.items())
        return [
            element for element, n in strides.items() if self._splits(n, groups[base(element), n])
        ]

    def _splits(self, stride: int, count: int) -> bool:
        """Whether so many elements at a stride keep a loop out of lanes that are worth columns."""
        if count > 1:
            return stride not in self.left_apart
        fills_vectors = stride < machine.LANES or (self.loop.trips or 0) > machine.LANES
        is_left_out = stride in self.left_apart and fills_vectors
        keeps_from_lanes = stride.bit_count() == 1 and not is_left_out
        return keeps_from_lanes and self.all_known and self._computes_much()

    def _is_known(self, element: Load) -> bool:
        """Whether an element's stride is known, if the counter is in its index."""
        index = self.loop.at_once(element.index)
        is_given = isinstance(element.pointer, Name) and base(element) in self.types.arguments
        return not is_given or self.loop.name not in names_of(index) or self._stride(element) > 0

    def _computes_much(self) -> bool:
        """Whether the loop does more than to move elements."""
        moves = (
            s
            for s in self.loop.body
            if isinstance(s, Let | Assign) and isinstance(s.value, Load | Name)
        )
        left = work(self.loop.body) - sum(1 for _ in moves) - len(self.loop.numbers)
        return left >= WORTH_A_COLUMN

    def _stride(self, element: Load) -> int:
        """The stride of an element's index; 0 if it is not known."""
        known = isinstance(element.pointer, Name) and base(element) in self.types.arguments
        if not known:
            return 0
        index = self.loop.at_once(element.index)
        if has_loads(index) or not self._changing.isdisjoint(names_of(index)):
            return 0
        return abs(linear(index).stride(self.loop.name) or 0)

    def statements(self, body: Body) -> Sequence[Statement]:
        """The loop in blocks, each with loops around it that load and store columns."""
        loop = self.loop.statement
        columns = len(self.loaded) + len(self.stored)
        if not columns:
            return (loop,)
        # Blocks of all columns fill half of the first-level cache at most.
        if columns > machine.L1 // 2 // (4 * ITERATIONS_OF_A_BLOCK):
            return (replace(loop, simd=False, reductions=()),)

        def inside(block: For, _: Expr | int) -> Iterator[Statement]:
            waiting: dict[Load, Load] = {}
            for element in (*self.loaded, *self.stored):
                name = body.name("column")
                waiting[element] = Load(Name(name), Name(block.name))
                kind = self.types.of(base(element))
                yield LocalVariable(kind, name, None, LoopView(block).trips)
            loads = {waiting[element]: element for element in self.loaded}
            stores = {waiting[element]: element for element in self.stored}
            for element, copy in zip(self.loaded, loading(block, loads), strict=True):
                # At a power of two there are no lanes, but then the loop only loads.
                yield replace(copy, simd=self._stride(element).bit_count() != 1)
            yield fresh(body, reading(block, *(_by_element(pairs) for pairs in (loads, stores))))
            if stores:
                yield storing(block, stores)

        return divide(body, loop, ITERATIONS_OF_A_BLOCK, inside)


def _by_element(columns: Mapping[Load, Load]) -> dict[Expr, Load]:
    return {element: column for column, element in columns.items()}
