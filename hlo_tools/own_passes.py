"""Passes and rules of the user's own: `my_pass.py:MyPass`, found in a Python file and looked at.

Whatever is wrong with the file is told as an error of the file, with its line; what is wrong with
the pass is told before it runs.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, Source, Span, did_you_mean
from interpreter.numbers.compare import PROMISES, Promise
from optimizer.pipeline_text import parse_pipeline
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hlo.instruction import Module
    from optimizer.log import Log, Pass

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
        """What all rules keep."""
        weakest = max(list(PROMISES).index(rule.promise_name) for rule in self.rules)
        return list(PROMISES.values())[weakest]

    def run(self, module: Module, log: Log) -> Module:
        """The module after all rewrites."""
        return rewrite(module, self.rules, log)


def find_pass(text: str) -> Pass:
    """The pass that a text names: `cse,dce`, or `my_pass.py:MyPass`.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO204 if it has no such name, HLO206 if the file fails
        or what it has is no pass, HLO150 to HLO152 for a pipeline that makes no sense.
    """
    path, colon, name = text.rpartition(":")
    if text.endswith(".py"):
        path, colon, name = text, ":", ""
    if not colon:
        pipeline = parse_pipeline(text)
        return pipeline.passes[0] if len(pipeline.passes) == 1 else pipeline
    if not Path(path).is_file():
        raise HloError("HLO200", f"cannot read {path}: it is no Python file")
    loaded = cast("dict[str, Any]", vars(load(Path(path))))
    if not name:
        return only_pass(path, loaded)
    if name not in loaded:
        known = own_names(path, loaded)
        notes = did_you_mean(name, known) or (f"there are: {', '.join(known) or 'none'}",)
        raise HloError("HLO204", f"{path} has no `{name}`", notes=notes)
    return as_pass(path, name, loaded[name])


def load(path: Path) -> Any:
    """The Python module of a file, whose neighbours it may import.

    Raises
    ------
    HloError
        HLO206 if it can't be compiled, or raises.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise HloError("HLO200", f"cannot read {path}: it is no Python file")
    loaded = importlib.util.module_from_spec(spec)
    # Data classes look their module up, and a pass may be defined over several files.
    sys.modules.setdefault(path.stem, loaded)
    with importable(path.resolve().parent):
        try:
            spec.loader.exec_module(loaded)
        except SyntaxError as error:
            raise at_line(Path(error.filename or path), error.lineno, f"{error.msg}") from None
        except Exception as error:
            raise blamed(path, error) from None
    return loaded


@contextmanager
def importable(folder: Path) -> Generator[None]:
    """Let a folder's files import each other; from then on, as they may do so late."""
    if str(folder) not in sys.path:
        # Behind all others: a file of the user's that is called like one of ours hides none.
        sys.path.append(str(folder))
    yield


def blamed(path: Path, error: Exception) -> HloError:
    """An error that says which line of the user's own file raised another one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).parent == path.resolve().parent] or [
        f for f in frames if Path(f.filename) == path
    ]
    message = f"{type(error).__name__}: {error}"
    if not own:
        return HloError("HLO206", f"{path}: {message}")
    return at_line(Path(own[-1].filename), own[-1].lineno, message)


def at_line(path: Path, line: int | None, message: str, *notes: str) -> HloError:
    """An error at a line of a Python file."""
    try:
        lines = path.read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return HloError("HLO206", f"{path}: {message}", notes=notes)
    if not line or line > len(lines):
        return HloError("HLO206", f"{path}: {message}", notes=notes)
    start = sum(map(len, lines[: line - 1]))
    text = lines[line - 1]
    indent = len(text) - len(text.lstrip())
    span = Span(Source("".join(lines), str(path)), start + indent, start + len(text.rstrip()))
    return HloError("HLO206", message, span, notes)


def own_names(path: str, loaded: dict[str, Any]) -> list[str]:
    """The names in a file that may be meant: classes, objects and functions of its own."""
    own = Path(path).stem
    return [
        name
        for name, value in loaded.items()
        if not name.startswith("_")
        and (getattr(value, "__module__", None) == own or isinstance(value, Rule | RuleSet))
    ]


def only_pass(path: str, loaded: dict[str, Any]) -> Pass:
    """The one pass or rule of a file."""
    names = [n for n in own_names(path, loaded) if is_rules(loaded[n]) or has_run(loaded[n])]
    if len(names) != 1:
        there = f"there are: {', '.join(names)}" if names else EXAMPLE
        found = f"{len(names)} passes" if names else "no pass"
        note = f"say which one: {path}:{names[0] if names else 'MyPass'}"
        raise HloError("HLO204", f"{path} has {found}", notes=(there, note))
    return as_pass(path, names[0], loaded[names[0]])


def as_pass(path: str, name: str, value: Any) -> Pass:
    """What a name stands for, as a pass.

    Raises
    ------
    HloError
        HLO206 if it is none.
    """
    if is_rules(value):
        return Applied(name, as_rules(value))
    if isinstance(value, type):
        try:
            made: Any = cast("type[Any]", value)()
        except Exception as error:
            message = f"`{name}()` fails: {type(error).__name__}: {error}"
            note = "a pass is made without arguments: give its fields defaults"
            raise at_line(Path(path), line_of(value), message, note) from None
    else:
        made = value
    if wrong := unfit(made, name):
        raise at_line(Path(path), line_of(value), *wrong)
    return made


def is_rules(value: Any) -> bool:
    """Whether a value is a rule, or some rules."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return bool(items) and all(isinstance(each, Rule) for each in items)
    return isinstance(value, Rule | RuleSet)


def as_rules(value: Any) -> RuleSet:
    """A rule, or some rules, as a set."""
    if isinstance(value, RuleSet):
        return value
    return RuleSet([value] if isinstance(value, Rule) else value)


def has_run(value: Any) -> bool:
    """Whether a value looks like a pass."""
    return callable(getattr(value, "run", None))


def unfit(made: Any, name: str) -> tuple[str, str] | None:
    """Why something is no pass, and what to do about it; None if it is one."""
    if inspect.isfunction(made):
        return f"`{name}` is a function, not a pass", f"put it into a class: {EXAMPLE}"
    if not has_run(made):
        return f"`{name}` has no `run`", EXAMPLE
    if not isinstance(getattr(made, "name", None), str):
        return f"`{name}` has no `name`", f'add `name = "my-pass"`: {EXAMPLE}'
    promise = getattr(made, "promise", None)
    if promise is not None and not isinstance(promise, Promise):
        known = ", ".join(PROMISES)
        note = f"import it from interpreter.numbers.compare: one of {known}"
        return f"the `promise` of `{name}` is {promise!r}, not a Promise", note
    try:
        inspect.signature(made.run).bind(None, None)
    except (TypeError, ValueError):
        return f"`run` of `{name}` does not take a module and a log", EXAMPLE
    return None


def line_of(value: Any) -> int | None:
    """The line at which something is defined."""
    try:
        return inspect.getsourcelines(value if callable(value) else value.__class__)[1]
    except (OSError, TypeError):
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

    def run(self, module: Module, log: Log) -> Module:
        """What the pass makes."""
        return self.inner.run(module, log)
