"""The report of graphs: their compiled operations, and the reasons for the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hlo.wording import counted


@dataclass(slots=True)
class GraphReport:
    """A graph that torch handed over, for one set of sizes.

    Attributes
    ----------
    name : "forward 1", "backward 1", "inference 2".
    sizes : of its inputs, where torch left them open.
    compiled : the number of its operations that are compiled.
    parts : the number of modules that they make.
    eager : why each other operation runs in torch.
    why : the reason for a compilation for other sizes than before; empty for the first.
    """

    name: str
    sizes: str = ""
    compiled: int = 0
    parts: int = 0
    eager: list[str] = field(default_factory=list[str])
    why: str = ""
    calls: int = 0

    def __str__(self) -> str:
        """A line, with the reason below it, and one for each operation that runs in torch."""
        what = f"{counted(self.compiled, 'operation')} in {counted(self.parts, 'module')}"
        head = f"{self.name}{self.sizes}: {what}, {counted(self.calls, 'call')}"
        again = [f"    compiled again: {self.why}"] if self.why else []
        return "\n".join([head, *again, *(f"    in torch: {why}" for why in self.eager)])


REPORTS: list[GraphReport] = []
_numbers = [count()]


def next_number() -> int:
    """The number of a graph of the user's, from 1 on; its gradient has the same."""
    return next(_numbers[0]) + 1


def report() -> str:
    """A text of all graphs that were compiled, and of the operations that torch runs itself."""
    return "\n".join(map(str, REPORTS)) or "nothing was compiled"


def forget() -> None:
    """Forget all graphs, for a report of later ones."""
    REPORTS.clear()
    _numbers[0] = count()
