"""Stepping through a module's rewrites and kernel passes, forwards and backwards.

    stepper = Stepper(module)            # or a text, or a file's path
    stepper.next()                       # the next rewrite, as it changes the module
    stepper.value("add.1")               # what %add.1 is before and after it
    stepper.breakpoint("transpose"); stepper.cont()

Every method shows what it says: as text where it is printed, with colours in a notebook.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hlo
from hlo.errors.error import HloError, did_you_mean
from hlo.files import parse_either
from hlo.instruction import Computation, Instruction, Module
from hlo.wording import counted
from hlo_tools.own_passes import find_pass
from hlo_tools.search.bisection import Search
from hlo_tools.step import describe
from hlo_tools.step.breakpoints import Breakpoint, Here, breakpoint_at
from hlo_tools.step.shown import Shown, StyledLine, folded
from hlo_tools.trace.changes import Marked, Printer, compared
from hlo_tools.trace.kernels import KernelStop, kernel_stops, pass_names
from hlo_tools.trace.recording import record
from hlo_tools.trace.stops import Stop, Stops
from hlo_tools.trace.values import Inputs, Values, random_inputs
from interpreter.numbers.compare import BITS
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from optimizer.log import Pass
    from optimizer.rewriting.rule import Rule

# Lines that `list` shows without leaving any out.
WHOLE = 40


class Stepper:
    """A module on its way through the optimizer.

    Parameters
    ----------
    module : a module, its text, or the path of a file.
    passes : a pass, or names as `hlo opt --passes` takes them; the target's pipeline if None.
    kernels : whether passes over the target's kernels follow, of C or CUDA.
    inputs : makes the arguments of each device, for values; random ones by default.

    Attributes
    ----------
    at : how many changes were done: rewrites first, then passes over kernels.
    breakpoints : in the order in which they were set.
    """

    def __init__(
        self,
        module: Module | str | Path,
        passes: Pass | str | None = None,
        *,
        target: Literal["cpu", "gpu"] = "cpu",
        kernels: bool = True,
        inputs: Callable[[], Inputs] | None = None,
    ) -> None:
        module = _module(module)
        chosen = pipeline(target) if passes is None else passes
        passes_found = find_pass(chosen) if isinstance(chosen, str) else chosen
        self.recording = record(module, passes_found, target if kernels else None)
        self.stops = Stops(self.recording)
        self.values = Values(inputs or (lambda: random_inputs(module)))
        self.target, self.has_kernels = target, kernels
        self.printer = Printer()
        self.breakpoints: list[Breakpoint] = []
        self.at = 0
        self._refused: HloError | None = None

    # ------------------------------------------------------------------------------- where it is

    @cached_property
    def kernels(self) -> list[KernelStop]:
        """The passes over kernels, found when the rewrites are done."""
        if not self.has_kernels or self.recording.fault is not None:
            return []
        try:
            return kernel_stops(self.recording.last, self.target)
        except HloError as error:
            self._refused = error
            return []

    @property
    def stop(self) -> Stop | KernelStop | None:
        """The last change; None before the first one."""
        return self._stop(self.at) if self.at else None

    def _stop(self, number: int) -> Stop | KernelStop:
        count = len(self.stops)
        return self.stops.stops[number - 1] if number <= count else self.kernels[number - count - 1]

    @property
    def module(self) -> Module:
        """The module after the last change."""
        return self.stops.module(min(self.at, len(self.stops)))

    @property
    def before(self) -> Module:
        """The module before the last change."""
        return self.stops.module(max(min(self.at, len(self.stops) + 1) - 1, 0))

    def _has(self, number: int) -> bool:
        return number <= len(self.stops) or number <= len(self.stops) + len(self.kernels)

    # ------------------------------------------------------------------------------------ moving

    def welcome(self) -> Shown:
        """The greeting, with the number of rewrites."""
        name, count = self.recording.module.name, len(self.stops)
        changing = sum(run.changed for run in self.recording.passes)
        counts = f"{name}: {counted(count, 'rewrite')} by {counted(changing, 'run')} of passes"
        return Shown([StyledLine(counts, "head"), "n does the next one, h lists the commands"])

    def next(self, count: int = 1) -> Shown:
        """Do the next change, or some more; shows the last of them."""
        moved = 0
        while moved < count and self._has(self.at + 1):
            self.at, moved = self.at + 1, moved + 1
        return self.change() if moved else self._end()

    def back(self, count: int = 1) -> Shown:
        """Undo the last change, or some more; shows the one before."""
        if not self.at:
            return Shown(["nothing is done yet"])
        self.at = max(self.at - count, 0)
        return self.change() if self.at else Shown([StyledLine("back at the beginning", "head")])

    def go(self, number: int) -> Shown:
        """Go to a change by its number; 0 is the beginning.

        Raises
        ------
        HloError
            HLO204 if there is none of this number.
        """
        if number < 0 or not self._has(number):
            last = len(self.stops) + len(self.kernels)
            raise HloError("HLO204", f"there is no change {number}", notes=[f"the last is {last}"])
        self.at = number
        return self.change() if number else Shown([StyledLine("back at the beginning", "head")])

    def cont(self) -> Shown:
        """Go on to the next breakpoint; with none set, to the end of the next pass."""
        return self._until_breakpoint() if self.breakpoints else self.next_pass()

    def next_pass(self) -> Shown:
        """Do all that the pass does whose change comes next."""
        if not self._has(self.at + 1):
            return self._end()
        self.at += 1
        self._finish()
        return self.change()

    def finish(self) -> Shown:
        """Do the rest of this pass."""
        if not self.at:
            return self.next_pass()
        begun = self.at
        self._finish()
        if self.at > begun:
            return self.change()
        shown = self.change() + Shown(["that was the pass's last change"])
        return shown if self._has(self.at + 1) else shown + self._end()

    def _finish(self) -> None:
        here = describe.group(self._stop(self.at))
        while self._has(self.at + 1) and describe.group(self._stop(self.at + 1)) == here:
            self.at += 1

    def _until_breakpoint(self) -> Shown:
        while self._has(self.at + 1):
            self.at += 1
            here = Here(self._stop(self.at), self.at, self.stops, self.values)
            for number, stop in enumerate(self.breakpoints, 1):
                if reason := stop.reason(here):
                    return (
                        Shown([StyledLine(f"breakpoint {number}: {reason}", "mark")])
                        + self.change()
                    )
        return Shown(["no breakpoint was met"]) + self._end()

    def _end(self) -> Shown:
        total = len(self.stops) + len(self.kernels)
        shown = Shown([StyledLine(f"the end: {counted(total, 'change')} done", "head")])
        for error in (self.recording.fault, self._refused):
            if error is not None:
                shown += Shown([StyledLine(str(error), "gone")])
        return shown

    # ----------------------------------------------------------------------------------- showing

    def change(self) -> Shown:
        """The last change: who made it, and which lines went and came."""
        stop = self.stop
        if stop is None:
            return Shown(["nothing is done yet; `n` does the first change"])
        if isinstance(stop, KernelStop):
            head = describe.kernel_head(stop, self.at, len(self.stops) + len(self.kernels))
            lines = describe.text_difference(stop.before, stop.after)
            return Shown([*head, *folded(lines)])
        run = self.stops.run(stop)
        head = describe.head(stop, run, len(self.stops))
        changed = describe.changed_lines(self._compared())
        return Shown([*head, *changed, *describe.besides(changed, stop)])

    def _compared(self) -> list[Marked]:
        return compared(self.printer.rows(self.before), self.printer.rows(self.module))

    def list(self, name: str = "", *, whole: bool = False) -> Shown:
        """The module with marks where the last change was made.

        Parameters
        ----------
        name : of a computation, or of an instruction in the computation that is to be shown; by
            default those are shown which changed, or else the entry.
        whole : leave no lines out.
        """
        stop = self.stop
        if isinstance(stop, KernelStop):
            lines = describe.text_difference(stop.before, stop.after)
            return Shown(lines if whole else folded(lines))
        rows = (
            self._compared()
            if self.at
            else [Marked(" ", row) for row in self.printer.rows(self.module)]
        )
        if not whole:
            wanted = self._computations(rows, name)
            rows = [row for row in rows if row.row.computation in wanted]
        lines = [describe.marked(row) for row in rows]
        cut = not whole and not name and len(lines) > WHOLE and any(line.style for line in lines)
        return Shown(folded(lines, keep=3) if cut else lines)

    def _computations(self, rows: list[Marked], name: str) -> set[str]:
        if name:
            wanted = name.removeprefix("%")
            rows_of = [row for row in rows if wanted in (row.row.computation, row.row.name)]
            computations = {row.row.computation for row in rows_of}
            if not computations:
                names = [row.row.name or row.row.computation for row in rows]
                raise HloError(
                    "HLO204", f"nothing is called `{wanted}`", notes=did_you_mean(wanted, names)
                )
            return computations
        changed = {row.row.computation for row in rows if row.mark != " "}
        return changed or {self.module.entry.name}

    def where(self) -> Shown:
        """The passes that have run, the number of changes of each, and the one that runs."""
        past = self.at >= len(self.stops)
        to_come = self.has_kernels and self.recording.fault is None and not past
        kernels = self.kernels if past else []
        return Shown(describe.where(self.stops, self.at, kernels, to_come=to_come))

    def source(self, word: str = "") -> Shown:
        """The lines of the rule or pass that made the last change, or of a rule by its name."""
        if word:
            return Shown(
                [
                    line
                    for rule in self._rules(word)
                    for line in describe.source(rule.location, whole=True)
                ]
            )
        stop = self.stop
        if stop is None:
            raise HloError("HLO204", "nothing is done yet", notes=["`source RULE` shows a rule"])
        if isinstance(stop, KernelStop):
            return Shown(describe.source(stop.location, whole=True))
        if stop.event is None:
            return Shown(describe.source(self.stops.run(stop).location, whole=True))
        return Shown(describe.source(stop.event.location, whole=stop.event.by is not None))

    def variables(self) -> Shown:
        """The bindings of the last change's rule."""
        stop = self.stop
        event = stop.event if isinstance(stop, Stop) else None
        if event is None or not event.bindings:
            return Shown(["the last change binds no variables"])
        return Shown(describe.variables(event))

    def value(self, name: str) -> Shown:
        """The values of an instruction before and after the last change.

        Raises
        ------
        HloError
            HLO204 if neither module has it.
        """
        name = name.removeprefix("%")
        old, new = (self._value_in(module, name) for module in (self.before, self.module))
        if old is None and new is None:
            names = [i.name for m in (self.before, self.module) for i in m.instructions()]
            notes = did_you_mean(name, names)
            raise HloError("HLO204", f"there is no instruction `{name}`", notes=notes)
        return Shown(describe.values(name, old, new))

    def _value_in(self, module: Module, name: str) -> tuple[Any] | None:
        """The value in a tuple; an empty tuple if it was not computed; None if there is no such."""
        if not any(i.name == name for i in module.instructions()):
            return None
        values = self.values.of(module)
        return (values[name],) if name in values else ()  # pyright: ignore[reportReturnType]

    def what_is(self, name: str) -> Shown:
        """The shape, opcode, users and source line of an instruction."""
        instr, computation = self._instruction(name)
        return Shown(describe.instruction(self.module, instr, computation))

    def why(self, rule: str, name: str) -> Shown:
        """The reason why a rule does not rewrite an instruction as it is now, or that it does."""
        instr, computation = self._instruction(name)
        return Shown(describe.reasons(self._rules(rule), instr, computation))

    def bisect(self) -> Shown:
        """Find the first rewrite that makes the result wrong by itself, and go there."""
        search = Search(self.recording.module, self.recording.pipeline, self.values.inputs)
        blamed = search.blamed(BITS)
        promises = [
            StyledLine(f"{rewrite.title}: it keeps its promise, {rewrite.promise}", "dim")
            for rewrite in search.kept
        ]
        if blamed is None:
            verdict = "no rewrite breaks its promise" if promises else "the result is equal"
            return Shown([*promises, f"{verdict} after {counted(len(search.events), 'rewrite')}"])
        wrong = StyledLine(
            f"rewrite {blamed.event.number} makes it wrong: {blamed.difference}", "mark"
        )
        for stop in self.stops.stops:
            if stop.event is not None and stop.event.number == blamed.event.number:
                self.at = stop.number
        return Shown([*promises, wrong]) + self.change()

    # ------------------------------------------------------------------------------- breakpoints

    def breakpoint(self, words: str = "") -> Shown:
        """Set a breakpoint: RULE, PASS, INSTR, OPCODE, nan, divergence or change; or list them."""
        if not words:
            listed = [f"{n}: {stop}" for n, stop in enumerate(self.breakpoints, 1)]
            return Shown(listed or ["there are no breakpoints"])
        modules = [
            self.recording.module,
            *(run.after for run in self.recording.passes if run.changed),
        ]
        kernel_passes = pass_names(self.target) if self.has_kernels else []
        stop = breakpoint_at(words, self.stops, modules, kernel_passes)
        self.breakpoints.append(stop)
        return Shown([f"breakpoint {len(self.breakpoints)}: {stop}"])

    def clear(self, number: int = 0) -> Shown:
        """Take away a breakpoint by its number, or all of them."""
        if not number:
            self.breakpoints.clear()
        elif number <= len(self.breakpoints):
            del self.breakpoints[number - 1]
        else:
            raise HloError("HLO204", f"there is no breakpoint {number}")
        return self.breakpoint()

    # ---------------------------------------------------------------------------------- the rest

    def _instruction(self, name: str) -> tuple[Instruction, Computation]:
        wanted = name.removeprefix("%")
        homes = {i.name: (i, c) for c in self.module.computations for i in c.instructions}
        if wanted not in homes:
            notes = did_you_mean(wanted, homes)
            raise HloError("HLO204", f"there is no instruction `{wanted}` now", notes=notes)
        return homes[wanted]

    def _rules(self, word: str) -> list[Rule]:
        return describe.rules_named(word, [stop.event for stop in self.stops.stops])

    def _repr_html_(self) -> str:
        return (self.where() + Shown([""]) + self.list()).html()

    def __repr__(self) -> str:
        """The position of the stepper."""
        done = f"{self.at} of {counted(len(self.stops), 'rewrite')} done"
        return f"<stepper of {self.recording.module.name}, {done}>"


def _module(source: Module | str | Path) -> Module:
    if isinstance(source, Module):
        return source
    if isinstance(source, Path) or ("\n" not in source and not source.startswith("HloModule")):
        return hlo.load(source)
    return parse_either(source)
