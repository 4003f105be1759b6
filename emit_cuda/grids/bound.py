"""Loops that a schedule has bound to blocks and threads, as launches.

    for i < 90 (blockIdx.x): t[32]
      for k < 32 (threadIdx.x): t[k] = x[32 * i + k]
      for k < 32 (threadIdx.x): y[32 * i + k] = t[31 - k]

becomes, for 90 blocks of 32 threads that share `t`,

    i = blockIdx.x; k = threadIdx.x; t[k] = x[32 * i + k]; __syncthreads()
    k = threadIdx.x; y[32 * i + k] = t[31 - k]

Each outermost loop is a launch of its own, so that nothing has to wait for other blocks. Loops
around each other that are bound to one index share it: the inner one has its lowest digit. After a
loop that folds, its threads meet, and the first of them has the result (`folding`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.elements.folds import all_joined
from codegen.expressions import BLOCK_X, THREAD_X, Cast, LaunchIndex, Level, Name, binary
from codegen.kinds import number_of
from codegen.schedule.divide import divide
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.order import bind, expect_bindable
from codegen.schedule.unroll import copied
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    base,
    blocks,
    nested,
    own_names,
    renamed,
)
from emit_cuda.grids.folding import ThreadParts, wrapped
from emit_cuda.grids.stages import BARRIER, WARP, CopyStage, Stage, block_for, stages
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.program.steps import Dim3
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Launches

# Of a block, along its third axis, and blocks along the second and the third axis.
MOST_THREADS, MOST_DEEP, MOST_BLOCKS = 1024, 64, 65_535
_BOUND = Level.BLOCK, Level.THREAD


def bound_stages(kernel: CudaKernel, statements: Sequence[Statement]) -> Launches:
    """A launch for each loop; those where none is bound have launches as of `stages`.

    Raises
    ------
    HloError
        HLO206 if there is something beside the loops, if a store is in no loop over one of the
        launch's indices, if a launch has too many threads, or if a block shares too much memory.
    """
    arrays = {argument.name for argument in kernel.arguments.values()}
    if not any(map(_is_bound, nested(statements))):
        return stages(statements, 0, arrays)
    made: list[Stage | CopyStage] = []
    for s in statements:
        if not isinstance(s, For):
            raise _refused("there is more beside loops that are bound than loops")
        if not any(map(_is_bound, nested([s]))):
            made += stages([s], 0, arrays)
            continue
        stage = bound_stage(kernel.body, s)
        if stage.extern_bytes > kernel.most_shared:
            size, most = f"{stage.extern_bytes:,} bytes", f"{kernel.most_shared:,}"
            raise _refused(f"a block shares {size}, and may share no more than {most}")
        made.append(stage)
    return made


def each_by_thread(body: Body, loop: For) -> For:
    """A loop that counts by 1 from 0, each of whose iterations has a thread of a grid."""
    assert isinstance(loop.stop, int)
    size = block_for(loop.stop)
    (blocks,) = divide(body, loop, size, lambda b, _: [bind(b, THREAD_X)], tail="guard")
    assert isinstance(blocks, For)
    return bind(blocks, BLOCK_X)


def bound_stage(body: Body, loop: For, kind: str = "loop") -> Stage:
    """The launch of a loop that is bound, or is around such loops; its kind is as of `Stage`.

    Raises
    ------
    HloError
        HLO206, as of `bound_stages`.
    """
    return _BoundLaunch(body, loop).stage(kind)


def _is_fold(statement: Statement) -> bool:
    """Whether threads fold together."""
    return isinstance(statement, For) and bool(statement.bind) and bool(statement.reductions)


def _extent(statements: Sequence[Statement], index: LaunchIndex) -> int:
    """How many blocks or threads along an index statements are done by."""
    extents = [1]
    for s in statements:
        if isinstance(s, For):
            own = (LoopView(s).trips or 1) if s.bind == index else 1
            extents.append(own * _extent(s.body, index))
        elif isinstance(s, If):
            extents += [_extent(side, index) for side in blocks(s)]
    return max(extents)


def _is_bound(statement: Statement) -> bool:
    return isinstance(statement, For) and statement.bind is not None


@dataclass(frozen=True)
class _Surroundings:
    """A block of statements.

    Attributes
    ----------
    left : of each index of the loops around it, how many blocks or threads do an iteration of
        these.
    known : the names of numbers of blocks and threads that are declared in it, or around it.
    repeats : it runs again and again.
    """

    left: Mapping[LaunchIndex, int]
    known: dict[Expr, Name]
    repeats: bool = False

    def inside(self, *, repeats: bool = False) -> _Surroundings:
        """A block inside of it."""
        return _Surroundings(self.left, {**self.known}, self.repeats or repeats)

    def on(self, index: LaunchIndex, left: int) -> _Surroundings:
        """The same block, where an iteration has become an index, or a digit of it."""
        return _Surroundings({**self.left, index: left}, self.known, self.repeats)


class _BoundLaunch:
    """The launch of a statement.

    Attributes
    ----------
    sizes : the number of blocks and threads along each index that a loop has.
    shared : the arrays that a block's threads share: type, name, elements.
    """

    def __init__(self, body: Body, statement: Statement) -> None:
        self.body, self.statement = body, _BoundNames(body).apart(statement)
        indices = (LaunchIndex(level, axis) for level in _BOUND for axis in "xyz")
        self.sizes = {index: _extent([statement], index) for index in indices}
        self.shared: list[tuple[str, str, int]] = []

    def stage(self, kind: str) -> Stage:
        """The launch, as one of a kind."""
        try:
            expect_bindable([self.statement])
        except IllegalError as error:
            raise _refused(str(error)) from error
        statements = tuple(self._lowered([self.statement], _Surroundings({}, {})))
        grid, block = self._size(Level.BLOCK), self._size(Level.THREAD)
        threads = block[0] * block[1] * block[2]
        if threads > MOST_THREADS:
            raise _refused(f"a block of {threads:,} threads is larger than {MOST_THREADS:,}")
        if block[2] > MOST_DEEP:
            raise _refused(f"a block has no more than {MOST_DEEP} threads along z")
        waits = bool(self.shared) or any(map(_is_fold, nested([self.statement])))
        return Stage(statements, grid, block, tuple(self.shared), kind=kind, waits=waits)

    def _size(self, level: Level) -> Dim3:
        x, y, z = (self.sizes[LaunchIndex(level, axis)] for axis in "xyz")
        if max(y, z) > MOST_BLOCKS:
            raise _refused(f"there are no more than {MOST_BLOCKS:,} blocks along y and z")
        return x, y, z

    def _lowered(self, block: Sequence[Statement], place: _Surroundings) -> Iterator[Statement]:
        """Statements with indices in place of loops, and barriers between those of threads."""
        is_thread = any(index.level is Level.THREAD for index in place.left)
        for number, s in enumerate(block):
            match s:
                case LocalVariable(kind, name, _, int(size)) if not is_thread:
                    self.shared.append((number_of(kind), name, size))
                case Assign(target):
                    missing = [n for n, size in self.sizes.items() if place.left.get(n, size) > 1]
                    if missing:
                        first = min(map(str, missing))
                        raise _refused(f"the store to {base(target)} is in no loop over {first}")
                    yield s
                case For(bind=LaunchIndex() as index) if s.reductions:
                    yield from self._fold(s, index, block[number + 1 :], place)
                    return
                case For(bind=LaunchIndex() as index):
                    yield from self._index(s, index, place)
                case For():
                    yield s.with_body(self._lowered(s.body, place.inside(repeats=True)))
                case If():
                    sides = (tuple(self._lowered(b, place.inside())) for b in blocks(s))
                    yield s.with_blocks(*sides)
                case _:
                    yield s
            is_last = s is block[-1] and not place.repeats
            if self.shared and not is_thread and not is_last and _has_threads(s):
                yield BARRIER

    def _index(self, loop: For, at: LaunchIndex, place: _Surroundings) -> Iterator[Statement]:
        """A loop's iterations, each of them in the block or the thread of its number."""
        count, inner = LoopView(loop).trips or 0, _extent(loop.body, at)
        is_part = count * inner < place.left.get(at, self.sizes[at])
        number, digit = self._number(loop, at, place), self._digit(loop, at, place)
        place = (place.inside() if is_part else place).on(at, inner)
        inside = loop.body
        value = number if _is_only_added(loop.name, inside) else place.known.get(number)
        made: list[Statement] = []
        if value is not None:
            inside = [renamed(s, {loop.name: value}) for s in inside]
        else:
            is_digit = number == Cast(loop.kind, digit)
            made.append(Let(loop.kind, loop.name, digit if is_digit else number))
            place.known[number] = Name(loop.name)
        made += self._lowered(inside, place)
        if is_part:
            yield If(binary("<", Cast(loop.kind, digit), count), tuple(made))
        else:
            yield from made

    def _digit(self, loop: For, at: LaunchIndex, place: _Surroundings) -> Expr:
        """Which of a loop's iterations a block or a thread does."""
        size, inner = self.sizes[at], _extent(loop.body, at)
        left = place.left.get(at, size)
        digit: Expr = at if left == size else at % left
        return digit if inner == 1 else digit / inner

    def _number(self, loop: For, at: LaunchIndex, place: _Surroundings) -> Expr:
        """The counter of that iteration."""
        numbers = LoopView(loop).bounds
        assert numbers is not None
        number: Expr = Cast(loop.kind, self._digit(loop, at, place))
        number = number * numbers.step if numbers.step != 1 else number
        return number + numbers.start if numbers.start else number

    def _fold(
        self, loop: For, at: LaunchIndex, after: Sequence[Statement], place: _Surroundings
    ) -> Iterator[Statement]:
        """Threads that fold a part each, and meet; the first of them does what comes after."""
        operations, totals = zip(*loop.reductions, strict=True)
        own = [s for s in loop.body if isinstance(s, LocalVariable) and s.size is None]
        pairs = zip(loop.reductions, own, strict=False)
        joins = all_joined([(op, Name(total), Name(s.name)) for (op, total), s in pairs])
        inside, last = loop.body[: -len(totals)], loop.body[-len(totals) :]
        if len(own) != len(totals) or last != joins:
            raise _refused(f"the loop over {loop.name} folds no parts: see `deal`")
        count, size = LoopView(loop).trips or 0, self.sizes[at]
        in_warp = count <= WARP and count == place.left.get(at, size)
        in_block = count == size and not place.repeats
        if at != THREAD_X or not (in_warp or in_block) or count & (count - 1):
            raise _refused(f"the threads of the loop over {loop.name} can't meet")
        yield from self._index(replace(loop, reductions=(), body=inside), at, place)
        variables = [(number_of(s.kind), s.name) for s in own]
        with self.body.block() as met:
            ThreadParts(self.body, self._shared_array, variables, operations).join_threads(count)
        yield from met
        number = self._number(loop, at, place)
        kinds = {total: kind for total, (kind, _) in zip(totals, variables, strict=True)}
        then = self._lowered((*wrapped(joins, kinds), *after), place.on(at, 1))
        yield If(binary("==", place.known.get(number, number), 0), tuple(then))

    def _shared_array(self, kind: str, wanted: str, size: int) -> Name:
        name = self.body.name(wanted)
        self.shared.append((kind, name, size))
        return Name(name)


class _BoundNames:
    """Gives names of their own to what is in no block of its own, once loops are indices.

    Attributes
    ----------
    taken : the counters of bound loops, and the values that their iterations begin with.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.taken: set[str] = set()

    def apart(self, statement: Statement) -> Statement:
        """A statement that declares no name that is taken."""
        if isinstance(statement, If):
            sides = (tuple(map(self.apart, side)) for side in blocks(statement))
            return statement.with_blocks(*sides)
        if not isinstance(statement, For):
            return statement
        name, inside = statement.name, statement.body
        if not self.taken.isdisjoint(
            {name, *(LoopView(statement).declared if statement.bind else ())}
        ):
            name = self.body.name(name)
            inside = tuple(copied(self.body, inside, {statement.name: Name(name)}))
        if statement.bind:
            self.taken |= {name, *(s.name for s in inside if isinstance(s, Let))}
        return replace(statement, name=name, body=tuple(map(self.apart, inside)))


def _is_only_added(name: str, statements: Sequence[Statement]) -> bool:
    """Whether a name is mentioned once at most, where another one gets its value."""
    found = [s for s in nested(statements) for each in own_names(s) if each == name]
    return not found or (len(found) == 1 and isinstance(found[0], Let))


def _has_threads(statement: Statement) -> bool:
    indices = (s.bind for s in nested([statement]) if isinstance(s, For) and s.bind)
    return any(index.level is Level.THREAD for index in indices)


def _refused(message: str) -> HloError:
    return HloError("HLO206", f"the schedule has no launches: {message}")
