"""Findings about a rule, as data: no solver is needed to read them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from hlo.wording import counted

KINDS: Final = ("pred", "integers", "floats", "complex")


@dataclass(frozen=True)
class ProofFinding:
    """The proof of a rule for one kind of number, or for arrays.

    Attributes
    ----------
    of : a kind of number, or "arrays" for a rule about whole arrays.
    how : "solver" for all values by the solver, "every value" for small types on the interpreter;
        for arrays with the shapes.
    whole : whether it holds for all values and constants of the types.
    types : for which it is proved.
    cases : left sides, with their types, attributes, shapes and constants.
    why : it is not proved for other types, or at all.
    """

    of: str
    how: str = ""
    whole: bool = False
    types: list[str] = field(default_factory=list[str])
    cases: int = 0
    why: str = ""

    def __str__(self) -> str:
        """One line."""
        if not self.how:
            return f"{self.of}: {self.why or 'not proved'}"
        types = spelled(self.types)
        rest = f"; not {self.why}" if self.why else ""
        return f"{self.of}: {self.how} ({types}; {counted(self.cases, 'case')}){rest}"

    def as_data(self) -> dict[str, Any]:
        """For the record."""
        return {key: value for key, value in asdict(self).items() if value}


def spelled(types: list[str]) -> str:
    """Names of types, few enough to be read."""
    return (
        ", ".join(types) if len(types) <= 6 else f"{', '.join(types[:5])} and {len(types) - 5} more"
    )
