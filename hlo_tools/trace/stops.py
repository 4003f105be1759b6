"""The module after each rewrite: passes are run again, with so much fuel.

Modules never change and passes are deterministic, so that no history needs to be kept: the module
after the fifth rewrite of a pass is what the pass makes, with fuel for five rewrites, of what it
was given.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from optimizer.log import Log

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo_tools.trace.recording import PassRun, Recording
    from optimizer.log import Event

# Modules that are kept, besides those between passes.
MOST_MODULES = 64


@dataclass(frozen=True, slots=True)
class Stop:
    """One change of a module: a rewrite, or all that a pass does where it reports no rewrites.

    Attributes
    ----------
    number : of the stop, from 1. Where every change is reported, that of the rewrite too.
    run : the number of the pass in the recording, from 0.
    step : which of the pass's changes it is, from 1.
    event : None where a pass reports nothing.
    """

    number: int
    run: int
    step: int
    event: Event | None


class Stops:
    """The changes of a recording, with the module before and after each of them."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._kept: OrderedDict[int, Module] = OrderedDict()

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """All changes, in order."""
        stops: list[Stop] = []
        for number, run in enumerate(self.recording.passes):
            if not run.changed:
                continue
            for step, event in enumerate(run.rewrites or [None], 1):
                stops.append(Stop(len(stops) + 1, number, step, event))
        return tuple(stops)

    @cached_property
    def of_runs(self) -> dict[int, list[int]]:
        """The numbers of the changes that each pass does, by the pass's number."""
        stops_by_run: dict[int, list[int]] = {}
        for stop in self.stops:
            stops_by_run.setdefault(stop.run, []).append(stop.number)
        return stops_by_run

    def __len__(self) -> int:
        """The number of changes."""
        return len(self.stops)

    def run(self, stop: Stop) -> PassRun:
        """The pass that does a change."""
        return self.recording.passes[stop.run]

    def module(self, number: int) -> Module:
        """The module after so many changes.

        Parameters
        ----------
        number : from 0, the module before the first pass, to the number of changes.
        """
        if number == 0:
            return self.recording.module
        stop = self.stops[number - 1]
        run = self.run(stop)
        if stop.step >= len(run.rewrites):
            return run.after
        if number not in self._kept:
            self._kept[number] = Log(fuel=stop.step).run(run.pass_, run.before)
            if len(self._kept) > MOST_MODULES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]
