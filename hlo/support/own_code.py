"""Python files of the user's own, such as `my_pass.py`: loaded, and blamed for their errors.

Whatever is wrong with a file is told as an error of the file, with its line, and never as a
traceback. So are passes, rules and backends of one's own found.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, Source, Span, did_you_mean
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from importlib.metadata import EntryPoint


def named_in_file(
    text: str,
    noun: str,
    example: str,
    fits: Callable[[Any], bool],
    foreign: Callable[[Any], bool] = lambda _: False,
) -> tuple[str, str, Any]:
    """The object that `FILE.py:NAME` names, or the only one that fits in `FILE.py`.

    Parameters
    ----------
    noun : it is: "pass".
    example : what such a thing looks like.
    fits : whether an object may be meant where no name says so.
    foreign : whether an object counts as the file's though its class is from elsewhere.

    Returns
    -------
    The path of the file, the name and the object.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO204 if it has no such name, HLO206 if it fails.
    """
    path, _, name = text.rpartition(":")
    if text.endswith(".py"):
        path, name = text, ""
    loaded = cast("dict[str, Any]", vars(load(Path(path))))
    own = own_names(path, loaded, foreign)
    if not name:
        meant = [n for n in own if fits(loaded[n])]
        if len(meant) != 1:
            there = f"there are: {', '.join(meant)}" if meant else example
            count = counted(len(meant), noun) if meant else f"no {noun}"
            note = f"say which one: {path}:{meant[0] if meant else f'My{noun.capitalize()}'}"
            raise HloError("HLO204", f"{path} has {count}", notes=(there, note))
        (name,) = meant
    if name not in loaded:
        notes = did_you_mean(name, own) or (f"there are: {', '.join(own) or 'none'}",)
        raise HloError("HLO204", f"{path} has no `{name}`", notes=notes)
    return path, name, loaded[name]


def own_names(path: str, loaded: dict[str, Any], foreign: Callable[[Any], bool]) -> list[str]:
    """The names in a file that may be meant: classes, objects and functions of its own."""
    own = Path(path).stem
    return [
        name
        for name, value in loaded.items()
        if not name.startswith("_")
        and (getattr(value, "__module__", None) == own or foreign(value))
    ]


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
        # After all others: a file of the user's that is called like one of ours hides none.
        sys.path.append(str(folder))
    yield


def blamed(path: Path, error: BaseException, message: str = "", *notes: str) -> HloError:
    """An error that says which line of the user's own file raised another one.

    Parameters
    ----------
    message : by default that of the other one.
    """
    frames = own_frames(path, error)
    own = error.message if isinstance(error, HloError) else f"{type(error).__name__}: {error}"
    if not frames:
        return HloError("HLO206", f"{path}: {message or own}", notes=notes)
    raised = Path(frames[-1].filename)
    is_the_file = raised.resolve() == path.resolve()
    return at_line(path if is_the_file else raised, frames[-1].lineno, message or own, *notes)


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


def at_line(
    path: Path, line: int | None, message: str, *notes: str, code: str = "HLO206"
) -> HloError:
    """An error at a line of a Python file."""
    try:
        lines = path.read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return HloError(code, f"{path}: {message}", notes=notes)
    if not line or line > len(lines):
        return HloError(code, f"{path}: {message}", notes=notes)
    start = sum(map(len, lines[: line - 1]))
    text = lines[line - 1]
    indent = len(text) - len(text.lstrip())
    span = Span(Source("".join(lines), str(path)), start + indent, start + len(text.rstrip()))
    return HloError(code, message, span, notes)


def load_entry(entry: EntryPoint) -> Any:
    """The object that an installed package offers by an entry point.

    Raises
    ------
    HloError
        HLO206 if it can't be loaded.
    """
    try:
        return entry.load()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        raise HloError(
            "HLO206",
            f"{spelled(entry)}: {type(error).__name__}: {error}",
            notes=[f"it is raised at {frames[-1].filename}:{frames[-1].lineno}"],
        ) from None


def spelled(entry: EntryPoint) -> str:
    """An entry point in a message."""
    return f"{entry.value}, the entry point `{entry.name}` of {entry.group}"


def file_of(value: Any) -> str | None:
    """The Python file in which something is defined."""
    try:
        return inspect.getsourcefile(value if isinstance(value, type) else type(value))
    except TypeError:
        return None


def line_of(value: Any) -> int | None:
    """The line at which something is defined."""
    try:
        return inspect.getsourcelines(value if callable(value) else value.__class__)[1]
    except (OSError, TypeError):
        return None
