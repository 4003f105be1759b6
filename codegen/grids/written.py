"""The kernels of a program that are written, of which others may be made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from codegen.elements.kernel import Argument
    from codegen.elements.names import Names
    from codegen.grids.stages import Stage
    from codegen.statements import Statement


@dataclass(frozen=True, slots=True)
class Written:
    """A kernel that is written.

    Attributes
    ----------
    stage : the first launch of it.
    statements : in the words of its language.
    arguments : its parameters.
    """

    stage: Stage
    statements: tuple[Statement, ...]
    arguments: tuple[Argument, ...]


class WrittenKernels(ABC):
    """The kernels of a program.

    Attributes
    ----------
    written, about : by name, the kernel, and the HLO that it computes.
    poll : lets endless loops stop, where nobody else can stop them.
    """

    written: dict[str, Written]
    about: dict[str, str]
    poll: Statement

    @abstractmethod
    def new_names(self) -> Names:
        """The names of a new kernel's variables, none of which is taken."""

    @abstractmethod
    def functions(self, words: Collection[str]) -> str:
        """The text of the functions that are called by some words, directly or through others."""

    @abstractmethod
    def add_merged(
        self,
        parameters: Sequence[Argument],
        wanted: str,
        about: str,
        stage: Stage,
        others: Iterable[str],
    ) -> str:
        """Add a kernel that does the work of others; its statements are in the language's words."""
