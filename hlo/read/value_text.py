"""Reads the values of attributes, and shapes: text to the objects of `hlo.types.values`.

`hlo.lark` has a rule for each kind of value. A dump repeats itself: a model of 20,000 instructions
has a few hundred distinct shapes and attributes. So each distinct text is read once, and the
(immutable) object is shared.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

from hlo.errors.error import HloError, Span
from hlo.read.grammar import KINDS, PLAIN_KINDS, load_grammar
from hlo.read.rule_tools import BadValue
from hlo.read.shape_rules import ShapeRules
from hlo.read.sharding_rules import ShardingRules
from hlo.read.syntax_error import expected_terminals, expects
from hlo.read.value_rules import ValueRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from lark import Token
    from lark.exceptions import UnexpectedInput

    from hlo.types.shape import Shape


class _AllValueRules(ShapeRules, ValueRules, ShardingRules):
    """All rules of `hlo.lark` that make values."""


@cache
def _parser() -> Callable[[str, str], Any]:
    return load_grammar("kinds", KINDS, transformer=_AllValueRules()).parse


@lru_cache(100_000)
def _read(kind: str, text: str) -> Any:
    return _parser()(text, kind)


def read(kind: str, text: str, span: Span | None) -> Any:
    """The value that a text spells.

    Parameters
    ----------
    kind : a rule of `hlo.lark`, one of `hlo.read.grammar.KINDS`.
    span : where the text is, for errors.

    Raises
    ------
    HloError
        HLO002 if the text is no value of the kind.
    """
    try:
        return _read(kind, text)
    except UnexpectedCharacters as error:
        at: int = error.pos_in_stream
        problem = f"unexpected {text[at]!r}{_expects(error, kind)}"
        raise _error(kind, problem, span, at, 1) from None
    except UnexpectedToken as error:
        token: Token = error.token
        if token.type == "$END" or token.start_pos is None:
            problem = f"the value ends too early{_expects(error, kind)}"
            raise _error(kind, problem, span, len(text), 1) from None
        problem = f"unexpected `{token[:40]}`{_expects(error, kind)}"
        start: int = token.start_pos
        raise _error(kind, problem, span, start, len(token)) from None
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


def _expects(error: UnexpectedInput, kind: str) -> str:
    wanted = expects(expected_terminals(error), kind)
    return f"; {wanted}" if wanted else ""


def _bad(kind: str, error: BadValue, span: Span | None) -> HloError:
    token = error.token
    start = token.start_pos if token is not None and token.start_pos is not None else 0
    return _error(kind, error.message, span, start, len(token or " "), error.notes)


def _error(
    kind: str, problem: str, span: Span | None, start: int, length: int, notes: tuple[str, ...] = ()
) -> HloError:
    part = span.part(start, start + length) if span else None
    called = "" if kind in PLAIN_KINDS else f"{kind.replace('_', ' ')}: "
    return HloError("HLO002", called + problem, part, notes)
