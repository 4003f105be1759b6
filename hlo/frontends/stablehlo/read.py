"""Reads the text of a StableHLO program: Lark's trees, made into operations."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import lark
from lark import Discard, Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, VisitError

from hlo.errors.error import HloError, Source, Span
from hlo.frontends.stablehlo import types
from hlo.frontends.stablehlo.forms import form_of
from hlo.frontends.stablehlo.items import (
    Binding,
    Integer,
    Keyword,
    Parentheses,
    Real,
    ValueName,
    Word,
)
from hlo.frontends.stablehlo.modules import generic_module, meshes_of
from hlo.frontends.stablehlo.operation import (
    BlockArgument,
    FuncOp,
    MlirModule,
    Operation,
    Region,
    Tagged,
)
from hlo.read.nesting import TooDeepError, nesting_limit
from hlo.types.shape import TOKEN_SHAPE, Shape, tuple_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_Rules = TypeVar("_Rules", bound=type)
# Lark gives a rule's function the span in the text.
_with_span = cast("Any", lark).v_args(meta=True)


def _inline(rules: _Rules) -> _Rules:
    """Functions of rules are given parts one by one."""
    return cast("Any", lark).v_args(inline=True)(rules)


def read_program(source: Source) -> MlirModule:
    """The operations of a text.

    Raises
    ------
    HloError
        HLO012 if the text is not of the form of StableHLO, HLO013 if HLO has not what it says.
    """
    try:
        tree = _parser().parse(source.text)
        return cast("Any", _Reader(source)).transform(tree)
    except UnexpectedInput as error:
        token: Any = getattr(error, "token", None)
        at = max(int(getattr(error, "pos_in_stream", 0) or 0), 0)
        if token is not None and token.type == "$END":
            message = "the text ends too early"
        else:
            word = str(token).partition("\n")[0] if token is not None else source.text[at]
            message = f"unexpected `{word}`"
        raise HloError("HLO012", message, Span(source, at, at + 1)) from None
    except TooDeepError as error:
        raise HloError("HLO012", str(error), Span(source, error.at, error.at + 1)) from None
    except VisitError as error:
        found = error.orig_exc
        if not isinstance(found, HloError | ValueError | TypeError | LookupError | AttributeError):
            raise
        meta: Any = getattr(cast("Any", error).obj, "meta", None)
        at = getattr(meta, "start_pos", 0)
        span = Span(source, at, max(at + 1, getattr(meta, "end_pos", 0)))
        if not isinstance(found, HloError):
            found = HloError("HLO012", f"this can't be read: {found}")
        raise found.at(span) from None


@cache
def _parser() -> Any:
    text = Path(__file__).with_name("stablehlo.lark").read_text()
    return Lark(
        text,
        start="program",
        parser="lalr",
        maybe_placeholders=True,
        propagate_positions=True,
        postlex=nesting_limit,
    )


@_inline
class _Types(Transformer[Token, Any]):
    """The rules for types."""

    def scalar(self, name: Token) -> str:
        return str(name)

    def bare(self, name: Token) -> Shape:
        types.element_type(name)
        raise HloError("HLO012", f"a value is of type `tensor<{name}>`, not `{name}`")

    def tensor(self, sizes: Token | None, element: str, bounds: Any) -> Shape:
        words = bounds.words if isinstance(bounds, Tagged) else ()
        return types.tensor(sizes or "", element, words)

    def tuple(self, *elements: Shape | None) -> Shape:
        return tuple_of(*(e for e in elements if e is not None))

    def dialect_type(self, name: Token, _inside: Shape | None) -> Shape:
        if name == "stablehlo.token":
            return TOKEN_SHAPE
        raise HloError("HLO013", f"HLO has no type `!{name}`")

    def types(self, given: Any, results: Any) -> tuple[Any, Any]:
        return given, results

    def type_list(self, *found: Any) -> tuple[Any, ...]:
        return tuple(each for each in found if each is not None)


@_inline
class _Attributes(_Types):
    """The rules for attributes."""

    def number(self, word: Token, kind: Any = None) -> Any:
        if "x" in word:
            return Integer(int(word, 16), kind)
        return Real(word, kind) if {".", "e", "E"} & set(word) else Integer(int(word), kind)

    def string(self, word: Token, _kind: Any = None) -> str:
        return _unquoted(word)

    def symbol(self, *names: Token) -> str:
        return "::".join(name[1:].strip('"') for name in names)

    def dense(self, word: Token, shape: Shape) -> Any:
        return types.dense(word, shape)

    def numbers(self, word: Token) -> tuple[Any, ...]:
        return types.integers(word)

    def name(self, word: Token) -> Any:
        return {"true": True, "false": False}.get(word, str(word))

    def opaque(self, word: Token) -> Tagged:
        return Tagged(word.partition("<")[0][1:], (str(word),), {})

    def type_attribute(self, shape: Any) -> Any:
        return shape

    def function_type(self, *_: Any) -> None:
        """The type of a function, which its block and its `return` tell, too."""

    def list(self, *elements: Any) -> tuple[Any, ...]:
        return () if len(elements) == 1 and elements[0] is None else elements

    def range(self, *numbers: Token | None) -> tuple[int, ...]:
        return tuple(int(n) for n in numbers if n is not None)

    def axis(self, name: Token, size: Token) -> tuple[str, int]:
        return _unquoted(name), int(size)

    def value(self, name: Token) -> ValueName:
        return ValueName(name)

    def unknown(self) -> None:
        return None

    def dictionary(self, *entries: tuple[str, Any] | None) -> dict[str, Any]:
        return dict(entry for entry in entries if entry is not None)

    def entry(self, key: Token | None = None, value: Any = True) -> tuple[str, Any]:
        return _unquoted(key) if key else "?", value

    def hash(self, name: Token, *items: Any) -> Tagged:
        words, fields = _sorted(items)
        return Tagged(name[1:], words, fields)

    def angles(self, *items: Any) -> Tagged:
        words, fields = _sorted(items)
        return Tagged("", words, fields)

    # ---- the parts of custom forms

    def word(self, word: Token) -> Word:
        return Word(word)

    def keyword(self, name: Token, value: Any) -> Keyword:
        return Keyword(str(name), value)

    def binding(self, name: Token, value: Token) -> Binding:
        return Binding(str(name), str(value))

    def applies(self, name: Token) -> Keyword:
        return Keyword("applies", str(name))

    def separator(self, *_: Any) -> Any:
        return Discard

    def parentheses(self, *items: Any) -> Parentheses:
        return Parentheses(_plain(item) for item in items)

    def items(self, *items: Any) -> Sequence[Any]:
        return [_plain(item) for item in items]

    def values(self, *names: Token | None) -> tuple[str, ...]:
        return tuple(str(name) for name in names if name is not None)

    # ---- where an operation came from

    def named(self, name: Token, inside: Any) -> Any:
        return ("named", _unquoted(name), inside)

    def file(self, name: Token, line: Token, *_: Any) -> Any:
        return ("file", _unquoted(name), int(line))

    def callsite(self, callee: Any, _caller: Any) -> Any:
        return callee

    def fused(self, _kind: Any, *locations: Any) -> Any:
        return locations[0]

    def nowhere(self) -> None:
        return None

    def elsewhere(self, name: Token) -> Any:
        return ("elsewhere", str(name[1:]), None)

    def trailing_location(self, location: Any) -> Any:
        return location


class _Reader(_Attributes):
    """The rules for operations, functions and modules."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.locations: dict[str, Any] = {}

    def generic(self, children: Any) -> Any:
        name, operands, properties, regions, attributes, signature = children
        merged: dict[str, Any] = {**(attributes or {}), **(properties or {})}
        return _unquoted(name), operands, merged, regions or (), signature

    def regions(self, children: Any) -> Any:
        return tuple(children)

    def trailers(self, children: Any) -> Any:
        return children

    def custom(self, children: Any) -> Any:
        name, items, signature, trailers = [*children, None, None][:4]
        operands, attributes, regions = form_of(str(name), items or (), trailers or ())
        return str(name), operands, attributes, regions, signature or ((), None)

    def results(self, children: Any) -> tuple[str, ...]:
        found: list[str] = []
        for token in children:
            name, _, count = token.partition(":")
            found += [f"{name}#{k}" for k in range(int(count))] if count else [name]
        return tuple(found)

    @_with_span
    def operation(self, meta: Any, children: Any) -> Operation | FuncOp:
        results, body, location = children
        if isinstance(body, FuncOp):
            return body
        name, operands, attributes, regions, (given, made) = body
        names = results or ()
        shapes = made if made is not None else _last(given, len(names))
        span = Span(self.source, meta.start_pos, self._end(meta))
        return Operation(
            name, names, operands, attributes, tuple(regions), given, shapes, span, location
        )

    def _end(self, meta: Any) -> int:
        """The end of the line on which an operation begins, or its own if that is earlier."""
        line = self.source.text.find("\n", meta.start_pos)
        return min(meta.end_pos, line if line >= 0 else meta.end_pos)

    @_with_span
    def function(self, meta: Any, children: Any) -> FuncOp:
        _, visibility, name, arguments, results, _, body = children
        span = Span(self.source, meta.start_pos, self._end(meta))
        if body is None:
            raise HloError("HLO013", f"function {name} has no body", span)
        is_private = visibility == "private"
        return FuncOp(name[1:].strip('"'), arguments, results or (), body, is_private, span)

    def function_results(self, children: Any) -> tuple[dict[str, Any], ...]:
        """The attributes of each result; a type that stands alone has none."""
        none: dict[str, Any] = {}
        return tuple(none if isinstance(child, Shape) else child for child in children)

    def result(self, children: Any) -> dict[str, Any]:
        return children[1] or {}

    def arguments(self, children: Any) -> tuple[BlockArgument, ...]:
        return tuple(child for child in children if child is not None)

    def argument(self, children: Any) -> BlockArgument:
        name, shape, attributes, _ = children
        span = Span(self.source, name.start_pos, name.end_pos)
        return BlockArgument(str(name), shape, attributes or {}, span)

    def unnamed(self, children: Any) -> BlockArgument:
        return BlockArgument("", children[0], children[1] or {})

    def block(self, children: Any) -> Region:
        _, arguments, *operations = children
        return Region(arguments or (), tuple(operations))

    def region(self, children: Any) -> Region:
        if isinstance(children[0], Region):
            return children[0]
        return Region((), tuple(c for c in children if isinstance(c, Operation)))

    def alias(self, children: Any) -> None:
        name, value = children
        self.locations[name[1:]] = value

    def module(self, children: Any) -> MlirModule:
        name, attributes, *rest = children
        functions = tuple(each for each in rest if isinstance(each, FuncOp))
        named = name[1:].strip('"') if name else "main"
        return MlirModule(named, attributes or {}, functions, self.locations, meshes_of(rest))

    def program(self, children: Any) -> MlirModule:
        for child in children:
            if isinstance(child, MlirModule):
                return child
            if isinstance(child, Operation) and child.name == "builtin.module":
                return generic_module(child, self.locations)
        functions = tuple(each for each in children if isinstance(each, FuncOp))
        return MlirModule("main", {}, functions, self.locations, meshes_of(children))


def _unquoted(word: str) -> str:
    """The value of a string: MLIR's escapes are those of JSON, and bytes in hexadecimal."""
    if not word.startswith('"'):
        return str(word)
    inside = word[1:-1]
    if "\\" not in inside:
        return inside
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1]) or chr(int(m[1], 16)), inside)


_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


def _plain(item: Any) -> Any:
    """An item of a custom form; names of values are told from strings by their type."""
    if not isinstance(item, Token):
        return item
    match item.type:
        case "VALUE":
            return ValueName(item)
        case "NUMBER":
            return int(item, 0) if item.lstrip("-").isdigit() else item
        case "STRING":
            return _unquoted(item)
        case _:
            return item


def _sorted(items: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The items in brackets, without and with names."""
    fields = {item.name: item.value for item in items if isinstance(item, Keyword)}
    words = tuple(_plain(item) for item in items if not isinstance(item, Keyword))
    return words, fields


def _last(given: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The types of results that are written as those of the last operands are."""
    return given[len(given) - count :] if count <= len(given) else given * count
