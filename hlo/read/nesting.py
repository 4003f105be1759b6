"""A bound for brackets inside each other, kept while Lark cuts a text into tokens."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lark import Token

# How deep brackets may be inside each other. Real HLO stays below 20; nested text is read and
# printed by functions that call themselves, and Python's stack is short.
MAX_NESTING = 100
_STEPS = {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}


class TooDeepError(Exception):
    """Brackets are nested too deep; `at` is where."""

    def __init__(self, at: int) -> None:
        super().__init__(f"brackets are nested more than {MAX_NESTING} deep")
        self.at = at


class NestingLimit:
    """Lets tokens pass, and counts the brackets that are open.

    Parameters
    ----------
    more : tokens that open brackets in this language, 1, or close them, -1, beside the usual ones.
    """

    always_accept: tuple[str, ...] = ()

    def __init__(self, more: Mapping[str, int] = MappingProxyType({})) -> None:
        self._steps = _STEPS | dict(more)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The same tokens.

        Raises
        ------
        TooDeepError
            where a bracket opens inside of too many others.
        """
        depth = 0
        for token in stream:
            depth += self._steps.get(token, 0)
            if depth > MAX_NESTING:
                raise TooDeepError(token.start_pos or 0)
            yield token


nesting_limit = NestingLimit()
