"""Running a script of a user as `python SCRIPT` would run it."""

from __future__ import annotations

import runpy
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from hlo_tools.arguments import Parser

FINE, FAILED = 0, 1


def add_script(parser: Parser) -> None:
    """The arguments for a script, and after `--` for its own words."""
    parser.add_argument("script", metavar="SCRIPT", help="a file of Python")
    parser.behind_dashes("words")


def require(package: str, extra: str) -> None:
    """Look for a package that a verb needs, and that one of PyHLO's extras installs.

    Raises
    ------
    HloError
        HLO200 if it is not installed.
    """
    if find_spec(package) is None:
        note = f"pip install 'pyhlo[{extra}]'"
        raise HloError("HLO200", f"{package} is not installed", notes=[note])


def run_script(path: str, words: Sequence[str]) -> int:
    """Run a script with its own words; an exception that it raises is printed as Python does.

    Returns
    -------
    int
        0, or 1 where the script raised an exception.

    Raises
    ------
    HloError
        HLO200 if it can't be read, or is no Python.
    """
    script = Path(path)
    if not script.is_file():
        raise HloError("HLO200", f"cannot read {path}: no such file")
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [str(script), *words], str(script.parent.resolve())
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Exception as error:
        own = _from_script(error, str(script))
        misspelled = isinstance(error, SyntaxError) and error.filename == str(script)
        if own is None and not misspelled:
            raise HloError("HLO200", f"cannot run {script}: {error}") from error
        traceback.print_exception(error.with_traceback(own))
        return FAILED
    finally:
        sys.argv, sys.path[0] = before
    return FINE


def _from_script(error: Exception, script: str) -> TracebackType | None:
    """An exception's traceback as `python SCRIPT` would show it: without the frames before.

    It is None where the script never ran: it is no Python, or is misspelled.
    """
    frames = error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(script):
        frames = frames.tb_next
    return frames


def folder_made(path: str) -> Path:
    """A folder for the files of a run, made if it is not there.

    Raises
    ------
    HloError
        HLO200 if it can't be made.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error
    return Path(path)
