"""Long sums of floats, added up in short runs whose totals are f64: cascade summation.

    for j < 100000: sum = sum + x[j]

becomes

    f64 total = -0
    for every run of 32:
      for j of the run: sum = sum + x[j]
      total = total + sum; sum = -0
    sum = total + sum

The rounding error of a sum grows with the number of additions that a number goes through, here 32
and a few of f64. (XLA's pass `tree-reduction-rewriter` does the same with trees of f32.) Without
this, 100,000 equal numbers are 1e-3 off in one variable, and 6e-5 in 16 lanes; with it, 3e-7.

All iterations stay in their order, so it does not matter what else a loop does. Where it reads the
sum, as a cumulative sum does, it reads `total + sum`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from codegen.expressions import Cast, Choose, Expr, Group, Literal, Load, Name, Op
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.schedule.divide import divide
from codegen.schedule.obligations import AnyOrder, granted
from codegen.schedule.trace import applied, attempt
from codegen.statements import (
    Assign,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    nested,
    own_names,
    replaced,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, walk
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.elements.body import Body

RUN_OF_A_SUM, LONG_SUM = 64, 256
"""Chosen: additions of a run of a sum, and those of a sum that is cut into runs. Equal numbers, the
worst case, are 9e-9 off for each addition of f32: 3e-7 for a run, and 2e-6 for 256."""


def cascade_sums(
    body: Body,
    statements: Sequence[Statement],
    outside: Mapping[str, LocalVariable] | None = None,
) -> tuple[Statement, ...]:
    """Statements whose long sums of floats are added up in runs.

    Parameters
    ----------
    outside : the variables that are declared around the statements.
    """
    variables, result = dict(outside or {}), list[Statement]()
    for statement in statements:
        match statement:
            case LocalVariable(kind="f32" | "f64", name=name):
                variables[name] = statement
                result.append(statement)
            case For() if sums := _long_sums(body, statement, variables):
                runs = attempt(partial(_cascaded, body, statement, sums))
                result += runs or [statement]
            case For(simd=False) | Forever():
                result.append(statement.with_body(cascade_sums(body, statement.body, variables)))
            case If(_, then, otherwise):
                blocks = (cascade_sums(body, block, variables) for block in (then, otherwise))
                result.append(statement.with_blocks(*blocks))
            case _:
                result.append(statement)
    return tuple(result)


@dataclass(frozen=True, slots=True)
class _LongSum:
    """A variable, or an array of variables, to which a loop adds numbers.

    Attributes
    ----------
    targets : what of it the loop adds to: elements of an array, or the variable.
    total : the name of the f64 to which runs are added.
    index : the name of a counter of an array's elements.
    """

    variable: LocalVariable
    targets: frozenset[Expr]
    total: str
    index: str

    def begin(self) -> list[Statement]:
        """Declare the totals."""
        nothing = Literal(-0.0, "f64")
        if self.variable.size is None:
            return [LocalVariable("f64", self.total, nothing)]
        declared = LocalVariable("f64", self.total, size=self.variable.size)
        return [declared, *self._each(Assign(self._element(self.total), nothing))]

    def end_run(self) -> list[Statement]:
        """Add the sum of a run to the total, and begin the next."""
        added = Assign(self._element(self.total), self._f64(self._element(self.variable.name)))
        again = Assign(self._element(self.variable.name), Literal(-0.0, self._kind))
        return self._each(added, again)

    def end(self) -> list[Statement]:
        """Make the total, and the additions since the last run, the sum."""
        element = self._element(self.variable.name)
        return self._each(Assign(element, self._whole(element)))

    def read(self, tree: Expr) -> Expr:
        """An expression that reads the whole sum where it read the variable."""
        match tree:
            case Name(name) | Load(Name(name)) if name == self.variable.name:
                return self._whole(tree)
            case _:
                return rebuilt(tree, self.read)

    @property
    def _kind(self) -> str:
        return number_of(self.variable.kind)

    def _whole(self, element: Expr) -> Expr:
        """The total and the run, in the variable's type."""
        whole = self._f64(element)
        return Group(whole) if self._kind == "f64" else Cast(self._kind, whole)

    def _f64(self, element: Expr) -> Expr:
        total = (
            Load(Name(self.total), element.index) if isinstance(element, Load) else Name(self.total)
        )
        return total + (element if self._kind == "f64" else Cast("f64", element))

    def _element(self, name: str) -> Name | Load:
        return Name(name) if self.variable.size is None else Load(Name(name), Name(self.index))

    def _each(self, *statements: Statement) -> list[Statement]:
        """Statements for each element."""
        size = self.variable.size
        return [*statements] if size is None else [For(self.index, size, statements, simd=True)]


def _long_sums(body: Body, loop: For, variables: Mapping[str, LocalVariable]) -> Sequence[_LongSum]:
    """The variables to which a loop adds so many numbers that rounding shows."""
    if not _can_be_cut(loop):
        return ()
    targets: dict[str, set[Expr]] = {}
    for statement in nested(loop.body):
        if isinstance(statement, Assign) and _is_addition(statement):
            targets.setdefault(base(statement.target), set()).add(statement.target)
    long = [
        (variables[name], frozenset(own)) for name, own in targets.items()
        if name in variables and _additions([loop], frozenset(own)) > LONG_SUM
    ]  # fmt: skip
    return [
        _LongSum(variable, own, body.name("total"), body.name("k"))
        for variable, own in long
        if all(_goes_with_totals(statement, variable) for statement in nested(loop.body))
    ]


def _goes_with_totals(statement: Statement, variable: LocalVariable) -> bool:
    """Whether a statement, without those inside, adds to a variable, or reads it as a number."""
    name = variable.name
    if name not in own_names(statement):
        return True
    match statement:
        case For(reductions=reductions):
            bounds = [names_of(tree) for tree in trees(statement)]
            return not any(name in names for names in bounds) and len(reductions) > 0
        case Let(value=value):
            changed, read = "", [value]
        case Assign(target, value):
            changed, read = "" if _is_addition(statement) else base(target), [target, value]
        case _:
            return False
    if changed == name or variable.size is None:
        return changed != name
    loads = (tree for value in read for tree in walk(value) if isinstance(tree, Load))
    numbers = sum(tree.pointer == Name(name) for tree in loads)
    return numbers == sum(names_of(tree).count(name) for tree in read)


def _can_be_cut(loop: For) -> bool:
    return isinstance(loop.step, int) and not (loop.parallel or loop.unroll)


def _is_addition(statement: Assign) -> bool:
    """Whether an assignment adds a number to its target, perhaps in some lanes only."""
    match statement.target, statement.value:
        case target, Op("+", (first, second)) if first == target:
            return base(target) not in names_of(second)
        case target, Choose(condition, Op("+", (first, second)), otherwise) if (
            first == target == otherwise
        ):
            return base(target) not in names_of(second) + names_of(condition)
        case _:
            return False


def _additions(statements: Sequence[Statement], targets: frozenset[Expr]) -> int:
    """The most numbers that statements add to one of some variables or elements."""
    return max((_added(statements, target) for target in targets), default=0)


def _added(statements: Sequence[Statement], target: Expr) -> int:
    count = 0
    for statement in statements:
        match statement:
            case Assign(changed):
                count += changed == target
            case If(_, then, otherwise):
                count += max(_added(then, target), _added(otherwise, target))
            case For(body=inside):
                count += _times(statement, target) * _added(inside, target)
            case _:
                pass
    return count


def _times(loop: For, target: Expr) -> int:
    """The number of iterations of a loop that add to the same variable."""
    own = {loop.name, *(s.name for s in loop.body if isinstance(s, Let))}
    if own & set(names_of(target)):
        return 1
    in_lanes = loop.simd and any(name == base(target) for _, name in loop.reductions)
    return -(-trip_count(loop) // (machine.LANES if in_lanes else 1))


def _cascaded(body: Body, loop: For, sums: Sequence[_LongSum]) -> list[Statement]:
    """The loop in runs, with the totals before and after it."""
    begin = [s for total in sums for s in total.begin()]
    end = [s for total in sums for s in total.end()]
    targets = frozenset(target for total in sums for target in total.targets)

    def reading_totals(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, Let | Assign):
            return None
        if isinstance(statement, Assign) and statement.target in targets:
            return [statement]
        for total in sums:
            statement = rewritten(statement, total.read)
        return [statement]

    whole = loop.with_body(replaced(loop.body, reading_totals))
    made = [*begin, *_in_runs(body, whole, targets, sums), *end]
    granted(*(AnyOrder("+", "f64", Literal(-0.0, "f64")) for _ in sums))
    why = "numbers may be added in any order, and totals of f64 round less: each run joins one"
    applied("rfactor by runs", why, loop, made)
    return made


def _in_runs(
    body: Body, loop: For, targets: frozenset[Expr], sums: Sequence[_LongSum]
) -> list[Statement]:
    """The loop, in which some iterations, or some of a loop inside, are a run."""
    additions = _additions(loop.body, targets)
    if additions > RUN_OF_A_SUM:
        inside = [s for s in loop.body if isinstance(s, For) and _can_be_cut(s)]
        longest = max(inside, key=lambda s: _additions([s], targets), default=None)
        if longest is not None and _additions([longest], targets) > RUN_OF_A_SUM:
            runs = _in_runs(body, longest, targets, sums)
            others = (runs if s is longest else [s] for s in loop.body)
            return [loop.with_body(s for other in others for s in other)]
    length = max(RUN_OF_A_SUM // additions, 1) * (machine.LANES if loop.simd else 1)

    def run(iterations: For, _: Expr | int) -> list[Statement]:
        return [iterations, *(s for each_sum in sums for s in each_sum.end_run())]

    return divide(body, loop, length, run, tail="min", word="run")
