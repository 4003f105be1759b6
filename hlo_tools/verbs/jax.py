"""Run a script that uses JAX with PyHLO as its backend.

The script runs unchanged, as `python SCRIPT` would run it; its own words go after `--`, as in
`hlo jax train.py --compare -- --epochs 3`. Each function that it compiles is a module of HLO, which
can be written to files, watched, compared or stepped through.
`hlo step` and `hlo run` take such files.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hlo.backend_names import OWN, find
from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.console import plain
from hlo_tools.running.observers import Alarm
from hlo_tools.running.scripts import FINE, add_script, require, run_script
from hlo_tools.step.console import Console
from hlo_tools.step.stepper import Stepper
from hlo_tools.verbs.step import standard_input
from interpreter.numbers.compare import ROUNDING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from hlo.instruction import Module
    from hlo_jax.engines.engine import Arrays
    from hlo_tools.arguments import Parser

SAME, DIFFERENT = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    known = ", ".join(OWN)
    add_script(parser)
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        help=f"how modules run: auto (by the interpreter until their C is compiled), {known}, or "
        "your own FILE.py:NAME; after a name, -only makes a module that can't be compiled an "
        "error, else it is interpreted",
    )
    parser.add_argument("--devices", type=at_least(1), metavar="N", help="number of devices")
    parser.add_argument(
        "--dump-to",
        metavar="DIR",
        help="write each module before and after the passes, as XLA does",
    )
    parser.add_argument(
        "--stop-at-nan", action="store_true", help="interpret, and stop where NaN arises"
    )
    parser.add_argument(
        "--compare", action="store_true", help="compare each call in C with the interpreter"
    )
    parser.add_argument(
        "--step",
        metavar="MODULE",
        help="step through a module before its first call, with the script's own arguments: its"
        " number or its name as --dump-to writes them; commands as of hlo step",
    )
    parser.add_argument("--explain", action="store_true", help="tell at the end what ran where")
    parser.not_with("--stop-at-nan", "--compare")
    parser.not_with("--step", "--compare", "--stop-at-nan")


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    for name in ("jax", "jaxlib"):
        require(name, "jax")
    if not Path(arguments.script).is_file():
        raise HloError("HLO200", f"cannot read {arguments.script}: no such file")
    os.environ["JAX_PLATFORMS"] = "pyhlo,cpu"
    engine = "c" if arguments.compare and not arguments.engine else arguments.engine
    if engine:
        if engine != "auto":
            find(engine.removesuffix("-only"), "engine")
        os.environ["PYHLO_JAX_ENGINE"] = engine
    if arguments.devices:
        os.environ["PYHLO_JAX_DEVICES"] = str(arguments.devices)
    if arguments.dump_to:
        try:
            Path(arguments.dump_to).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot write {arguments.dump_to}: {error.strerror}"
            raise HloError("HLO200", message) from error
    return _run_watched(arguments)


def _run_watched(arguments: argparse.Namespace) -> int:
    from hlo_jax.engines import choice  # noqa: PLC0415 - other verbs do without JAX
    from hlo_jax.engines.watched import Watch  # noqa: PLC0415
    from hlo_jax.explained import explain  # noqa: PLC0415

    watch = Watch(
        dump_to=Path(arguments.dump_to) if arguments.dump_to else None,
        tolerance=ROUNDING if arguments.compare else None,
        observe=Alarm("NaN", np.isnan) if arguments.stop_at_nan else None,
        step_into=arguments.step or "",
        step=_step if arguments.step else None,
        report=lambda line: print(line, file=sys.stderr),
    )
    with choice.watching(watch):
        status = run_script(arguments.script, arguments.words)
    if status != FINE:
        return DIFFERENT
    if arguments.compare:
        outcome = f"{watch.differences} of {watch.count} modules differ"
        print(f"compared with the interpreter: {outcome}", file=sys.stderr)
    if arguments.explain:
        print(explain(), file=sys.stderr)
    if watch.step_into:
        message = f"the script compiled no module {watch.step_into}; it compiled {watch.count}"
        raise HloError("HLO200", message, notes=["--dump-to DIR writes all of them, by number"])
    return DIFFERENT if watch.differences else SAME


def _step(module: Module, per_device: Sequence[Arrays]) -> None:
    """Read commands, from the terminal or from standard input, until there are no more."""
    stepper = Stepper(module, inputs=lambda: [list(own) for own in per_device])
    commands = standard_input()
    console = Console(
        stepper, sys.stdout, colours=sys.stdout.isatty() and not plain(), echo=commands is not None
    )
    if commands is None:
        console.run_at_terminal()
    else:
        console.run_script(commands)
    sys.stdout.flush()
