"""Reads types, attributes and the items of custom forms: Lark's trees, made into values."""

# ruff: noqa: D102  methods are the grammar's rules, which `stablehlo.lark` explains

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

import lark
import numpy as np
from lark import Discard, Token, Transformer

from hlo.errors.error import HloError
from hlo.frontends.stablehlo import numbers, types
from hlo.frontends.stablehlo.items import (
    Binding,
    Integer,
    Keyword,
    Parentheses,
    Real,
    ValueName,
    Word,
)
from hlo.frontends.stablehlo.meshes import LiftedMeshes
from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.resources import Resource
from hlo.frontends.stablehlo.versions import plain_attribute
from hlo.types.literal import literal
from hlo.types.shape import Shape, tuple_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Rules = TypeVar("_Rules", bound=type)


def _inline(rules: _Rules) -> _Rules:
    """Functions of rules are given parts one by one."""
    return cast("Any", lark).v_args(inline=True)(rules)


@_inline
class _Types(Transformer[Token, Any]):
    """The rules for types.

    Attributes
    ----------
    aliases : what names of types (`!vec`) and of attributes (`#map`) stand for.
    lifted : meshes that are written within shardings.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.aliases: dict[str, Any] = {}
        self.lifted = LiftedMeshes(text)

    def scalar(self, name: Token) -> str:
        return str(name)

    def bare(self, name: Token) -> Shape:
        numbers.element_type(name)
        raise HloError("HLO012", f"a value is of type `tensor<{name}>`, not `{name}`")

    def tensor(self, sizes: Token | None, element: str, bounds: Any) -> Shape:
        # `#stablehlo.bounds<8, ?>`, or `#mhlo.type_extensions<bounds = [8, ?]>`.
        tagged = bounds if isinstance(bounds, Tagged) else Tagged("", (), {})
        words = tagged.fields.get("bounds", tagged.words)
        return types.tensor(sizes or "", element, words)

    def tuple(self, *elements: Shape | None) -> Shape:
        return tuple_of(*(of_value(e) for e in elements if e is not None))

    def dialect_type(self, word: Token) -> Shape:
        return types.dialect_type(str(word), self.aliases)

    def type_alias(self, name: Token, shape: Shape) -> None:
        self.aliases[str(name)] = shape

    def types(self, operands: Any, results: Any) -> tuple[Any, Any]:
        return operands, results

    def type_list(self, *items: Any) -> tuple[Any, ...]:
        return tuple(of_value(kind) for kind in items if kind is not None)


@_inline
class Attributes(_Types):
    """The rules for attributes."""

    def number(self, typed: Token) -> Any:
        word, _, kind = (part.strip() for part in typed.partition(":"))
        return numbers.number(word, kind)

    def string(self, word: Token, _kind: Any = None) -> str:
        return unquoted(word)

    def symbol(self, *names: Token) -> str:
        return "::".join(name[1:].strip('"') for name in names)

    def dense(self, word: Token, shape: Shape) -> Any:
        return dense(word, shape)

    def numbers(self, word: Token) -> tuple[Any, ...]:
        return numbers.numbers(word)

    def name(self, word: Token) -> Any:
        return {"true": True, "false": False}.get(word, str(word))

    def opaque(self, word: Token) -> Tagged:
        return Tagged(word.partition("<")[0][1:], (self.lifted.named(word),), {})

    def type_attribute(self, shape: Any) -> Any:
        return shape

    def function_type(self, *_: Any) -> None:
        """The type of a function, which its block and its `return` tell, too."""

    def list(self, *elements: Any) -> tuple[Any, ...]:
        return () if len(elements) == 1 and elements[0] is None else elements

    def moved_axes(self, axes: dict[str, Any], *_: Token) -> Any:
        return axes

    def part_of_axis(self, before: Token, size: Token) -> Tagged:
        fields = {"pre_size": numbers.integer(before), "size": numbers.integer(size)}
        return Tagged("stablehlo.sub_axis_info", (), fields)

    def sub_axis(self, name: Token, *_: Token) -> tuple[str, Any]:
        return unquoted(name), True

    def range(self, *bounds: Token | None) -> tuple[int, ...]:
        return tuple(numbers.integer(n) for n in bounds if n is not None)

    def axis(self, name: Token, size: Token) -> tuple[str, int]:
        return unquoted(name), numbers.integer(size)

    def value(self, name: Token) -> ValueName:
        return ValueName(name)

    def unknown(self) -> None:
        return None

    def dictionary(self, *entries: tuple[str, Any] | None) -> dict[str, Any]:
        return dict(entry for entry in entries if entry is not None)

    def entry(self, key: Token | None = None, value: Any = True) -> tuple[str, Any]:
        return unquoted(key) if key else "?", value

    def hash_entry(self, key: str, value: Any) -> tuple[str, Any]:
        return key, value

    def alias(self, name: Token, value: Any) -> None:
        self.aliases[str(name)] = value

    def hash(self, name: Token, *items: Any) -> Any:
        if not items and str(name) in self.aliases:
            return self.aliases[str(name)]
        words, fields = _sorted(items)
        if name.startswith("#vhlo"):
            return plain_attribute(name[1:], words, fields)
        return Tagged(name[1:], words, fields)

    def angles(self, *items: Any) -> Tagged:
        words, fields = _sorted(items)
        return Tagged("", words, fields)

    # ---- the parts of custom forms

    def word(self, word: Token) -> Word:
        return Word(word)

    def keyword(self, name: Token, value: Any) -> Keyword:
        return Keyword(str(name), value)

    def typed_dense(self, both: Token) -> Any:
        word, _, kind = both.rpartition(":")
        return dense(word.strip(), types.tensor_named(kind.strip()))

    def attributes(self, values: dict[str, Any]) -> dict[str, Any]:
        return values

    def binding(self, name: Token, value: Token) -> Binding:
        return Binding(str(name), str(value))

    def applies(self, name: Token) -> Keyword:
        return Keyword("applies", str(name))

    def separator(self, *_: Any) -> Any:
        return Discard

    def parentheses(self, *items: Any) -> Parentheses:
        return Parentheses(plain(item) for item in items)

    def items(self, *items: Any) -> Sequence[Any]:
        return [plain(item) for item in items]

    def values(self, *names: Token | None) -> tuple[str, ...]:
        return tuple(str(name) for name in names if name is not None)

    # ---- where an operation came from

    def named(self, name: Token, inside: Any) -> Any:
        return ("named", unquoted(name), inside)

    def file(self, name: Token, line: Token, *_: Any) -> Any:
        return ("file", unquoted(name), numbers.integer(line, "ui32"))

    def callsite(self, callee: Any, _caller: Any) -> Any:
        return callee

    def fused(self, _kind: Any, *locations: Any) -> Any:
        return locations[0]

    def nowhere(self) -> None:
        return None

    def elsewhere(self, name: Token) -> Any:
        return ("elsewhere", str(name), None)

    def trailing_location(self, location: Any) -> Any:
        return location


def unquoted(word: str) -> str:
    """The value of a string: MLIR's escapes are those of JSON, and bytes in hexadecimal."""
    if not word.startswith('"'):
        return str(word)
    inside = word[1:-1]
    if "\\" not in inside:
        return inside
    return _ESCAPE.sub(_character, inside)


def _character(escape: re.Match[str]) -> str:
    word = escape[1]
    if word in _ESCAPES:
        return _ESCAPES[word]
    if len(word) != 2:
        raise HloError("HLO012", f"`\\{word}` in a string is no escape of MLIR")
    return chr(int(word, 16))


_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


def of_value(kind: Any) -> Shape:
    """The type, which is to be that of a value.

    Raises
    ------
    HloError
        HLO012 if it is that of a number in an attribute.
    """
    if isinstance(kind, Shape):
        return kind
    raise HloError("HLO012", f"a value is of type `tensor<{kind}>`, not `{kind}`")


def dense(word: str, shape: Shape) -> Any:
    """The array of `dense<[1, 2]>`, or the `Resource` of `dense_resource<name>`."""
    start, _, inside = word.partition("<")
    if start == "dense_resource":
        return Resource(inside[:-1].strip().strip('"'), shape)
    return numbers.dense(word, shape)


def shape_of(value: Any) -> Shape | None:
    """The type of a constant that is written without one, as it is the name of an attribute."""
    match value:
        case Resource():
            return value.shape
        case Integer() | Real():
            return types.tensor("", value.kind)
        case np.ndarray():
            return literal(cast("Any", value)).shape
        case _:
            return None


def plain(item: Any) -> Any:
    """An item of a custom form; names of values are told from strings by their type."""
    if not isinstance(item, Token):
        return item
    match item.type:
        case "VALUE":
            return ValueName(item)
        case "STRING":
            return unquoted(item)
        case _:
            return item


def _sorted(items: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The items in brackets, without and with names."""
    fields = {item.name: item.value for item in items if isinstance(item, Keyword)}
    words = tuple(plain(item) for item in items if not isinstance(item, Keyword))
    return words, fields
