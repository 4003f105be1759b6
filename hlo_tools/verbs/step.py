"""Step through the optimizer's rewrites and kernel passes, forwards and backwards.

The commands are those of Python's debugger where it has them: n(ext), c(ontinue), r(eturn), u(ndo),
j(ump), b(reak) at a rule, an instruction, an opcode, `nan`, `divergence` or `change`, w(here),
l(ist), p(rint) a value, a(rgs), source, why, whatis, bisect, q(uit). `help` tells more.

Commands come from the terminal, from standard input (`hlo step m.hlo < script`), or from a file
(--script). From the latter two each is written after the prompt, and the exit status is 2 if one
makes no sense.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.console import plain
from hlo_tools.options.files import STANDARD, add_file, read_sound_module
from hlo_tools.options.inputs import add_input_options, input_maker
from hlo_tools.options.pipelines import add_pipeline_options
from hlo_tools.own_passes import find_pipeline
from hlo_tools.step.console import Console
from hlo_tools.step.stepper import Stepper
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from hlo_tools.arguments import Parser

FINE, BAD_COMMAND = 0, 2


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument("--script", metavar="FILE", help="commands, a line each")
    add_pipeline_options(parser, with_code=True)
    add_input_options(parser)


def run(arguments: Namespace) -> int:
    """Read commands until there are no more."""
    commands = _commands(arguments)
    module = read_sound_module(arguments.file, arguments.entry)
    if arguments.passes:
        passes = find_pipeline(arguments.passes)
    else:
        passes = pipeline(arguments.target, strict=arguments.strict)
    stepper = Stepper(
        module,
        passes,
        target=arguments.target,
        inputs=input_maker(module, arguments),
    )
    colours = sys.stdout.isatty() and not plain()
    console = Console(stepper, sys.stdout, colours=colours, echo=commands is not None)
    if commands is None:
        console.run_at_terminal()
        return FINE
    console.run_script(commands)
    return BAD_COMMAND if console.failed else FINE


def _commands(arguments: Namespace) -> Iterable[str] | None:
    """The lines of the script; None where somebody types at a terminal."""
    if arguments.script:
        try:
            return Path(arguments.script).read_text("utf-8").splitlines()
        except OSError as error:
            message = f"cannot read {arguments.script}: {error.strerror}"
            raise HloError("HLO200", message) from error
        except UnicodeDecodeError as error:
            raise HloError("HLO200", f"cannot read {arguments.script}: it is no text") from error
    if arguments.file == STANDARD:
        note = "give the commands in a file: --script FILE"
        raise HloError("HLO204", "standard input holds the module, or the commands", notes=[note])
    return standard_input()


def standard_input() -> Iterable[str] | None:
    """The lines of standard input; None where it is a terminal."""
    return None if sys.stdin.isatty() else sys.stdin
