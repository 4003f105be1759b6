"""When two kernels are the same but for the names of what they take and compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.expressions import Apply, Cast, Index, Literal, Name, Op, Struct, Text, children
from codegen.indexing import Counter
from codegen.statements import (
    Call,
    For,
    Let,
    Statement,
    Try,
    Variable,
    blocks,
    trees,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Argument
    from codegen.expressions import Expr
    from codegen.indexing import Sum


def key_of(arguments: Sequence[Argument], statements: Sequence[Statement]) -> tuple[Any, ...]:
    """What two kernels have in common if and only if one can be called instead of the other."""
    return _Key(arguments, statements).key


class _Key:
    """All that a kernel says, its own names numbered as they come."""

    def __init__(self, arguments: Sequence[Argument], statements: Sequence[Statement]) -> None:
        self.numbers: dict[str, int] = {}
        self.found: list[Any] = []
        for argument in arguments:
            self.found.append(argument.kind)
            self._name(argument.name)
        self._statements(statements)

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.found)

    def _name(self, name: str) -> None:
        own = "." not in name  # blockIdx.x
        self.found.append(self.numbers.setdefault(name, len(self.numbers)) if own else name)

    def _statements(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            self.found.append(type(statement))
            match statement:
                case Let(kind, name):
                    self.found.append(kind)
                    self._name(name)
                case Variable(kind, name, _, size):
                    self.found += [kind, size, statement.value is None]
                    self._name(name)
                case For(name, stop, _, start, step):
                    self.found += [n if isinstance(n, int) else None for n in (start, stop, step)]
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

    def _tree(self, expr: Expr) -> None:
        self.found.append(type(expr))
        match expr:
            case Name(name):
                self._name(name)
                return
            case Literal():
                self.found += [repr(expr.value), expr.kind]
                return
            case Index(total):
                self._sum(total)
                return
            case Op(op):
                self.found.append(op)
            case Apply(function):
                self.found.append(function)
            case Cast(kind) | Struct(kind):
                self.found.append(kind)
            case Text(text):
                self.found.append(text)
            case _:
                pass
        inside = children(expr)
        self.found.append(len(inside))
        for each in inside:
            self._tree(each)

    def _sum(self, total: Sum) -> None:
        self.found += [total.constant, len(total.terms)]
        for atom, factor in total.terms:
            self.found += [type(atom), factor]
            if isinstance(atom, Counter):
                self._name(atom.name)
            else:
                self.found.append(atom.divisor)
                self._sum(atom.dividend)
