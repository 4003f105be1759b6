"""Modules that come with the project: the golden cases of passes, and models.

They are the golden cases of the tests, `tests/cases/<pass>/<case>.hlo`, which a wheel carries too.
Each is an input of the pass that its folder is named for, and after `// EXPECT` its result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.read.parse import parse
from hlo.verify import verify

if TYPE_CHECKING:
    from hlo.instruction import Module

FOLDER = Path(__file__).with_name("seeds")
# A module with a larger array takes too long to run again and again.
MOST_ELEMENTS = 1 << 20

_DIMS = re.compile(r"\[(\d[\d,]*)\]")
_CALLS = re.compile(r"([a-z][a-z0-9\-]*)\(")


@dataclass(frozen=True, eq=False)
class Seed:
    """One module.

    Attributes
    ----------
    pass_name : of the pass for which it was written.
    name : of the case; with `/after` at its end, of what the pass makes of it.
    """

    pass_name: str
    name: str
    text: str

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """The opcodes that occur."""
        return frozenset(_CALLS.findall(self.text)) & OPCODES.keys()

    @cached_property
    def module(self) -> Module | None:
        """The module; None if it is not well-formed, or too large to be run often."""
        try:
            parsed = parse(self.text)
            verify(parsed)
        except HloError:
            return None
        shapes = (s for i in parsed.instructions() for _, s in i.shape.leaves())
        return parsed if all(s.size <= MOST_ELEMENTS for s in shapes) else None


@cache
def all_seeds() -> tuple[Seed, ...]:
    """All of them, in order."""
    seeds: list[Seed] = []
    for path in sorted(FOLDER.glob("*/*.hlo")):
        source, _, expected = path.read_text().partition("// EXPECT\n")
        seeds.append(Seed(path.parent.name, path.stem, source))
        if expected:
            seeds.append(Seed(path.parent.name, f"{path.stem}/after", expected))
    return tuple(seed for seed in seeds if _is_small(seed.text))


def _is_small(text: str) -> bool:
    """Whether no dimension is too large; that saves reading it."""
    return all(int(n) <= MOST_ELEMENTS for d in _DIMS.findall(text) for n in d.split(",") if n)
