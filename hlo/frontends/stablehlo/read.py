"""Reads the text of a StableHLO program: Lark's trees, made into operations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lark
from lark import Lark, Token
from lark.exceptions import UnexpectedInput, VisitError

from hlo.errors.error import HloError, Source, Span
from hlo.frontends.stablehlo.attributes import Attributes, dense, of_value, shape_of, unquoted
from hlo.frontends.stablehlo.forms import form_of
from hlo.frontends.stablehlo.modules import module_of
from hlo.frontends.stablehlo.numbers import integer
from hlo.frontends.stablehlo.operation import (
    BlockArgument,
    FuncOp,
    MlirModule,
    Operation,
    Region,
)
from hlo.frontends.stablehlo.resources import resources_of, without_resources
from hlo.frontends.stablehlo.versions import DIALECT, plain_operation
from hlo.read.nesting import NestingLimit, TooDeepError
from hlo.types.shape import Shape

if TYPE_CHECKING:
    from hlo.types.sharding import Mesh

# Lark gives a rule's function the span in the text.
_with_span = cast("Any", lark).v_args(meta=True)


def read_program(source: Source) -> MlirModule:
    """The operations of a text.

    Raises
    ------
    HloError
        HLO012 if the text is not of the form of StableHLO, HLO013 if HLO has not what it says.
    """
    try:
        tree = _parser().parse(without_resources(source.text))
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
        cause = error.orig_exc
        if not isinstance(cause, HloError | ValueError | TypeError | LookupError | AttributeError):
            raise
        meta: Any = getattr(cast("Any", error).obj, "meta", None)
        at = getattr(meta, "start_pos", 0)
        span = Span(source, at, max(at + 1, getattr(meta, "end_pos", 0)))
        if not isinstance(cause, HloError):
            cause = HloError("HLO012", f"this can't be read: {cause}")
        raise cause.at(span) from None


def read_alias(source: Source, *, is_type: bool) -> tuple[Any, dict[str, Mesh]]:
    """The attribute or type that a text is, and the meshes that it has in place.

    Raises
    ------
    HloError
        As for `read_program`.
    """
    name = "!a" if is_type else "#a"
    program = read_program(Source(f"{name} = {source.text}", source.name))
    return program.aliases.get(name), program.meshes


@cache
def _parser() -> Any:
    text = Path(__file__).with_name("stablehlo.lark").read_text()
    return Lark(
        text,
        start="program",
        parser="lalr",
        maybe_placeholders=True,
        propagate_positions=True,
        postlex=NestingLimit({"loc(": 1, "<": 1, "tensor<": 1, "tuple<": 1, ">": -1}),
    )


class _Reader(Attributes):
    """The rules for operations, functions and modules."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.text)
        self.source = source

    def generic(self, children: Any) -> Any:
        name, operands, properties, regions, attributes, signature = children
        merged: dict[str, Any] = {**(attributes or {}), **(properties or {})}
        return unquoted(name), operands, merged, regions or (), signature

    def regions(self, children: Any) -> Any:
        return tuple(children)

    def trailers(self, children: Any) -> Any:
        return children

    def custom(self, children: Any) -> Any:
        name, items, signature, trailers = [*children, None, None][:4]
        operands, attributes, regions = form_of(str(name), items or (), trailers or ())
        operand_types, result_types = signature or ((), None)
        late = tuple(shape for shape in trailers or () if isinstance(shape, Shape))
        words = attributes.get("words", ())
        if operand_types and words:
            # An array's text is read once its type is known.
            attributes["words"] = tuple(self._known(word, operand_types[-1]) for word in words)
        elif words:
            operand_types = tuple(shape for word in words if (shape := shape_of(word)))
        return str(name), operands, attributes, regions, (operand_types, late or result_types)

    def _known(self, word: Any, shape: Shape) -> Any:
        if not isinstance(word, Token) or word.type != "DENSE":
            return word
        try:
            return dense(word, shape)
        except HloError as error:
            start = word.start_pos or 0
            raise error.at(Span(self.source, start, start + len(word))) from None

    @_with_span
    def operation(self, meta: Any, children: Any) -> Operation | FuncOp:
        results, body, location = children
        if isinstance(body, FuncOp):
            return body
        name, operands, attributes, regions, (operand_types, result_types) = body
        names = self._results(results or "")
        shapes = result_types if result_types is not None else _last(operand_types, len(names))
        span = Span(self.source, meta.start_pos, self._end(meta))
        result_types = Operation(
            name, names, operands, attributes, tuple(regions), operand_types, shapes, span, location
        )
        return plain_operation(result_types) if name.startswith(DIALECT) else result_types

    def _results(self, word: str) -> tuple[str, ...]:
        """The names of an operation's values, `%0, %1:2 =`."""
        names: list[str] = []
        for part in word.rstrip("= \t\r\n").split(","):
            name, _, count = part.strip().partition(":")
            # Each value has a type that is written somewhere.
            if not count:
                names += [name] * bool(name)
                continue
            values = integer(count)
            if values > len(self.source.text):
                raise HloError("HLO012", f"`{name}` has {count} values, more than there are types")
            names += [f"{name}#{k}" for k in range(values)]
        return tuple(names)

    def _end(self, meta: Any) -> int:
        """The end of the line on which an operation begins, or its own if that is earlier."""
        line = self.source.text.find("\n", meta.start_pos)
        return min(meta.end_pos, line if line >= 0 else meta.end_pos)

    @_with_span
    def function(self, meta: Any, children: Any) -> FuncOp:
        _, visibility, name, arguments, results, _, body, late = children
        after: dict[str, Any] = late or {}
        span = Span(self.source, meta.start_pos, self._end(meta))
        is_private = "private" in (visibility, after.get("sym_visibility"))
        if after.get("arg_attrs"):
            pairs = zip(arguments, after["arg_attrs"], strict=True)
            arguments = tuple(replace(argument, attributes=own) for argument, own in pairs)
        results = after.get("res_attrs") or results or ()
        return FuncOp(name[1:].strip('"'), arguments, results, body, is_private, span)

    def function_results(self, children: Any) -> tuple[dict[str, Any], ...]:
        """The attributes of each result; a type by itself has none."""
        none: dict[str, Any] = {}
        return tuple(none if isinstance(child, Shape) else child for child in children)

    def result(self, children: Any) -> dict[str, Any]:
        return children[1] or {}

    def arguments(self, children: Any) -> tuple[BlockArgument, ...]:
        return tuple(child for child in children if child is not None)

    def argument(self, children: Any) -> BlockArgument:
        name, shape, attributes, _ = children
        span = Span(self.source, name.start_pos, name.end_pos)
        return BlockArgument(str(name), of_value(shape), attributes or {}, span)

    def unnamed(self, children: Any) -> BlockArgument:
        return BlockArgument("", of_value(children[0]), children[1] or {})

    def block(self, children: Any) -> Region:
        _, arguments, *operations = children
        return Region(arguments or (), tuple(operations))

    def region(self, children: Any) -> Region:
        if isinstance(children[0], Region):
            return children[0]
        return Region((), tuple(c for c in children if isinstance(c, Operation)))

    def module(self, children: Any) -> MlirModule:
        _, name, attributes, *parts = children
        named = name[1:].strip('"') if name else "main"
        return self._module(named, attributes or {}, parts[:-1])

    def program(self, children: Any) -> MlirModule:
        return self._module("main", {}, children)

    def _module(self, name: str, attributes: dict[str, Any], parts: Any) -> MlirModule:
        resources, meshes = resources_of(self.source.text), self.lifted.meshes
        return module_of(name, attributes, parts, self.aliases, resources, meshes)


def _last(types: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The types of results that are written as those of the last operands are."""
    return types[len(types) - count :] if count <= len(types) else types * count
