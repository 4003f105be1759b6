"""The calls of a function that a front end compiles: which were compiled again, and why.

A front end compiles a function for the shapes of its arguments, and for the values of some of them.
It enters the signature of each program here, and the number of each call; `explain` tells the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class By(Enum):
    """The property of an argument for which a program is compiled; its value is told in tables."""

    SHAPE = "its shape and element type"
    VALUE = "its value, which must be constant"
    PYTHON = "its value, a Python object"


@dataclass(frozen=True, slots=True)
class CallArgument:
    """An argument of a call, as far as compilation depends on it.

    Attributes
    ----------
    text : its shape, `f32[1,10]`, or its value.
    """

    by: By
    text: str

    def first(self, name: str) -> str:
        """The argument in the words of a first call."""
        verb = {By.SHAPE: "is", By.VALUE: "must be constant and is", By.PYTHON: "is"}[self.by]
        return f"{name} {verb} {self.text}"

    def after(self, name: str, old: CallArgument) -> str:
        """The difference from another call's."""
        must = "must be constant, " if self.by is By.VALUE else ""
        return f"{name} {must}is {self.text} and was {old.text}"


def differences(new: Mapping[str, CallArgument], old: Mapping[str, CallArgument]) -> list[str]:
    """The reasons why a program for one signature does not serve another, a sentence each."""
    changes = [
        value.after(name, old[name]) if name in old else f"{name} is new: {value.text}"
        for name, value in new.items()
        if old.get(name) != value
    ]
    return changes + [f"{name} is gone" for name in old if name not in new]


@dataclass
class Variant:
    """A program of a function.

    Attributes
    ----------
    role : the part of the function that it computes, such as "values" or "gradient".
    calls : the numbers of the function's calls that ran it.
    """

    number: int
    role: str
    signature: Mapping[str, CallArgument]
    why: str
    calls: list[int] = field(default_factory=list[int])


class Calls:
    """The programs of a function, and its calls.

    Parameters
    ----------
    name : of the function.
    parameters : the names of its positional parameters.
    """

    def __init__(self, name: str, parameters: Sequence[str] = ()) -> None:
        self.name, self.parameters = name, tuple(parameters)
        self.programs: list[Variant] = []
        self._numbers = count(1)
        self.number = 0

    def begin(self) -> None:
        """Count a call."""
        self.number = next(self._numbers)

    def compiled(self, signature: Mapping[str, CallArgument], role: str = "values") -> Variant:
        """Enter a new program, whose reason is the difference from the nearest one before it."""
        before = [c.signature for c in self.programs if c.role == role]
        if before:
            nearest = min((differences(signature, old) for old in reversed(before)), key=len)
            why = "compiled again: " + ("; ".join(nearest) or "the function was traced again")
        else:
            arguments = "; ".join(value.first(name) for name, value in signature.items())
            why = f"first call: {arguments}" if arguments else "first call"
        variant = Variant(len(self.programs) + 1, role, signature, why)
        self.programs.append(variant)
        return variant

    def explain(self) -> str:
        """The function's programs with the calls that ran them, and the influence of arguments."""
        counts = f"{counted(self.number, 'call')}, {counted(len(self.programs), 'program')}"
        rows = [("program", "computes", "calls", "why")]
        rows += [(str(p.number), p.role, _runs(p.calls), p.why) for p in self.programs]
        return "\n".join([f"{self.name}: {counts}", table(rows), *self._influences()])

    def _influences(self) -> list[str]:
        """A line for each property, with the arguments that are compiled for it."""
        names: dict[By, dict[str, None]] = {by: {} for by in By}
        for program in self.programs:
            for name, value in program.signature.items():
                names[value.by][name] = None
        return [
            f"compiled again for each change of {by.value}: {', '.join(changed)}"
            for by, changed in names.items()
            if changed
        ]


def _runs(numbers: Sequence[int]) -> str:
    """Ascending numbers, those in a row as a range: `1, 4-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number <= runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as lines of columns; the last column may be of any length."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
