"""The standard observers: they verify, time, print, dump, check values and record rewrites."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.names import sanitize
from hlo.verify import Sound, verify
from hlo.wording import counted
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS, Promise, compare
from optimizer.log import Event, Log, Pass, Silent
from optimizer.passes import ALIASES, Fixpoint, Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hlo.errors.error import Span
    from hlo.instruction import Module

# The end of the name of the file that tells where arrays lie.
BUFFERS = "cpu_after_optimizations-buffer-assignment.txt"


class Verify(Silent):
    """Runs the verifier before the first pass, and after every pass that changed something.

    An error that it finds still points at the source line, and says which pass, and which rule of
    it, made the instruction.
    """

    def __init__(self) -> None:
        self.rules: dict[Span, str] = {}
        self.sound = Sound()

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Verify the module given to the outermost pass, and forget the events of other passes."""
        if len(log.path) == 1:
            verify(module, self.sound)
        self.rules.clear()

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Keep in mind the rewrites of each line of the source."""
        if event.old.span is not None:
            self.rules[event.old.span] = event.rule

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """Verify the module that a pass made."""
        if after is before or isinstance(pass_, Pipeline | Fixpoint):
            return
        try:
            verify(after, self.sound)
        except HloError as error:
            rule = self.rules.get(error.span) if error.span is not None else None
            who = f"`{rule}` in the pass" if rule else "the pass"
            raise error.noting(f"the module was fine before {who} {'.'.join(log.path)}") from None


class Advise(Silent):
    """Says why a pass left a module as it is, where that may surprise: passes with `advice` know.

    Parameters
    ----------
    tell : takes a line.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Ask the pass, if it changed nothing."""
        advice = getattr(pass_, "advice", None)
        if advice and after is before and (line := advice(after)):
            self.tell(f"{pass_.name}: {line}")


class Trace(Silent):
    """Keeps all rewrites."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Keep a rewrite."""
        self.events.append(event)


@dataclass
class Timer(Silent):
    """Adds up the CPU seconds that each pass takes, pipelines included.

    Attributes
    ----------
    seconds, runs : by the name of the pass.
    """

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    runs: dict[str, int] = field(default_factory=dict[str, int])
    started: list[float] = field(default_factory=list[float])

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Look at the clock."""
        self.started.append(time.process_time())

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Look at it again."""
        spent = time.process_time() - self.started.pop()
        self.seconds[pass_.name] = self.seconds.get(pass_.name, 0.0) + spent
        self.runs[pass_.name] = self.runs.get(pass_.name, 0) + 1

    def report(self) -> str:
        """A line a pass, the slowest first."""
        rows = sorted(self.seconds.items(), key=lambda row: -row[1])
        return "\n".join(
            f"{s:8.3f} s {counted(self.runs[name], 'run'):>9}  {name}" for name, s in rows
        )


@dataclass
class Print(Silent):
    """Gives the module's text, after every pass that changed it, to a function.

    Attributes
    ----------
    only : names of passes; empty for all.
    """

    write: Callable[[str], object]
    only: Sequence[str] = ()

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """Print the module that a pass made."""
        if after is not before and (not self.only or pass_.name in self.only):
            self.write(f"// after {'.'.join(log.path)}\n{after}\n")


# Passes whose own names XLA writes into the names of files, where users know others.
_DUMPED = {name: alias for alias, name in ALIASES.items()}
# XLA's compiler for the CPU has two pipelines where ours is one: the first ends with this pass.
_THROUGH = "layout-assignment"
_OF_CPU = f"HLO passes through {_THROUGH.replace('-', ' ')}", "HLO passes after layout assignment"


@dataclass
class Running:
    """A pipeline that runs, as its dumps call it.

    Attributes
    ----------
    position : of the pass that runs.
    begun : whether the module that it starts from is written; a fixpoint begins again and again.
    """

    name: str
    passes: Sequence[Pass]
    position: int = 0
    begun: bool = False


@dataclass
class Dump(Silent):
    """Writes the module to files between passes, under the names that XLA gives them.

    XLA's option `--xla_dump_to` does so. The first is `module_0000.NAME.before_optimizations.txt`,
    the last, if the passes come to their end, `module_0000.NAME.cpu_after_optimizations.txt`. Every
    pipeline starts with `module_0000.NAME.0000.PIPELINE.after_pipeline-start.before_A.txt`; where
    the pass A changes something, `module_0000.NAME.0001.PIPELINE.after_A.before_B.txt` follows, and
    after its last pass `...after_B.before_pipeline-end.txt`. Each turn of a fixpoint is a pipeline.

    Attributes
    ----------
    directory : made if it is not there.
    target : "cpu" or "gpu", for the name of the last file; "" for passes of one's own.
    module_number : of the module among those of its program, in the names.
    between : files are written before and after passes that this finds in their names; None for
        no files between passes.
    number : of the next file.
    running : the pipelines that run, the innermost last.
    name : of the module, in the names.
    """

    directory: Path
    target: str = ""
    module_number: int = 0
    between: re.Pattern[str] | None = field(default=re.compile(""))
    number: int = 0
    running: list[Running] = field(default_factory=list[Running])
    name: str = ""

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Write the module that a pipeline starts from."""
        if not self.running and not self.name:
            self.name = sanitize(module.name)
            self.write("before_optimizations.txt", module)
        self.begin(module)
        if isinstance(pass_, Pipeline | Fixpoint):
            self.running += self.parts(pass_)

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Write the module that a pass made."""
        if isinstance(pass_, Pipeline | Fixpoint):
            self.running.pop()
        if not self.running:
            target = f"{self.target}_" if self.target else ""
            self.write(f"{target}after_optimizations.txt", after)
            return
        pipeline, following = self.advance()
        if after is not before:
            self.write_between(pipeline, pass_.name, following, after)

    def left_out(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Count it too."""
        if self.running:
            self.begin(module)
            self.advance()

    def parts(self, pipeline: Pipeline | Fixpoint) -> list[Running]:
        """A pipeline as those of XLA's that it stands for, the first last."""
        passes = pipeline.passes
        last = next((n for n, pass_ in enumerate(passes) if pass_.name == _THROUGH), None)
        if self.running or self.target != "cpu" or last is None:
            return [Running(pipeline.name, passes)]
        halves = passes[: last + 1], passes[last + 1 :]
        return [Running(*half) for half in zip(_OF_CPU, halves, strict=True) if half[1]][::-1]

    def begin(self, module: Module) -> None:
        """Write the module that the innermost pipeline starts from, before its first pass."""
        if self.running and not self.running[-1].begun:
            pipeline = self.running[-1]
            pipeline.begun = True
            self.write_between(pipeline.name, "pipeline-start", pipeline.passes[0].name, module)

    def advance(self) -> tuple[str, str]:
        """Go on to the next pass; gives the name of the pipeline, and that of the pass."""
        pipeline = self.running[-1]
        pipeline.position += 1
        if pipeline.position < len(pipeline.passes):
            return pipeline.name, pipeline.passes[pipeline.position].name
        pipeline.position, pipeline.begun = 0, False
        if pipeline.name == _OF_CPU[0] and len(self.running) > 1:
            self.running.pop()  # the second half is below it
        return pipeline.name, "pipeline-end"

    def write_between(self, pipeline: str, previous: str, upcoming: str, module: Module) -> None:
        """Write the module between two passes."""
        previous, upcoming = (_DUMPED.get(name, name) for name in (previous, upcoming))
        if self.between is None or not any(map(self.between.search, (previous, upcoming))):
            return
        step = f"{pipeline}.after_{previous}.before_{upcoming}".replace(" ", "_")
        self.write(f"{self.number:04}.{step.replace('/', '_')}.txt", module)
        self.number += 1

    def write(self, end: str, text: Module | str) -> None:
        """Write one file, by the end of its name: the module, a report about it, or its code.

        Raises
        ------
        HloError
            HLO200 if that cannot be done.
        """
        path = self.directory / f"module_{self.module_number:04}.{self.name}.{end}"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text), "utf-8", "surrogateescape")
        except OSError as error:
            raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error


@dataclass
class CheckValues(Silent):
    """Runs the interpreter before and after every pass that changed something, and compares.

    Attributes
    ----------
    arguments : tuples of arguments of the entry computation, such as small random arrays.
    """

    arguments: Sequence[tuple[Any, ...]]

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """Compare the values of the module with those before.

        Raises
        ------
        HloError
            HLO153 if the pass breaks its promise.
        """
        if after is before or isinstance(pass_, Pipeline | Fixpoint) or not keeps_values(pass_):
            return
        for argument in self.arguments:
            want, got = evaluate(before, *argument), evaluate(after, *argument)
            if difference := compare(got, want, promise_of(pass_)):
                raise HloError(
                    "HLO153", f"the pass {'.'.join(log.path)} changed the result: {difference}"
                )


def devices_for(pass_: Pass) -> int | None:
    """The only number of devices on which a pass keeps values; None for as many as a module is for.

    Of a pipeline, it is that of any of its passes.
    """
    if isinstance(pass_, Pipeline | Fixpoint):
        return next((n for pass_ in pass_.passes if (n := devices_for(pass_))), None)
    return getattr(pass_, "devices", None)


def promise_of(pass_: Pass) -> Promise:
    """The promise of a pass: its `promise`; every bit if it has none."""
    return getattr(pass_, "promise", BITS)


def keeps_values(pass_: Pass) -> bool:
    """Whether a pass leaves the values of a module as they are: one that `transforms` does not."""
    if isinstance(pass_, Pipeline | Fixpoint):
        return all(map(keeps_values, pass_.passes))
    return not getattr(pass_, "transforms", False)
