"""The parts of a pattern, for whoever asks which variables and opcodes a rule names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.rewriting.application import Application

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.rewriting.term import Term


def terms(side: Term) -> Iterator[Term]:
    """All parts of a pattern, the whole first."""
    yield side
    for operand in side.operands if isinstance(side, Application) else ():
        yield from terms(operand)
