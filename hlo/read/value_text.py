"""Reads the values of attributes, and shapes: text to the objects of `hlo.types.values`.

`values.lark` has a start rule for each kind of value. A dump repeats itself: a model of 20,000
instructions has a few hundred distinct shapes and attributes. So each distinct text is read once,
and the (immutable) object is shared.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

from hlo.errors.error import HloError, Span
from hlo.read.grammar import load_grammar
from hlo.read.rule_tools import BadValue
from hlo.read.shape_rules import ShapeRules
from hlo.read.sharding_rules import ShardingRules
from hlo.read.usual_text import USUAL
from hlo.read.value_rules import ValueRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from lark import Token

    from hlo.types.shape import Shape

KINDS = [
    "int",
    "bool",
    "float",
    "word",
    "group_mode",
    "string",
    "ints",
    "int_lists",
    "bools",
    "precisions",
    "shape",
    "shapes",
    "computation_layout",
    "window",
    "padding",
    "slice_ranges",
    "dim_labels",
    "operand_aliases",
    "origin",
    "statistics",
    "domain",
    "input_output_alias",
    "buffer_donor",
    "sharding",
    "replica_groups",
    "frontend_attributes",
    "result_accuracy",
    "sparsity_config",
]


class _Rules(ShapeRules, ValueRules, ShardingRules):
    """All rules of `values.lark`."""


@cache
def _parser() -> Callable[[str, str], Any]:
    return load_grammar("values", start=KINDS, transformer=_Rules(), g_regex_flags=re.ASCII).parse


def read_by_grammar(kind: str, text: str) -> Any:
    """The value that a text spells; Lark's own errors where it spells none."""
    return _parser()(text, kind)


@lru_cache(100_000)
def _read(kind: str, text: str) -> Any:
    usual = USUAL[kind](text) if kind in USUAL else None
    return read_by_grammar(kind, text) if usual is None else usual


def read(kind: str, text: str, span: Span | None) -> Any:
    """The value that a text spells.

    Parameters
    ----------
    kind : a start rule of `values.lark`.
    span : where the text stands, for errors.

    Raises
    ------
    HloError
        HLO002 if the text is no value of the kind.
    """
    try:
        return _read(kind, text)
    except UnexpectedCharacters as error:
        at: int = error.pos_in_stream
        found = f"unexpected {text[at]!r}"
        raise _error(kind, found, span, at, 1) from None
    except UnexpectedToken as error:
        token: Token = error.token
        if token.type == "$END" or token.start_pos is None:
            raise _error(kind, "it ends too early", span, len(text), 1) from None
        found = f"unexpected `{token[:40]}`"
        start: int = token.start_pos
        raise _error(kind, found, span, start, len(token)) from None
    except VisitError as error:
        cause = error.orig_exc
        if not isinstance(cause, BadValue):
            raise
        raise _bad(kind, cause, span) from None
    except BadValue as error:
        raise _bad(kind, error, span) from None


def read_shape(text: str, span: Span | None) -> Shape:
    """The shape that a text spells."""
    return read("shape", text, span)


def _bad(kind: str, error: BadValue, span: Span | None) -> HloError:
    token = error.token
    start = token.start_pos if token is not None and token.start_pos is not None else 0
    return _error(kind, error.message, span, start, len(token or " "))


def _error(kind: str, what: str, span: Span | None, start: int, length: int) -> HloError:
    place = span.part(start, start + length) if span else None
    return HloError("HLO002", f"{kind.replace('_', ' ')}: {what}", place)
