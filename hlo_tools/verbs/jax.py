"""Run a script that uses JAX with PyHLO as its backend.

The script runs unchanged, as `python SCRIPT` would run it; its own options go behind its name. Each
function that it compiles is a module of HLO, which can be written to files, watched or compared.
`hlo step` and `hlo run` take such files.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.observers import Alarm
from interpreter.numbers.compare import ROUNDING

if TYPE_CHECKING:
    from hlo_tools.arguments import Parser

ENGINES = ("auto", "interpreter", "c")
SAME, DIFFERENT = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("script", metavar="SCRIPT", help="a file of Python")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="its own options")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        help="what runs it; auto: interpreted first, C when it is ready",
    )
    parser.add_argument("--devices", type=at_least(1), metavar="N", help="have so many devices")
    parser.add_argument("--dump-to", metavar="DIR", help="write each module, and it optimized")
    parser.add_argument(
        "--stop-at-nan", action="store_true", help="interpret, and stop where NaN arises"
    )
    parser.add_argument(
        "--compare", action="store_true", help="compare each call in C with the interpreter"
    )
    parser.add_argument("--explain", action="store_true", help="tell at the end what ran where")
    parser.not_with("--stop-at-nan", "--compare")


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    for name in ("jax", "jaxlib"):
        if find_spec(name) is None:
            raise HloError("HLO200", f"{name} is not installed", notes=["pip install 'pyhlo[jax]'"])
    if not Path(arguments.script).is_file():
        raise HloError("HLO200", f"cannot read {arguments.script}: no such file")
    os.environ["JAX_PLATFORMS"] = "pyhlo,cpu"
    engine = "c" if arguments.compare and not arguments.engine else arguments.engine
    if engine:
        os.environ["PYHLO_JAX_ENGINE"] = engine
    if arguments.devices:
        os.environ["PYHLO_JAX_DEVICES"] = str(arguments.devices)
    return _run_watched(arguments)


def _run_watched(arguments: argparse.Namespace) -> int:
    from hlo_jax.engines import choice  # noqa: PLC0415 - other verbs do without JAX
    from hlo_jax.engines.watched import Watch  # noqa: PLC0415
    from hlo_jax.explained import explain  # noqa: PLC0415

    watch = Watch(
        dump_to=Path(arguments.dump_to) if arguments.dump_to else None,
        tolerance=ROUNDING if arguments.compare else None,
        observe=Alarm("NaN", np.isnan) if arguments.stop_at_nan else None,
        report=lambda line: print(line, file=sys.stderr),
    )
    script = Path(arguments.script)
    words, path = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [str(script), *arguments.words], str(script.parent.resolve())
    try:
        with choice.watching(watch):
            runpy.run_path(str(script), run_name="__main__")
    except Exception:
        traceback.print_exc()
        return DIFFERENT
    finally:
        sys.argv, sys.path[0] = words, path
    if arguments.explain:
        print(explain(), file=sys.stderr)
    return DIFFERENT if watch.differences else SAME
