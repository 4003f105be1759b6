"""Mutations of StableHLO text, made of the HLO texts of the tests."""

import re
from functools import lru_cache
from random import Random

import hlo
from hlo.frontends import stablehlo
from tests.fuzz.corpus import TOKEN, corpus
from tests.fuzz.mutate import NUMBERS, TEXTUAL

NAME = "fuzzed.mlir"
TYPES = ("i1", "i4", "ui8", "i16", "i32", "i64", "bf16", "f16", "f32", "f64", "complex<f32>")
_TYPE = re.compile(r"\b(?:i1|u?i\d+|bf16|f\d+|complex<f32>)\b")
_LINE = re.compile(r"^ +%.*\n", re.MULTILINE)


@lru_cache
def texts() -> tuple[str, ...]:
    """The texts of the tests that StableHLO has words for."""
    found: list[str] = []
    for text in corpus("models", "cases").files:
        try:
            found.append(stablehlo.write(hlo.parse(text)))
        except hlo.HloError:
            continue
    return tuple(found)


def exchanged(text: str, random: Random) -> str:
    """Put numbers, values, words and types in the places of others of the text."""
    found = TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(found))
        like = [
            t for t in found if t[:1] == found[at][:1] or t[:1].isalpha() == found[at].isalpha()
        ]
        found[at] = random.choice(NUMBERS if found[at].isdigit() else like)
    return "".join(found)


def retyped(text: str, random: Random) -> str:
    """Give another type to all arrays of one, or to one."""
    kinds = [match[0] for match in _TYPE.finditer(text)]
    old, new = random.choice(kinds or TYPES), random.choice(TYPES)
    return re.sub(rf"\b{re.escape(old)}(?![\w])", new, text, count=random.choice((0, 0, 1)))


def resized(text: str, random: Random) -> str:
    """Give another size to all dimensions of one size."""
    sizes = re.findall(r"(\d+)x", text) or ["1"]
    new = random.choice(("0", "1", "2", "3", "7", "16", "?"))
    return re.sub(rf"\b{random.choice(sizes)}(?=x)", new, text)


def reordered(text: str, random: Random) -> str:
    """Drop, repeat or move an operation."""
    lines = [match.span() for match in _LINE.finditer(text)]
    if not lines:
        return text
    (start, end), (to, _) = random.choice(lines), random.choice(lines)
    line = text[start:end]
    kept = text if random.random() < 0.5 else text[:start] + " " * (end - start) + text[end:]
    return kept if random.random() < 0.3 else kept[:to] + line + kept[to:]


MUTATIONS = {
    "exchange": exchanged,
    "type": retyped,
    "size": resized,
    "order": reordered,
    **{name: TEXTUAL[name] for name in ("bytes", "tokens", "structure")},
}


def stablehlo_of(random: Random) -> tuple[str, str]:
    """A mutated text, and the kind of its last mutation."""
    text, kind = random.choice(texts()), "none"
    for _ in range(random.choice((1, 1, 1, 2))):
        kind = random.choice(list(MUTATIONS))
        text = MUTATIONS[kind](text, random) or " "
    return text, kind
