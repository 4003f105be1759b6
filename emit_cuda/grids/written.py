"""The finished kernels of a program, and the interface by which an emitter adds merged ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from codegen.elements.kernel import Argument
    from codegen.elements.names import Names
    from codegen.file_text import HloLine
    from codegen.statements import Statement
    from emit_cuda.grids.stages import Stage


@dataclass(frozen=True, slots=True)
class Written:
    """A finished kernel, in the words of the emitter's language.

    Attributes
    ----------
    stage : the launch, with its grid, block and shared arrays.
    statements : the kernel's code.
    arguments : the kernel's parameters.
    """

    stage: Stage
    statements: tuple[Statement, ...]
    arguments: tuple[Argument, ...]


class WrittenKernels(ABC):
    """The finished kernels of a program, to which an emitter can add kernels that merge several.

    Attributes
    ----------
    written, about : the kernel of each name, and the HLO that the kernel computes.
    poll : a statement for loops that may never end; on the processor it looks for an interrupt.
    """

    written: dict[str, Written]
    about: dict[str, tuple[HloLine, ...]]
    poll: Statement

    @abstractmethod
    def new_names(self) -> Names:
        """The names of a new kernel's variables, none of which is taken."""

    @abstractmethod
    def words_called(self, words: Collection[str]) -> Collection[str]:
        """The words of the functions that some words call, directly or through others."""

    @abstractmethod
    def add_merged(
        self,
        parameters: Sequence[Argument],
        wanted: str,
        about: tuple[HloLine, ...],
        stage: Stage,
        others: Iterable[str],
    ) -> str:
        """Add a kernel that does the work of others; its statements are in the language's words."""
