"""The functions that call kernels, as data: what each of them does step by step, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from codegen.file_text import FileText, Section
from codegen.prelude.paragraph import words
from emit_c.code.definition import defined
from emit_c.program.call_sites import KernelStep
from emit_c.program.relocatable import ENTRY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.callees import Named
    from emit_c.code.constants import CConstants
    from emit_c.conditions import Conditions
    from emit_c.program.buffers import CMemory
    from emit_c.program.relocatable import RelocatableFunction
    from emit_c.program.step_table import StepTable


@dataclass(frozen=True)
class Callers:
    """The functions of computations, the entry among them, and those that others call.

    They are written when their text is needed, so that compilers may begin with kernels before.

    Attributes
    ----------
    functions : those of computations, by name; the entry comes last.
    table : of those steps of the entry that are numbers; None where all of them are calls.
    clocks : macros that take the times of steps, for a profile: see `emit_c.program.clocks`.
    """

    functions: Mapping[str, RelocatableFunction]
    table: StepTable | None
    memory: CMemory
    constants: CConstants
    conditions: Conditions
    clocks: str = ""

    @cached_property
    def kernel_steps(self) -> tuple[KernelStep, ...]:
        """The calls of kernels: those in functions, in the order of the text, then the table's."""
        steps = (step for function in self.functions.values() for step in function.steps)
        calls = (part for step in steps for part in step if isinstance(part, KernelStep))
        rows = self.table.rows if self.table else ()
        return (*calls, *(row.kernel_step for row in rows))

    @property
    def text(self) -> FileText:
        """The functions in C."""
        return self._written[0]

    @property
    def mentions(self) -> Mapping[str, Named | None]:
        """The names that they mention."""
        return self._written[1]

    @cached_property
    def _written(self) -> tuple[FileText, Mapping[str, Named | None]]:
        constants = self.constants
        loaded = [name for name, text in constants.definitions.items() if text.is_loaded]
        sections = [Section(f"{constants.loader()}\n", "load_constants")]
        mentions: dict[str, Named | None] = dict.fromkeys(
            (*loaded, *self.conditions.mentions, *words(self.clocks))
        )
        if self.table:
            sections.append(Section(f"{self.table.text}\n", "take_steps"))
            mentions |= dict.fromkeys(self.table.kernels)
        if self.clocks:
            sections.append(Section(f"{self.clocks}\n"))
        for function in self.functions.values():
            definition = defined(function.relocated(self.memory))
            sections.append(definition.section())
            mentions |= definition.mentions
        sections.append(Section(self.conditions.text(ENTRY), "call"))
        return FileText(sections), mentions
