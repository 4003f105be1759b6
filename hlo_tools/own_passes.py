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
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, Source, Span, did_you_mean
from hlo.instruction import Module
from hlo.wording import counted
from interpreter.numbers.compare import PROMISES, Promise
from optimizer.observers import devices_for, promise_of
from optimizer.passes import PASSES, Pipeline
from optimizer.pipeline_text import PassMaker, listed, option_defaults, parse_pipeline
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
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
            made: Any = self.inner.run(module, log)
        except (Exception, SystemExit) as error:
            if not is_from(self.path, error):
                raise
            raise blamed(Path(self.path), error) from error
        if not isinstance(made, Module):
            message = f"`run` of `{self.name}` returns {type(made).__name__}, not a module"
            raise at_line(Path(self.path), line_of(type(self.inner).run), message, EXAMPLE)
        return made


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
    where = f"{entry.value}, the entry point `{entry.name}` of {GROUP}"
    try:
        value = entry.load()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        raise HloError(
            "HLO206",
            f"{where}: {type(error).__name__}: {error}",
            notes=[f"it is raised at {frames[-1].filename}:{frames[-1].lineno}"],
        ) from None
    return as_maker(file_of(value) or where, entry.name, value)


def file_of(value: Any) -> str | None:
    """The Python file in which something is defined."""
    try:
        return inspect.getsourcefile(value if isinstance(value, type) else type(value))
    except TypeError:
        return None


def own_pass(text: str) -> PassMaker:
    """The pass that `FILE.py:NAME` names, or the only one in `FILE.py`."""
    path, _, name = text.rpartition(":")
    if text.endswith(".py"):
        path, name = text, ""
    loaded = cast("dict[str, Any]", vars(load(Path(path))))
    name = name or only_name(path, loaded)
    if name not in loaded:
        known = own_names(path, loaded)
        notes = did_you_mean(name, known) or (f"there are: {', '.join(known) or 'none'}",)
        raise HloError("HLO204", f"{path} has no `{name}`", notes=notes)
    return as_maker(path, name, loaded[name])


def load(path: Path) -> Any:
    """The Python module of a file, whose neighbours it may import.

    Raises
    ------
    HloError
        HLO200 if it can't be read, HLO206 if it can't be compiled, or raises.
    """
    if not path.is_file():
        raise HloError("HLO200", f"cannot read {path}: there is no such file")
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
        except (Exception, SystemExit) as error:
            raise blamed(path, error) from None
    return loaded


@contextmanager
def importable(folder: Path) -> Generator[None]:
    """Let a folder's files import each other; from then on, as they may do so late."""
    if str(folder) not in sys.path:
        # Behind all others: a file of the user's that is called like one of ours hides none.
        sys.path.append(str(folder))
    yield


def blamed(path: Path, error: BaseException) -> HloError:
    """An error that says which line of the user's own file raised another one."""
    frames = own_frames(path, error)
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, HloError):
        message = error.message
    if not frames:
        return HloError("HLO206", f"{path}: {message}")
    return at_line(Path(frames[-1].filename), frames[-1].lineno, message)


def own_frames(path: Path, error: BaseException) -> list[traceback.FrameSummary]:
    """The lines of the user's file, or else of its neighbours, through which an error went."""
    frames = traceback.extract_tb(error.__traceback__)
    folder = path.resolve().parent
    return [f for f in frames if Path(f.filename).resolve().parent == folder] or [
        f for f in frames if Path(f.filename) == path
    ]


def is_from(path: str, error: BaseException) -> bool:
    """Whether a file of the user's is to blame for an error: it went through one of its lines."""
    return bool(own_frames(Path(path), error))


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


def only_name(path: str, loaded: dict[str, Any]) -> str:
    """The name of the one pass or rule of a file."""
    names = [n for n in own_names(path, loaded) if is_rules(loaded[n]) or has_run(loaded[n])]
    if len(names) != 1:
        there = f"there are: {', '.join(names)}" if names else EXAMPLE
        found = f"{counted(len(names), 'pass')}" if names else "no pass"
        note = f"say which one: {path}:{names[0] if names else 'MyPass'}"
        raise HloError("HLO204", f"{path} has {found}", notes=(there, note))
    return names[0]


def as_maker(path: str, name: str, value: Any) -> PassMaker:
    """A maker of the pass with a name."""
    options = option_defaults(cast("type[Any]", value)) if isinstance(value, type) else {}
    return PassMaker(name, options, partial(as_pass, path, name, value))


def as_pass(path: str, name: str, value: Any, **options: Any) -> Pass:
    """The pass for which a name stands.

    Raises
    ------
    HloError
        HLO206 if it is none.
    """
    if is_rules(value):
        return Own(Applied(name, as_rules(value)), path)
    if isinstance(value, type):
        try:
            made: Any = value(**options)
        except Exception as error:
            message = f"`{name}()` fails: {type(error).__name__}: {error}"
            note = "a pass is made without arguments: give its fields defaults"
            raise at_line(Path(path), line_of(value), message, note) from None
    else:
        made = value
    if wrong := unfit(made, name):
        raise at_line(Path(path), line_of(value), *wrong)
    return Own(made, path)


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
    """The reason why something is no pass, and its cure; None if it is one."""
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

    @property
    def devices(self) -> int | None:
        """The same as of the pass."""
        return devices_for(self.inner)

    def run(self, module: Module, log: Log) -> Module:
        """The module that the pass makes."""
        return self.inner.run(module, log)
