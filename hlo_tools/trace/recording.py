"""Passes and their rewrites, as they happen: an observer that keeps them."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from optimizer.log import Event, Log, Pass, Silent, innermost, location_of
from optimizer.observers import Verify, promise_of
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipelines import code_passes
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo.instruction import Module
    from interpreter.numbers.compare import Promise
    from optimizer.log import SourceLine
    from optimizer.pipelines import Target


@dataclass(frozen=True)
class PassRun:
    """One run of a pass that is no pipeline.

    Attributes
    ----------
    path : names of the pipelines that it ran in, outermost first, and its own.
    before, after : the same object if it changed nothing.
    rewrites : that it did, and that passes inside of it did.
    seconds : of CPU time.
    verified : whether the verifier found its result sound; None where nothing changed.
    """

    pass_: Pass
    path: tuple[str, ...]
    before: Module
    after: Module
    rewrites: tuple[Event, ...]
    seconds: float
    verified: bool | None

    @property
    def name(self) -> str:
        """XLA's name for the pass."""
        return self.path[-1]

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (innermost(self.pass_).__doc__ or "").partition("\n")[0]

    @property
    def location(self) -> SourceLine:
        """The line of the definition."""
        return location_of(type(innermost(self.pass_)).run)

    @property
    def changed(self) -> bool:
        """Whether it changed the module."""
        return self.after is not self.before

    def promise(self, event: Event) -> Promise:
        """The promise of a rewrite of it: as its rule promises, or else the pass."""
        return event.by.promise if isinstance(event.by, Rule) else promise_of(self.pass_)


@dataclass(frozen=True)
class Recording:
    """One run of passes over a module.

    Attributes
    ----------
    module : what the first pass was given.
    pipeline : the passes that were asked for.
    passes : in the order in which they ran; one that was left out, since it would have changed
        nothing, is not among them.
    fault : what ended the run early, if anything did.
    """

    module: Module
    pipeline: Pass
    passes: tuple[PassRun, ...]
    fault: HloError | None

    @property
    def last(self) -> Module:
        """The module after the last pass."""
        return self.passes[-1].after if self.passes else self.module


def record(module: Module, pipeline: Pass, code_for: Target | None = None) -> Recording:
    """Run passes over a module, verify the module after each, and keep everything.

    An error of a pass, or of the verifier, ends the run and is kept too.

    Parameters
    ----------
    code_for : the target for which code is written next: the passes that code needs follow.
    """
    recorder = Recorder()
    fault, log = None, Log([recorder])
    try:
        module_after = log.run(pipeline, module)
    except HloError as error:
        fault = error
    else:
        if code_for:
            # Whoever writes the code meets the same error, and tells it.
            with suppress(HloError):
                log.run(code_passes(code_for), module_after)
    return Recording(module, pipeline, tuple(recorder.runs), fault)


@dataclass
class Recorder(Silent):
    """Keeps the changes of each pass."""

    runs: list[PassRun] = field(default_factory=list[PassRun])
    verify: Verify = field(default_factory=Verify)
    depth: int = 0
    started: float = 0.0
    rewrites: list[Event] = field(default_factory=list[Event])

    def before(self, pass_: Pass, module: Module, log: Log) -> None:
        """Begin, unless the pass runs inside of another one that is recorded as a whole."""
        self.verify.before(pass_, module, log)
        if isinstance(pass_, Pipeline | Fixpoint) and not self.depth:
            return
        self.depth += 1
        if self.depth == 1:
            self.rewrites = []
            self.started = time.process_time()

    def event(self, event: Event, log: Log) -> None:
        """Keep a rewrite."""
        self.verify.event(event, log)
        self.rewrites.append(event)

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """Keep the module that the pass made, and verify it."""
        if isinstance(pass_, Pipeline | Fixpoint) and not self.depth:
            return
        self.depth -= 1
        if self.depth:
            return
        seconds = time.process_time() - self.started
        fault = None
        try:
            self.verify.after(pass_, before, after, log)
        except HloError as error:
            fault = error
        verified = None if after is before else fault is None
        rewrites, path = tuple(self.rewrites), tuple(log.path)
        self.runs.append(PassRun(pass_, path, before, after, rewrites, seconds, verified))
        if fault is not None:
            raise fault
