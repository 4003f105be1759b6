"""The log of a run of passes: its observers, and how many rewrites may still be done.

Passes report every rewrite to the log before they do it, and don't do it if the log says no. So
*fuel*, a number of rewrites, stops the optimizer at any point, and skipping one number undoes one
firing; both are deterministic, because passes are. The stepper, the viewer and bisection use this.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hlo.infer.precision import mixed_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo.instruction import Instruction, Module

NOTHING_BOUND: Mapping[str, Any] = MappingProxyType({})


class SourceLine(NamedTuple):
    """A line of a Python file, counted from 1."""

    file: str
    line: int


class HasSourceLine(Protocol):
    """An object that knows the line of its definition, such as a rule."""

    @property
    def location(self) -> SourceLine:
        """The line of the definition."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """One rewrite.

    Attributes
    ----------
    number : of the rewrite in the whole run, from 1: so much fuel does it, and all before it.
    path : names of the pipelines and passes that run, outermost first.
    rule : what was done: a rule's name, or a pass's own word for it.
    old : the instruction that is replaced or removed.
    new : the replacement, last, after new instructions that it needs; empty
        if it is removed.
    location : the line of the rewrite's rule or function, or of the pass that does it.
    by : the rule, or the function, that made `new`; None where the pass did.
    bindings : what the rule's variables stand for: instructions, attributes, computations.
    """

    number: int
    path: tuple[str, ...]
    rule: str
    old: Instruction
    new: tuple[Instruction, ...]
    location: SourceLine
    by: HasSourceLine | Callable[..., Any] | None = None
    bindings: Mapping[str, Any] = field(default_factory=lambda: NOTHING_BOUND)

    def __str__(self) -> str:
        """One line."""
        names = ", ".join(f"%{i.name}" for i in self.new) or "nothing"
        return f"{self.number:>5} {'.'.join(self.path)}: {self.rule}: %{self.old.name} -> {names}"


class Pass(Protocol):
    """Something that makes a new module of a module."""

    @property
    def name(self) -> str:
        """XLA's name for it."""
        ...

    def run(self, module: Module, log: Log) -> Module:
        """The new module; the same object where nothing changed."""
        ...


class Observer(Protocol):
    """An observer of passes. `optimizer.observers` has the standard ones."""

    def before(self, pass_: Pass, module: Module, log: Log) -> None:
        """A pass is about to run.

        Parameters
        ----------
        pass_ : also a pipeline, whose passes run after this call.
        module : as it is before the pass.
        log : of this run; `log.path` ends with the pass.
        """

    def event(self, event: Event, log: Log) -> None:
        """A pass is about to do a rewrite."""

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """A pass has run.

        Parameters
        ----------
        pass_ : also a pipeline, whose passes have run.
        before, after : the same object if it changed nothing.
        log : of this run; `log.path` ends with the pass.
        """

    def left_out(self, pass_: Pass, module: Module, log: Log) -> None:
        """A pass does not run, for it left this very module as it was before.

        Parameters
        ----------
        pass_ : also a pipeline.
        module : which the pass would not change.
        log : of this run.
        """


@dataclass
class Log:
    """One run of the optimizer.

    Attributes
    ----------
    observers : in the order in which they are told.
    fuel : how many rewrites may still be done; None for any number.
    skip : numbers of rewrites, from 1, that are not done.
    path : names of the pipelines and passes that run now, outermost first.
    running : these pipelines and passes.
    numbers : the number of rewrites that passes have proposed so far.
    denied : rewrites, as rule and instruction, that were refused once and so always are.
    settled : the fixpoint (`optimizer.rewriting.memo.Settled`) of each rule set, for each way in
        which it is applied.
    left : the module that a pass left unchanged the last time; it would leave it unchanged again.
    """

    observers: Sequence[Observer] = ()
    fuel: int | None = None
    skip: frozenset[int] = frozenset()
    path: list[str] = field(default_factory=list[str])
    running: list[Pass] = field(default_factory=list["Pass"])
    numbers: int = 0
    denied: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    settled: dict[object, Any] = field(default_factory=dict[object, Any])
    left: dict[Pass, Module] = field(default_factory=dict["Pass", "Module"])

    def rewrite(
        self,
        rule: str,
        old: Instruction,
        *new: Instruction,
        by: HasSourceLine | Callable[..., Any] | None = None,
        bindings: Mapping[str, Any] = NOTHING_BOUND,
    ) -> bool:
        """Propose a rewrite: whether it may be done.

        Parameters
        ----------
        rule : what is done.
        old : the instruction that is replaced or removed.
        new : new instructions and, last, the one that takes its place; none if it is removed.
        by, bindings : as in `Event`.

        Returns
        -------
        bool
            False also if the old one mixes floats of several precisions: what holds of an opcode
            does not hold of that, until `explicit-precision` has put conversions beside it.
        """
        if new and mixed_precision(old) is not None:
            return False
        return self.allow(rule, old, *new, by=by, bindings=bindings)

    def allow(
        self,
        rule: str,
        old: Instruction,
        *new: Instruction,
        by: HasSourceLine | Callable[..., Any] | None = None,
        bindings: Mapping[str, Any] = NOTHING_BOUND,
    ) -> bool:
        """Propose a rewrite as `rewrite` does, also of an instruction that mixes precisions.

        Parameters
        ----------
        rule, old, new, by, bindings : as of `rewrite`.
        """
        spent = self.fuel is not None and self.fuel <= 0
        if spent or (rule, old.name) in self.denied:
            return False
        self.numbers += 1
        number = self.numbers
        if number in self.skip:
            self.denied.add((rule, old.name))
            return False
        if self.fuel is not None:
            self.fuel -= 1
        if self.observers:
            location = location_of(by) if by is not None else self.location_in_pass()
            happened = Event(number, tuple(self.path), rule, old, new, location, by, bindings)
            for observer in self.observers:
                observer.event(happened, self)
        return True

    def location_in_pass(self) -> SourceLine:
        """The line of the pass's own file that proposes a rewrite, or else of its caller."""
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        asking = frame
        own = location_of(type(innermost(self.running[-1])).run).file if self.running else ""
        while frame is not None and frame.f_code.co_filename != own:
            frame = frame.f_back
        shown = frame or asking
        return SourceLine(shown.f_code.co_filename, shown.f_lineno) if shown else SourceLine("", 0)

    def run(self, pass_: Pass, module: Module) -> Module:
        """Run a pass, and tell the observers before and after; not where it left the module."""
        if self.left.get(pass_) is module:
            for observer in self.observers:
                observer.left_out(pass_, module, self)
            return module
        self.path.append(pass_.name)
        self.running.append(pass_)
        for observer in self.observers:
            observer.before(pass_, module, self)
        changed = pass_.run(module, self)
        for observer in self.observers:
            observer.after(pass_, module, changed, self)
        self.path.pop()
        self.running.pop()
        if changed is module:
            self.left[pass_] = module
        return changed


def location_of(made_by: HasSourceLine | Callable[..., Any]) -> SourceLine:
    """The line of a rule or a function."""
    location: SourceLine | None = getattr(made_by, "location", None)
    if location is not None:
        return location
    code = getattr(inspect.unwrap(made_by), "__code__", None)  # pyright: ignore[reportArgumentType]
    return SourceLine(code.co_filename, code.co_firstlineno) if code else SourceLine("", 0)


def innermost(pass_: Pass) -> Pass:
    """The pass that does the work where others wrap it; these call it `inner`."""
    while (inner := getattr(pass_, "inner", None)) is not None:
        pass_ = inner
    return pass_


class Silent:
    """An observer that does nothing: others override what they care for."""

    def before(self, pass_: Pass, module: Module, log: Log) -> None:
        """Nothing."""

    def event(self, event: Event, log: Log) -> None:
        """Nothing."""

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:
        """Nothing."""

    def left_out(self, pass_: Pass, module: Module, log: Log) -> None:
        """Nothing."""
