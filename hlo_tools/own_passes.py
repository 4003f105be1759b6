"""Loads passes and rules of the user from a Python file: `my_pass.py:MyPass`.

Whatever is wrong with the file is told as an error of the file, with its line; what is wrong with
the pass is told before it runs.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Module
from hlo.support.own_code import (
    at_line,
    blamed,
    file_of,
    is_from,
    line_of,
    load_entry,
    named_in_file,
    spelled,
)
from interpreter.numbers.compare import PROMISES, Promise
from optimizer.observers import devices_for, promise_of
from optimizer.passes import PASSES, Pipeline
from optimizer.pipeline_text import PassMaker, listed, option_defaults, parse_pipeline
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

    from optimizer.log import Log, Pass

# Where installed packages enter their passes.
GROUP = "pyhlo.passes"
EXAMPLE = "a pass has a `name` and a `run(self, module, log)` that returns a module"


@dataclass(frozen=True)
class Applied:
    """A pass that applies rules until none applies any more.

    Attributes
    ----------
    rules : of which the weakest promise is that of the pass.
    """

    name: str
    rules: RuleSet

    @property
    def promise(self) -> Promise:
        """The promise that all rules keep."""
        weakest = max(list(PROMISES).index(rule.promise_name) for rule in self.rules)
        return list(PROMISES.values())[weakest]

    def run(self, module: Module, log: Log) -> Module:
        """The module after all rewrites."""
        return rewrite(module, self.rules, log)


@dataclass(frozen=True)
class Own:
    """A pass of the user's, whose exceptions become errors at a line of its file."""

    inner: Pass
    path: str

    @property
    def name(self) -> str:
        """The same as of the pass."""
        return self.inner.name

    @property
    def promise(self) -> Promise:
        """The same as of the pass."""
        return promise_of(self.inner)

    @property
    def devices(self) -> int | None:
        """The same as of the pass."""
        return devices_for(self.inner)

    def run(self, module: Module, log: Log) -> Module:
        """The module that the pass makes.

        Raises
        ------
        HloError
            HLO206 if it raises anything, or makes no module.
        """
        try:
            result: Any = self.inner.run(module, log)
        except (Exception, SystemExit) as error:
            if not is_from(self.path, error):
                raise
            raise blamed(Path(self.path), error) from error
        if not isinstance(result, Module):
            message = f"`run` of `{self.name}` returns {type(result).__name__}, not a module"
            raise at_line(Path(self.path), line_of(type(self.inner).run), message, EXAMPLE)
        return result


def find_pass(text: str) -> Pass:
    """The pass that a text names: `cse,dce`, or `my_pass.py:MyPass`.

    Raises
    ------
    HloError
        as `find_pipeline` does.
    """
    if Path(text.rpartition(":")[0] or text).is_file():
        return own_pass(text).make()  # a path may have spaces
    pipeline = find_pipeline(text)
    return pipeline.passes[0] if len(pipeline.passes) == 1 else pipeline


def find_pipeline(text: str) -> Pipeline:
    """The passes that a text names: the optimizer's, installed packages', or in the user's files.

    Raises
    ------
    HloError
        HLO200 if a file can't be read, HLO204 if it has no such name, HLO206 if it fails or what it
        has is no pass, HLO150 to HLO152 for a pipeline that makes no sense.
    """
    return parse_pipeline(text, named_pass)


def named_pass(name: str) -> PassMaker:
    """The pass of a name: `FILE.py:NAME`, a pass of the optimizer, or another's."""
    if ".py:" in name or name.endswith(".py"):
        return own_pass(name)
    installed = entry_points(group=GROUP, name=name) if name not in PASSES else ()
    for entry in installed:
        return of_package(entry)
    try:
        return listed(name)
    except HloError as error:
        near = did_you_mean(name, [*PASSES, *(e.name for e in entry_points(group=GROUP))])
        raise HloError(error.code, error.message, notes=near or error.notes) from None


def of_package(entry: EntryPoint) -> PassMaker:
    """The pass that an installed package offers.

    Raises
    ------
    HloError
        HLO206 if it can't be loaded, or is no pass.
    """
    value = load_entry(entry)
    return as_maker(file_of(value) or spelled(entry), entry.name, value)


def own_pass(text: str) -> PassMaker:
    """The pass that `FILE.py:NAME` names, or the only one in `FILE.py`."""
    return as_maker(*named_in_file(text, "pass", EXAMPLE, is_pass, is_rules))


def is_pass(value: Any) -> bool:
    """Whether a value looks like a pass, or is a rule."""
    return is_rules(value) or has_run(value)


def as_maker(path: str, name: str, value: Any) -> PassMaker:
    """A maker of the pass with a name."""
    options = option_defaults(cast("type[Any]", value)) if isinstance(value, type) else {}
    return PassMaker(name, options, partial(as_pass, path, name, value))


def as_pass(path: str, name: str, value: Any, **options: Any) -> Pass:
    """The pass that a name refers to.

    Raises
    ------
    HloError
        HLO206 if it is none.
    """
    if is_rules(value):
        return Own(Applied(name, as_rules(value)), path)
    if isinstance(value, type):
        try:
            candidate: Any = value(**options)
        except Exception as error:
            message = f"`{name}()` fails: {type(error).__name__}: {error}"
            note = "a pass is made without arguments: give its fields defaults"
            raise at_line(Path(path), line_of(value), message, note) from None
    else:
        candidate = value
    if wrong := unfit(candidate, name):
        raise at_line(Path(path), line_of(value), *wrong)
    return Own(candidate, path)


def is_rules(value: Any) -> bool:
    """Whether a value is a rule, or some rules."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return bool(items) and all(isinstance(item, Rule) for item in items)
    return isinstance(value, Rule | RuleSet)


def as_rules(value: Any) -> RuleSet:
    """A rule, or some rules, as a set."""
    if isinstance(value, RuleSet):
        return value
    return RuleSet([value] if isinstance(value, Rule) else value)


def has_run(value: Any) -> bool:
    """Whether a value looks like a pass."""
    return callable(getattr(value, "run", None))


def unfit(candidate: Any, name: str) -> tuple[str, str] | None:
    """The reason why something is no pass, and its cure; None if it is one."""
    if inspect.isfunction(candidate):
        return f"`{name}` is a function, not a pass", f"put it into a class: {EXAMPLE}"
    if not has_run(candidate):
        return f"`{name}` has no `run`", EXAMPLE
    if not isinstance(getattr(candidate, "name", None), str):
        return f"`{name}` has no `name`", f'add `name = "my-pass"`: {EXAMPLE}'
    promise = getattr(candidate, "promise", None)
    if promise is not None and not isinstance(promise, Promise):
        known = ", ".join(PROMISES)
        note = f"import it from interpreter.numbers.compare: one of {known}"
        return f"the `promise` of `{name}` is {promise!r}, not a Promise", note
    try:
        inspect.signature(candidate.run).bind(None, None)
    except (TypeError, ValueError):
        return f"`run` of `{name}` does not take a module and a log", EXAMPLE
    return None


@dataclass(frozen=True)
class Promising:
    """A pass that is held against another promise than its own."""

    inner: Pass
    promise: Promise

    @property
    def name(self) -> str:
        """That of the pass."""
        return self.inner.name

    @property
    def devices(self) -> int | None:
        """The same as of the pass."""
        return devices_for(self.inner)

    def run(self, module: Module, log: Log) -> Module:
        """The module that the pass makes."""
        return self.inner.run(module, log)
