"""Values that are used once, at their use: the last step before a kernel is text.

    const f32 a = x[i]; const f32 b = y[i]; const f32 sum = a + b; z[i] = sum;

becomes

    z[i] = x[i] + y[i];

While a kernel is made, every value has a name. To read it, one wants the names that say something.
A load goes into the expression that takes it, if nothing is written in between; but not into one
that has a choice in it, since it would be a choice then whether to load. What is stored as soon as
it is computed is computed there. A name for nothing but another name is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import Callee
from codegen.expressions import Apply, Cast, Choose, Group, Load, Name, Op
from codegen.statements import (
    Assign,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    names_in,
    own_names,
    renamed,
    trees,
)
from codegen.walk import names_of, substitute, walk
from emit_c.kernels.peephole.loads import is_load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codegen.expressions import Expr
    from codegen.schedule.types import KernelTypes


def inline_uses(statements: Sequence[Statement], types: KernelTypes) -> tuple[Statement, ...]:
    """Statements without names that are used once, where these say nothing."""
    return _inlined(statements, types)[0]


def _inlined(
    statements: Sequence[Statement], types: KernelTypes
) -> tuple[tuple[Statement, ...], Counter[str]]:
    """A block of statements, and how often names were read and written there before."""
    uses = Counter[str]()
    inside = [_nested(s, types, uses) for s in _without_copies(statements)]
    by_number: dict[int, Statement] = {}
    loads: dict[str, tuple[int, Expr]] = {}  # numbers and values of those that may still be moved
    for number, statement in enumerate(inside):
        taken = _taken(statement, loads)
        for at, _ in taken.values():
            del by_number[at]
        current = _with_values(statement, {name: value for name, (_, value) in taken.items()})
        before = next(reversed(by_number), None)
        at_once = None if before is None else _at_once(by_number[before], current, types, uses)
        if at_once and before is not None:
            del by_number[before]
        current = by_number[number] = at_once or current
        if _changes_memory(current):
            loads = {}
        elif isinstance(current, Let) and uses[current.name] == 1 and _loads(current, types):
            loads[current.name] = number, current.value
    return tuple(by_number.values()), uses


def _nested(statement: Statement, types: KernelTypes, uses: Counter[str]) -> Statement:
    """A statement whose nested statements are done already, with its names counted."""
    match statement:
        case For() | Forever():
            body, words = _inlined(statement.body, types)
            uses.update(words)
            uses.update(own_names(statement))
            return statement.with_body(body)
        case If(condition, then, otherwise):
            uses.update(names_of(condition))
            blocks = [_inlined(block, types) for block in (then, otherwise)]
            for _, words in blocks:
                uses.update(words)
            return statement.with_blocks(blocks[0][0], blocks[1][0])
        case _:
            for tree in trees(statement):
                uses.update(names_of(tree))
            return statement


def _changes_memory(statement: Statement) -> bool:
    """Whether something else may be loaded after a statement than before it."""
    if isinstance(statement, Let):
        return any(
            isinstance(e, Op) and e.op == "&" and len(e.args) == 1 for e in walk(statement.value)
        )
    if not isinstance(statement, LocalVariable):
        return True
    return any(isinstance(e, Apply | Cast | Group) for v in trees(statement) for e in walk(v))


def _loads(let: Let, types: KernelTypes) -> bool:
    """Whether a value is an element of an array of its type."""
    match let.value:
        case Apply(Callee("load" | "load_one"), (value,)):
            return is_load(value)
        case Load(Name(array)):
            return is_load(let.value) and types.of(array) == let.kind
        case _:
            return False


def _taken(
    statement: Statement, loads: Mapping[str, tuple[int, Expr]]
) -> dict[str, tuple[int, Expr]]:
    """The loads that a statement's expression takes."""
    if (
        not loads
        or not isinstance(statement, Let | LocalVariable | Assign)
        or statement.value is None
    ):
        return {}
    taken = {name: loads[name] for name in names_of(statement.value) if name in loads}
    return {} if taken and any(map(_is_choice, walk(statement.value))) else taken


def _is_choice(tree: Expr) -> bool:
    return isinstance(tree, Choose) or (isinstance(tree, Op) and tree.op in ("&&", "||"))


def _with_values(statement: Statement, values: Mapping[str, Expr]) -> Statement:
    if not values or not isinstance(statement, Let | LocalVariable | Assign):
        return statement
    assert statement.value is not None
    return replace(statement, value=substitute(statement.value, values))


def _at_once(
    before: Statement, statement: Statement, types: KernelTypes, uses: Counter[str]
) -> Assign | None:
    """One statement for one that computes a value, and one that alone needs it, and stores it."""
    if not isinstance(statement, Assign) or not isinstance(before, Let):
        return None
    same = types.of(base(statement.target)) == before.kind
    if not same or statement.value != Name(before.name) or uses[before.name] != 1:
        return None
    return replace(statement, value=before.value)


# ------------------------------------------------------------------------------------------ copies


def _without_copies(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Statements without names for the values that variables of the same block have in the end."""
    copies = _copies(statements)
    if not copies:
        return statements
    values: dict[str, Expr] = {}
    others: list[Statement] = []
    for statement in statements:
        renamed_one = renamed(statement, values) if values else statement
        if isinstance(renamed_one, Let) and renamed_one.name in copies:
            values[renamed_one.name] = renamed_one.value
        else:
            others.append(renamed_one)
    return others


def _copies(statements: Sequence[Statement]) -> set[str]:
    """The names whose values are variables of the same type, which do not change any more."""
    kinds = {s.name: s.kind for s in statements if isinstance(s, Let | LocalVariable)}
    names, changed = set[str](), set[str]()
    for statement in reversed(statements):
        if (
            isinstance(statement, Let)
            and isinstance(statement.value, Name)
            and kinds.get(statement.value.name) == statement.kind
            and statement.value.name not in changed
        ):
            names.add(statement.name)
        changed |= _changed([statement])
    return names


def _changed(statements: Iterable[Statement]) -> set[str]:
    """Names in places where variables are changed."""
    names: set[str] = set()
    for statement in statements:
        match statement:
            case Assign(target, _):
                names |= set(names_of(target))
            case For(body=body) | Forever(body=body):
                names |= _changed(body)
                if isinstance(statement, For):
                    names |= {name for _, name in statement.reductions}
            case If(then=then, otherwise=otherwise):
                names |= _changed((*then, *otherwise))
            case Let() | LocalVariable():
                pass
            case _:
                names |= set(names_in([statement]))
    return names
