"""English that depends on what it speaks of."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number of things: `1 rule`, `2 rules`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def with_article(noun: str) -> str:
    """A thing: `a dot`, `an add`."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"
