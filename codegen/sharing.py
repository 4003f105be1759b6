"""Equality of functions but for names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.expressions import (
    Apply,
    Cast,
    Index,
    LaunchIndex,
    Literal,
    Member,
    Name,
    Op,
    Quoted,
    Struct,
)
from codegen.kinds import Pointer, Record
from codegen.statements import Call, For, Let, LocalVariable, Try, blocks, trees
from codegen.walk import children
from optimizer.analysis.indexing import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.expressions import Expr
    from codegen.functions import Function, Parameter
    from codegen.kinds import Kind
    from codegen.statements import Statement
    from optimizer.analysis.indexing import Sum


def key_of(function: Function) -> tuple[Any, ...]:
    """A key that two functions share if and only if one can be called instead of the other."""
    return _FunctionKey(function).key


class _FunctionKey:
    """Everything that a function says, with the names that it declares numbered as they come."""

    def __init__(self, function: Function) -> None:
        self.numbers: dict[str, int] = {function.name: 0}
        self.found: list[Any] = [function.gives_status, function.is_inline]
        for parameters in (function.record or (), function.parameters):
            self._parameters(parameters)
        self._statements(function.body)

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.found)

    def _parameters(self, parameters: Sequence[Parameter]) -> None:
        self.found.append(len(parameters))
        for parameter in parameters:
            self._declare(parameter.kind, parameter.name)

    def _declare(self, kind: Kind, name: str) -> None:
        self._kind(kind)
        self.found.append(self.numbers.setdefault(name, len(self.numbers)))

    def _name(self, name: str) -> None:
        """A name; that of something outside of the function stays as it is."""
        self.found.append(self.numbers.get(name, name))

    def _kind(self, kind: Kind | None) -> None:
        match kind:
            case Record(name):
                self.found.append(Record)
                self._name(name)
            case Pointer(Record(name), const, restrict):
                self.found += [Pointer, const, restrict]
                self._name(name)
            case _:
                self.found.append(kind)

    def _statements(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            self.found.append(type(statement))
            match statement:
                case Let(kind, name):
                    self._declare(kind, name)
                case LocalVariable(kind, name, value, size):
                    self.found += [size, value is None]
                    self._declare(kind, name)
                case For():
                    self._loop(statement)
                case Call(Name(name)) | Try(Name(name)):
                    self._name(name)
                case Call(function) | Try(function):
                    self.found.append(function)
                case _:
                    pass
            for tree in trees(statement):
                self._tree(tree)
            for block in blocks(statement):
                self._statements(block)
                self.found.append(None)

    def _loop(self, loop: For) -> None:
        bounds = (loop.start, loop.stop, loop.step)
        self.found += [n if isinstance(n, int) else None for n in bounds]
        self.found += [loop.simd, loop.unroll, len(loop.reductions)]
        for op, name in loop.reductions:
            self.found.append(op)
            self._name(name)
        self._declare(loop.kind, loop.name)

    def _tree(self, expr: Expr) -> None:
        kind = type(expr)
        self.found.append(kind)
        if kind is Name:
            self._name(expr.name)  # type: ignore[union-attr]
        elif isinstance(expr, Literal):
            self.found += [repr(expr.value), expr.kind]
        elif isinstance(expr, Index):
            self._sum(expr.sum)
        else:
            inside = children(expr)
            self.found += [self._own(expr), len(inside)]
            for part in inside:
                self._tree(part)

    def _own(self, expr: Expr) -> Any:
        """The data of a tree, without the trees inside of it."""
        match expr:
            case Op(op):
                return op
            case Apply(function):
                return function
            case Member(_, name):
                return self.numbers.get(name, name)
            case Cast(kind) | Struct(kind):
                self._kind(kind)
            case Quoted(text):
                return text
            case LaunchIndex():
                return expr
            case _:
                pass
        return None

    def _sum(self, total: Sum) -> None:
        self.found += [total.constant, len(total.terms)]
        for atom, factor in total.terms:
            self.found += [type(atom), factor]
            if isinstance(atom, Counter):
                self._name(atom.name)
            else:
                self.found.append(atom.divisor)
                self._sum(atom.dividend)
