"""Complex numbers that are only moved, as words of 64 bits.

    for i < 9362: for j < 7: y[7 * i + j] = x[7 * i + 6 - j]

is the same for arrays of c64 and of u64, but compilers have no vectors of complex numbers: each is
two loads and two stores. As words, these seven columns in reverse order take 0.4 of the time.

Kernels that compute anything of complex numbers keep them. A caller gives pointers to complex
numbers still, which become pointers to words at the head of the kernel.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import Callee
from codegen.expressions import Apply, Cast, Choose, Literal, Load, Name
from codegen.kinds import Pointer, element_of
from codegen.statements import (
    Assign,
    Let,
    LocalVariable,
    Statement,
    names_in,
    nested,
    own_names,
    renamed,
    replaced,
    rewritten,
)
from codegen.walk import names_of, rebuilt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from emit_c.kernels.kernel import CKernel

_COMPLEX, _WORD = "c64", "u64"


def move_words(kernel: CKernel, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements that move words instead of complex numbers, if they compute nothing of them."""
    arrays = {a.name for a in kernel.arguments.values() if element_of(a.kind) == _COMPLEX}
    if not arrays or not _Moves(arrays, statements).are_all:
        return tuple(statements)
    for pointer, argument in list(kernel.arguments.items()):
        if argument.name in arrays:
            assert isinstance(argument.kind, Pointer)
            words = replace(argument.kind, to=_WORD)
            kernel.arguments[pointer] = replace(argument, kind=words, given=argument.kind)
    return replaced(
        [rewritten(s, _with_words) for s in statements],
        lambda s: (
            [replace(s, kind=_WORD)] if isinstance(s, _Declared) and s.kind == _COMPLEX else None
        ),
    )


class _Moves:
    """The statements of a kernel, as far as they are about complex numbers.

    Parameters
    ----------
    arrays : the names of those of complex numbers.
    """

    def __init__(self, arrays: set[str], statements: Sequence[Statement]) -> None:
        every = list(nested(statements))
        declared = {s.name for s in every if isinstance(s, _Declared) and s.kind == _COMPLEX}
        self.arrays, self.names = arrays, arrays | declared
        self.are_all = all(map(self._is_one, every))

    def _is_one(self, statement: Statement) -> bool:
        """Whether a statement moves a complex number, or has none."""
        match statement:
            case Let(kind, _, value) | LocalVariable(kind, _, value, None) if kind == _COMPLEX:
                return value is None or self._is_moved(value)
            case Assign(target, value) if names_of(target)[0] in self.names:
                return self._is_moved(target) and self._is_moved(value)
            case _:
                return self.names.isdisjoint(own_names(statement))

    def _is_moved(self, value: Expr) -> bool:
        """Whether a value is a complex number that is nothing but loaded, chosen or constant."""
        match value:
            case Name(name):
                return name in self.names
            case Load(Name(array), index):
                return array in self.arrays and self.names.isdisjoint(names_of(index))
            case Choose(condition, then, otherwise) | Apply(
                Callee("choose"), (condition, then, otherwise)
            ):
                known = self.names.isdisjoint(names_of(condition))
                return known and self._is_moved(then) and self._is_moved(otherwise)
            case _:
                return _bits(value) is not None


_Declared = Let | LocalVariable


def _bits(value: Expr) -> int | None:
    """The word of a constant; None for other values."""
    match value:
        case Apply(Callee("complex"), (Cast("f32", Literal(x)), Cast("f32", Literal(y)))):
            return int.from_bytes(struct.pack("<ff", x, y), "little")
        case _:
            return None


def _with_words(value: Expr) -> Expr:
    if (bits := _bits(value)) is not None:
        return Literal(bits, _WORD, hexadecimal=True)
    changed = rebuilt(value, _with_words)
    match changed:
        case Apply(Callee("choose"), (condition, then, otherwise)):
            return Choose(condition, then, otherwise)
        case _:
            return changed


def with_given_pointers(kernel: CKernel, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements after those that make pointers to words of the pointers that a caller gives."""
    cast = [argument for argument in kernel.arguments.values() if argument.given is not None]
    used = set(names_in(statements)) if cast else set[str]()
    variables: list[Statement] = []
    words: dict[str, Expr] = {}
    for argument in cast:
        if argument.name not in used:
            continue
        assert isinstance(argument.kind, Pointer)
        name = kernel.body.name(f"{argument.name}_words")
        plain = replace(argument.kind, restrict=False)
        variables.append(LocalVariable(argument.kind, name, Cast(plain, Name(argument.name))))
        words[argument.name] = Name(name)
    return (
        (*variables, *(renamed(s, words) for s in statements)) if variables else tuple(statements)
    )
