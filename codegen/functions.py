"""Functions of the emitted language, before they are text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.expressions import Apply, Cast, Index, Name, Struct
from codegen.kinds import Pointer, Record, base_of
from codegen.statements import (
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    Try,
    names_in,
    nested,
    replaced,
    trees,
)
from codegen.walk import children, rebuilt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from codegen.callees import Named
    from codegen.expressions import Expr
    from codegen.kinds import Kind


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, or a field of a record."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function.

    Attributes
    ----------
    about : a comment above it; each line begins with `// `.
    remark : a comment that is its first line.
    record : the fields of a record that has the function's name; None if there is no such record.
    gives_status : it gives 0, or the status with which a call inside of it has failed.
    is_inline : a compiler may copy it to where it is called.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    about: str = ""
    remark: str = ""
    record: tuple[Parameter, ...] | None = None
    gives_status: bool = False
    is_inline: bool = False


def mentions(function: Function) -> dict[str, Named | None]:
    """The functions, types and variables that a function names, each once, as they come.

    Returns
    -------
    dict
        by its name, a function that is known as data; None for others, for types and variables.
    """
    parameters = (*(function.record or ()), *function.parameters)
    names: dict[str, Named | None] = dict.fromkeys(base_of(p.kind) for p in parameters)
    for statement in nested(function.body):
        match statement:
            case Let(kind) | LocalVariable(kind):
                names.setdefault(base_of(kind))
            case For(simd=True, reductions=reductions):
                for operation, _ in reductions:
                    names.setdefault(operation)
            case Call(callee) | Try(callee):
                names.setdefault(callee.name, callee)
            case _:
                pass
        for tree in trees(statement):
            _mention(tree, names)
    return names


def _mention(expr: Expr, names: dict[str, Named | None]) -> None:
    """Add the names in a tree."""
    if isinstance(expr, Name):
        names.setdefault(expr.name)
        return
    if isinstance(expr, Index):
        for name in expr.sum.names:
            names.setdefault(name)
        return
    if isinstance(expr, Apply):
        names.setdefault(expr.function.name, expr.function)
    elif isinstance(expr, Cast | Struct) and expr.kind is not None:
        names.setdefault(base_of(expr.kind))
    for inside in children(expr):
        _mention(inside, names)


def without_unused_values(
    statements: Sequence[Statement], used: Collection[str] | None = None
) -> Sequence[Statement]:
    """Statements without values that no statement reads.

    Parameters
    ----------
    used : the names that the statements read and write, if they are known.
    """
    used = set(names_in(statements)) if used is None else used
    if all(s.name in used for s in nested(statements) if isinstance(s, Let)):
        return statements
    return without_unused_values(_reading(statements, used))


def _reading(statements: Iterable[Statement], used: Collection[str]) -> tuple[Statement, ...]:
    """The statements, without values that have none of some names."""
    return replaced(statements, lambda s: () if isinstance(s, Let) and s.name not in used else None)


# ------------------------------------------------------------------------------------- other names


def with_names(function: Function, names: Mapping[str, str]) -> Function:
    """A function that calls others, and may itself be called, by other names."""
    body = tuple(calling(function.body, names))
    return replace(function, name=names.get(function.name, function.name), body=body)


def calling(statements: Iterable[Statement], names: Mapping[str, str]) -> tuple[Statement, ...]:
    """Statements in which functions, and records of their names, have other names."""
    return tuple(_calling(statement, names) for statement in statements)


def _calling(statement: Statement, names: Mapping[str, str]) -> Statement:
    match statement:
        case Let(kind=kind, value=value) | LocalVariable(kind=kind, value=value):
            new, other = None if value is None else _tree(value, names), _kind(kind, names)
            same = new is value and other is kind
            return statement if same else replace(statement, kind=other, value=new)
        case Call(function, arguments) | Try(function, arguments):
            values = tuple(_tree(value, names) for value in arguments)
            is_own = isinstance(function, Name)
            called = Name(names.get(function.name, function.name)) if is_own else function
            return replace(statement, function=called, arguments=values)
        case For() | Forever():
            return statement.with_body(calling(statement.body, names))
        case If(condition, then, otherwise):
            new = statement.with_blocks(calling(then, names), calling(otherwise, names))
            new_condition = _tree(condition, names)
            return new if new_condition is condition else replace(new, condition=new_condition)
        case Break(condition):
            return Break(_tree(condition, names))
        case _:
            value = _tree(statement.value, names)
            return statement if value is statement.value else replace(statement, value=value)


def _tree(expr: Expr, names: Mapping[str, str]) -> Expr:
    changed = rebuilt(expr, lambda inside: _tree(inside, names))
    match changed:
        case Name(name) if name in names:
            return Name(names[name])
        case Struct(kind, values) if kind is not None and _kind(kind, names) is not kind:
            return Struct(_kind(kind, names), values)
        case Cast(kind, value) if _kind(kind, names) is not kind:
            return Cast(_kind(kind, names), value)
        case _:
            return changed


def _kind(kind: Kind, names: Mapping[str, str]) -> Kind:
    match kind:
        case Record(name) if name in names:
            return Record(names[name])
        case Pointer(Record(name)) if name in names:
            return replace(kind, to=Record(names[name]))
        case _:
            return kind
