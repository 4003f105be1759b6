"""Loop nests as small immutable data, before they are text.

Statements are what transformations look at: loops, blocks and assignments, of expressions that are
trees: see `codegen.expressions`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from codegen.expressions import Expr, Load, Name
from codegen.walk import callees_of, children, names_of, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from codegen.callees import Callee, Named
    from codegen.expressions import LaunchIndex
    from codegen.kinds import Kind


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value: `const f32 sum = x + y;`."""

    kind: Kind
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class LocalVariable:
    """A name whose value changes: `f32 total = 0;`. An array has its length in `size`.

    Attributes
    ----------
    work : as of `Call`, of the function that gives the value.
    """

    kind: Kind
    name: str
    value: Expr | None = None
    size: int | None = None
    work: int = 0


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value;`, where the target is a variable or an element of an array."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    """Count `name` from `start` while it is below `stop`; above it, if `step` is negative.

    Attributes
    ----------
    simd : its iterations depend on each other only through `reductions`, so that several may run
        at once in the lanes of a vector.
    reductions : what is folded over the iterations: (`+`, `total`).
    trip_count : about how many iterations there are, where the bounds do not say it.
    kind : the type of the counter.
    bind : the index of a block or of a thread that each iteration is given to.
        Iterations depend on each other as little as those of a `parallel` loop.
    unroll : each iteration is to have code of its own, so that small arrays stay in registers.
    parallel : its iterations do not depend on each other at all, so that several may run at once on
        several threads. They read what they like, write each to elements of its own, and assign to
        no variable that is declared outside of the loop. Memory that an iteration uses for itself
        comes from `Body.own`, never from the kernel's `scratch`. See `emit_c.kernels.parallelize`,
        which decides whether there is enough work for threads.
    """

    name: str
    stop: int | Expr
    body: tuple[Statement, ...]
    start: int | Expr = 0
    step: int | Expr = 1
    simd: bool = False
    reductions: tuple[tuple[str, str], ...] = ()
    parallel: bool = False
    trip_count: int | None = None
    unroll: bool = False
    kind: str = "s64"
    bind: LaunchIndex | None = None

    @property
    def counts_down(self) -> bool:
        """Whether its step is negative, so that it counts while it is above `stop`."""
        return isinstance(self.step, int) and self.step < 0

    def with_body(self, body: Iterable[Statement]) -> For:
        """The loop with another body; the same object if the body is the same.

        Passes visit all loops and change few of them.
        """
        statements = tuple(body)
        return self if _are_same(statements, self.body) else replace(self, body=statements)


@dataclass(frozen=True, slots=True)
class If:
    """An if statement with two blocks."""

    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()

    def with_blocks(self, then: Iterable[Statement], otherwise: Iterable[Statement]) -> If:
        """The branch with other blocks; the same object if the blocks are the same."""
        blocks = tuple(then), tuple(otherwise)
        same = _are_same(blocks[0], self.then) and _are_same(blocks[1], self.otherwise)
        return self if same else If(self.condition, *blocks)


@dataclass(frozen=True, slots=True)
class Forever:
    """A loop that only `Break` leaves."""

    body: tuple[Statement, ...]

    def with_body(self, body: Iterable[Statement]) -> Forever:
        """The loop with another body; the same object if the body is the same."""
        statements = tuple(body)
        return self if _are_same(statements, self.body) else Forever(statements)


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop, if a condition holds."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A function called for its effect.

    Attributes
    ----------
    function : as data; one of the same file is known by its `Name`.
    work : about how many operations in vector lanes it does; 0 where that is not known.
    """

    function: Named
    arguments: tuple[Expr, ...]
    work: int = 0


@dataclass(frozen=True, slots=True)
class Try:
    """A call that gives 0, or a status with which the function that calls ends as well."""

    function: Named
    arguments: tuple[Expr, ...]


Statement = Let | LocalVariable | Assign | For | If | Forever | Break | Call | Try
_STRAIGHT = (Let, Assign, LocalVariable)


def straight(statements: Sequence[Statement]) -> bool:
    """Whether statements run one after the other, without branches but for chosen values.

    Lanes do what both sides of a choice say, and each keeps what it has chosen.
    """
    return all(
        straight((*s.then, *s.otherwise)) if isinstance(s, If) else isinstance(s, _STRAIGHT)
        for s in statements
    )


def each_side(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements, and instead of each choice those of both its sides."""
    for statement in statements:
        if isinstance(statement, If):
            yield from each_side((*statement.then, *statement.otherwise))
        else:
            yield statement


def vectorized(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Let the innermost loops run in vector lanes, where they are straight code.

    Only for loops whose iterations are known to be independent: those over a kernel's outputs.
    """
    return tuple(_vectorized(s) for s in statements)


def _vectorized(statement: Statement) -> Statement:
    if not isinstance(statement, For):
        return statement
    if straight(statement.body):
        return replace(statement, simd=True)
    if any(isinstance(s, For) and s.reductions for s in statement.body):
        return statement
    if any(not isinstance(s, (For, *_STRAIGHT)) for s in statement.body):
        return statement
    if any(isinstance(s, LocalVariable) for s in statement.body):
        return statement
    return statement.with_body(vectorized(statement.body))


def scalar(statements: Sequence[Statement], *, folding: bool = False) -> tuple[Statement, ...]:
    """The statements with loops of which nothing is said that would let them run in lanes.

    Parameters
    ----------
    folding : it is said what they fold.
    """

    def change(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For):
            return None
        body = scalar(statement.body, folding=folding)
        reductions = statement.reductions if folding else ()
        return [replace(statement, body=body, simd=False, reductions=reductions, parallel=False)]

    return replaced(statements, change)


def live(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements without the names that nobody reads."""
    read: set[str] = set()
    kept_statements: list[Statement] = []
    for statement in reversed(statements):
        if not isinstance(statement, Let) or statement.name in read:
            kept_statements.append(statement)
            read.update(names_in([statement]))
    return tuple(reversed(kept_statements))


# -------------------------------------------------------------------------------------------- names


def trees(statement: Statement) -> tuple[Expr, ...]:
    """The trees of a statement, but for those of statements inside of it."""
    return _TREES[type(statement)](statement)


def _bounds(loop: For) -> tuple[Expr, ...]:
    """The bounds of a loop that are no integers."""
    return tuple(n for n in (loop.start, loop.stop, loop.step) if not isinstance(n, int))


# By type, since all walks through statements ask for them.
_TREES: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Let: lambda let: (let.value,),
    Assign: attrgetter("target", "value"),
    LocalVariable: lambda variable: () if variable.value is None else (variable.value,),
    For: _bounds,
    If: lambda choice: (choice.condition,),
    Break: lambda end: (end.condition,),
    Call: attrgetter("arguments"),
    Try: attrgetter("arguments"),
    Forever: lambda _: (),
}
_BLOCKS: dict[type, Callable[[Any], tuple[tuple[Statement, ...], ...]]] = {
    For: lambda loop: (loop.body,),
    Forever: lambda loop: (loop.body,),
    If: attrgetter("then", "otherwise"),
}


def values(statement: Statement) -> Iterable[Expr]:
    """The trees that a statement computes: of an assignment, the value and the index."""
    if not isinstance(statement, Assign):
        return trees(statement)
    inside = children(statement.target)[1:]
    return (*inside, statement.value)


def _are_same(new: tuple[Statement, ...], old: tuple[Statement, ...]) -> bool:
    return len(new) == len(old) and all(map(is_, new, old))


def blocks(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks inside of a statement."""
    find = _BLOCKS.get(type(statement))
    return find(statement) if find else ()


def nested(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements and all statements inside of them."""
    for statement in statements:
        yield statement
        find = _BLOCKS.get(type(statement))
        for block in find(statement) if find else ():
            yield from nested(block)


def names_in(statements: Iterable[Statement]) -> list[str]:
    """The names that statements read and write, each as often as it occurs there."""
    names: list[str] = []
    for statement in nested(statements):
        names += own_names(statement)
    return names


def own_names(statement: Statement) -> list[str]:
    """The names in one statement, without those in the statements inside of it."""
    names: list[str] = []
    for tree in trees(statement):
        names += names_of(tree)
    if isinstance(statement, For):
        names += [name for _, name in statement.reductions]
    return names


def changed_in(statements: Iterable[Statement]) -> set[str]:
    """The names that statements declare or assign to, and the counters of their loops."""
    names: set[str] = set()
    for statement in nested(statements):
        if isinstance(statement, Assign):
            names.add(base(statement.target))
        elif isinstance(statement, Let | LocalVariable | For):
            names.add(statement.name)
    return names


def callees_in(statements: Iterable[Statement]) -> set[Callee]:
    """The functions that statements apply."""
    return {f for s in nested(statements) for tree in trees(s) for f in callees_of(tree)}


def base(target: Expr) -> str:
    """The name of the variable or array that an assignment changes."""
    match target:
        case Name(name) | Load(Name(name)):
            return name
        case _:
            return names_of(target)[0]


def rewritten(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """A statement of other trees, and of other ones inside of it; itself where nothing changes."""
    match statement:
        case Let(kind, name, value):
            new_value = change(value)
            return statement if new_value is value else Let(kind, name, new_value)
        case Assign(target, value):
            new_target, new_value = change(target), change(value)
            same = new_target is target and new_value is value
            return statement if same else Assign(new_target, new_value)
        case LocalVariable(value=value):
            new_value = None if value is None else change(value)
            return statement if new_value is value else replace(statement, value=new_value)
        case Break(condition):
            new_value = change(condition)
            return statement if new_value is condition else Break(new_value)
        case Call(_, arguments) | Try(_, arguments):
            arguments_now = tuple(map(change, arguments))
            same = all(map(is_, arguments_now, arguments))
            return statement if same else replace(statement, arguments=arguments_now)
        case For() | Forever() | If():
            return _rewritten_inside(statement, change)


def _rewritten_inside(statement: For | Forever | If, change: Callable[[Expr], Expr]) -> Statement:
    inside = [tuple(rewritten(s, change) for s in block) for block in blocks(statement)]
    match statement:
        case For(stop=stop, start=start, step=step, reductions=reductions):
            bounds = [n if isinstance(n, int) else change(n) for n in (stop, start, step)]
            folds = tuple((op, _changed(name, change)) for op, name in reductions)
            new = statement.with_body(inside[0])
            if folds == reductions and all(map(is_, bounds, (stop, start, step))):
                return new
            return replace(new, stop=bounds[0], start=bounds[1], step=bounds[2], reductions=folds)
        case Forever():
            return statement.with_body(inside[0])
        case If(condition):
            new_condition, new = change(condition), statement.with_blocks(*inside)
            return new if new_condition is condition else replace(new, condition=new_condition)


def _changed(name: str, change: Callable[[Expr], Expr]) -> str:
    name_tree = change(Name(name))
    assert isinstance(name_tree, Name), name_tree
    return name_tree.name


def replaced(
    statements: Iterable[Statement], change: Callable[[Statement], Sequence[Statement] | None]
) -> tuple[Statement, ...]:
    """Statements of which some, at any depth, became others.

    Parameters
    ----------
    change : gives those that one becomes; None to keep it, and to change those inside of it.
    """
    statements_new: list[Statement] = []
    for statement in statements:
        if (others := change(statement)) is not None:
            statements_new += others
        else:
            statements_new.append(_with_blocks(statement, lambda block: replaced(block, change)))
    return tuple(statements_new)


def _with_blocks(
    statement: Statement, change: Callable[[tuple[Statement, ...]], tuple[Statement, ...]]
) -> Statement:
    """A statement with other blocks inside; the same object if all are the same."""
    if isinstance(statement, For | Forever):
        return statement.with_body(change(statement.body))
    if isinstance(statement, If):
        return statement.with_blocks(change(statement.then), change(statement.otherwise))
    return statement


def in_lanes(
    statements: Iterable[Statement], change: Callable[[For], Sequence[Statement] | None]
) -> tuple[Statement, ...]:
    """Statements of which some loops in vector lanes became others: see `replaced`."""
    statements_new: list[Statement] = []
    for statement in statements:
        if type(statement) not in _BLOCKS:  # most are neither loops nor branches
            statements_new.append(statement)
            continue
        others = change(statement) if isinstance(statement, For) and statement.simd else None
        if others is None:
            statements_new.append(_with_blocks(statement, lambda block: in_lanes(block, change)))
        else:
            statements_new += others
    return tuple(statements_new)


def renamed(statement: Statement, values: Mapping[str, Expr]) -> Statement:
    """A statement with trees instead of names of variables."""
    return rewritten(statement, lambda tree: substitute(tree, values))
