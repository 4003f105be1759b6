"""Watching a module run: a trace, a stop where NaN arises, a bar that shows how far it has come."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from hlo.errors.error import HloError
from hlo_tools.console import console, is_watched, plain
from hlo_tools.options.files import STANDARD
from hlo_tools.values.arrays import leaves
from hlo_tools.values.show import printable, spell_in_a_line
from interpreter.engine.observe import ValueRecorder, value_path

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console

    from hlo.instruction import Instruction, Module
    from interpreter.engine.frame import Evaluation

    Observer = Callable[[Evaluation], None]

# A run shorter than this shows no bar.
PATIENCE = 1.0  # seconds


@contextmanager
def observing(
    module: Module, *, trace: str | None, stop_at_nan: bool, stop_at_inf: bool
) -> Generator[Observer | None]:
    """The observer that does all that the options request; None if there is nothing to do."""
    with ExitStack() as stack:
        observers: list[Observer] = []
        if trace:
            observers.append(stack.enter_context(_traced(trace)))
        if stop_at_nan:
            observers.append(Alarm("NaN", np.isnan))
        if stop_at_inf:
            # A NaN computed from infinities or from NaN arose before.
            observers.append(Alarm("infinity", lambda array: ~np.isfinite(array)))
        if is_watched() and not plain():
            observers.append(stack.enter_context(progress(module, console(stderr=True))))
        yield _all(observers) if observers else None


def _all(observers: list[Observer]) -> Observer:
    if len(observers) == 1:
        return observers[0]

    def observe(event: Evaluation) -> None:
        for observer in observers:
            observer(event)

    return observe


@contextmanager
def _traced(path: str) -> Generator[Observer]:
    """An observer that writes to a file: all arrays if it is an archive, or else lines of text.

    Lines go to standard output for `-`.
    """
    if path == STANDARD:
        yield tracer(sys.stdout)
        return
    try:
        with Path(path).open("w", errors="surrogateescape") as file:
            if not path.endswith(".npz"):
                yield tracer(file)
                return
        recorder = ValueRecorder()
        yield recorder
        recorder.save(path)
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error


def tracer(file: TextIO) -> Observer:
    """An observer that writes a line for each value: its path, the opcode, and the value."""

    def observe(event: Evaluation) -> None:
        value = spell_in_a_line(event.value)
        file.write(f"{value_path(event)} = {event.instr.opcode} {value}\n")

    return observe


class Alarm:
    """An observer that raises HLO205 where a bad number arises: in no operand, but in the value.

    One that comes in with an argument of the program is told, too.

    Parameters
    ----------
    name : of the bad number.
    bad : which elements of an array of numbers are bad.
    """

    def __init__(self, name: str, bad: Callable[[Any], Any]) -> None:
        self.name = name
        self.bad = bad
        self._had: set[tuple[int, Instruction]] = set()

    def __call__(self, event: Evaluation) -> None:
        """Look at one value."""
        instr, device = event.instr, id(event.device)
        if not any(self._is_bad(array) for array in leaves(event.value)):
            # A loop's body computes a value anew in each iteration.
            self._had.discard((device, instr))
            return
        self._had.add((device, instr))
        if instr.opcode == "parameter" and len(event.path) == 1:
            raise HloError(
                "HLO205",
                f"parameter: {self.name} comes in with argument %{instr.name}",
                instr.span,
                [f"the value is {spell_in_a_line(event.value)}"],
            )
        inherited = any((device, operand) in self._had for operand in instr.operands)
        if not inherited and "leaf" not in instr.row.traits:
            iterations = [str(i) for _, i in event.path if i >= 0]
            when = f" in iteration {', '.join(iterations)}" if iterations else ""
            raise HloError(
                "HLO205",
                f"{instr.opcode}: {self.name} arises in %{instr.name}{when}",
                instr.span,
                [f"the value is {spell_in_a_line(event.value)}"],
            )

    def _is_bad(self, array: Any) -> bool:
        numbers = printable(array)
        return numbers.dtype.kind in "fc" and bool(self.bad(numbers).any())


@contextmanager
def progress(module: Module, console: Console) -> Generator[Observer]:
    """A bar on a terminal: how many of the entry's instructions have their values."""
    from rich.progress import (  # noqa: PLC0415  a run that nobody watches has no bar
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=len(module.entry.instructions), visible=False)
        start = time.monotonic()

        def observe(event: Evaluation) -> None:
            if len(event.path) == 1:
                late = time.monotonic() - start > PATIENCE
                bar.update(task, advance=1, description=event.instr.name, visible=late)

        yield observe
