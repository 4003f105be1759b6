"""Edits of HLO texts: what a slip of the hand, or an attacker, makes of them."""

from functools import reduce
from pathlib import Path

from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
TEXTS = [
    path.read_text()
    for folder in ("models", "cases/text")
    for path in sorted((TESTS / folder).glob("*.hlo"))
    if path.stat().st_size < 20_000
]
FRAGMENTS = [
    *("{", "}", "(", ")", "[", "]", '"', "'", ",", "=", "->", "%", "#", ":", "?", "_", "x", "\\"),
    *(
        "...",
        "{...}",
        "{{}}",
        "()",
        "//",
        "/*",
        "*/",
        "<=",
        "T(1,0)",
        "\0",
        "\n",
        "é",
        "٣",
        "\ud800",
    ),
    *("nan", "-inf", "nan(0x1)", "-1", "0", "1e999", "99999999999999999999", "9223372036854775807"),
    *("ROOT ", "ENTRY ", "HloModule", "f32[1000000000000]", "s4", "token[]", "b(", "add", "async-"),
    *("dimensions={0}", "to_apply=", "sharding={devices=[2]<=[2]}", "metadata={stack_frame_id=7}"),
]


edits = st.tuples(
    st.sampled_from(["insert", "delete", "cut", "repeat", "splice"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 40),
    st.sampled_from(FRAGMENTS),
    st.sampled_from(TEXTS),
)


def garbled(texts: list[str], most: int) -> st.SearchStrategy[str]:
    """Texts after some edits."""
    changes = st.lists(edits, min_size=1, max_size=most)
    return st.builds(lambda text, each: reduce(edited, each, text), st.sampled_from(texts), changes)


def edited(text: str, edit: tuple[str, float, int, str, str]) -> str:
    """The text after an edit: kind, place from 0 to 1, length, fragment, other text."""
    kind, where, length, fragment, other = edit
    at = int(where * (len(text) + 1))
    there = int(where * len(other))
    return {
        "insert": text[:at] + fragment + text[at:],
        "delete": text[:at] + text[at + length :],
        "cut": text[:at],
        "repeat": text[:at] + text[at : at + length] * 20 + text[at + length :],
        "splice": text[:at] + other[there : there + length] + text[at + length :],
    }[kind]
