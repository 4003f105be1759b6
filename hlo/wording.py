"""English words with articles, plurals and lists."""

from __future__ import annotations

_PLURALS = {
    "branch": "branches",
    "carry": "carries",
    "entry": "entries",
    "pass": "passes",
    "process": "processes",
}


def counted(number: int, noun: str) -> str:
    """A number of things: `1 rule`, `2 rules`."""
    return f"{number:,} {numbered(number, noun)}"


def numbered(number: int, noun: str) -> str:
    """The form of a noun after a number: `rule` after 1, else `rules`."""
    return noun if number == 1 else _PLURALS.get(noun, f"{noun}s")


def with_article(noun: str) -> str:
    """A thing: `a dot`, `an add`."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"
