"""Write a page that shows every pass and every rewrite: one file of HTML, for any browser.

It needs no server and no network. It shows the module before and after each rewrite, with the rule
and its source, promise and proof; of each instruction its value, users, history and the line of
your program; a graph that folds; the loops and the C, with their lines linked to the instructions;
memory, shardings, and a quiz.

FILE is HLO text, or a trace that `hlo opt --trace` wrote (it ends in .json).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hlo.errors.error import HloError
from hlo_tools.drawing.page.page import page
from hlo_tools.options.files import STANDARD, add_file, read_sound_module, write_text
from hlo_tools.options.inputs import INPUT_OPTIONS, add_input_options, input_maker
from hlo_tools.options.pipelines import add_pipeline_options, chosen_pipeline
from hlo_tools.trace.document import FORMAT, VERSION
from hlo_tools.trace.values import Values
from hlo_tools.trace.write import FEW, MOST_EVALUATED, is_small, trace_data

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

FINE, FAILED = 0, 2
# Options, with their defaults, that a trace leaves nothing to do.
ABOUT_MODULES: Final = {
    "--passes": None,
    "--target": "cpu",
    "--strict": False,
    "--values": False,
    "--no-values": False,
    "--input": None,
    "--seed": 0,
    "--fill": None,
    "--replicas": None,
    "--assembly": False,
}


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser, "HLO text, a trace, or - for standard input")
    add_pipeline_options(parser, with_code=True)
    parser.add_argument(
        "--values",
        action="store_true",
        help=f"show values, though the module has more than {FEW:,} instructions",
    )
    parser.add_argument("--no-values", action="store_true", help="show no values")
    parser.not_with("--values", "--no-values")
    add_input_options(parser)
    for option in INPUT_OPTIONS:
        parser.not_with(option, "--no-values")
    parser.add_argument(
        "--assembly",
        action="store_true",
        help="add the assembly of the C, or with --target gpu the PTX of the CUDA C",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: NAME.html)")


def run(arguments: Namespace) -> int:
    """Write the page, and say where it is, and of a pass that failed."""
    path: str = arguments.file
    data = read_trace(arguments) if path.endswith(".json") else traced(arguments)
    name = "module" if path == STANDARD else Path(path).stem
    output: str = arguments.output or f"{name}.html"
    write_text(output, page(data))
    if output != STANDARD:
        print(output)
    # The page has all up to the pass that failed.
    if fault := data.get("fault"):
        print(fault, file=sys.stderr)
        return FAILED
    return FINE


def traced(arguments: Namespace) -> dict[str, Any]:
    """The trace of the module that the command line names."""
    module = read_sound_module(arguments.file, arguments.entry)
    wanted = arguments.values or (is_small(module) and not arguments.no_values)
    values = Values(input_maker(module, arguments), MOST_EVALUATED) if wanted else None
    passes = chosen_pipeline(arguments)
    target, assembly = arguments.target, arguments.assembly
    return trace_data(module, passes, values, target=target, assembly=assembly)


def read_trace(arguments: Namespace) -> dict[str, Any]:
    """The trace in a file.

    Raises
    ------
    HloError
        HLO200 if it can't be read, HLO201 if it is no trace, HLO204 for options about what is in
        the trace already.
    """
    path: str = arguments.file
    for option, default in ABOUT_MODULES.items():
        if getattr(arguments, option.strip("-").replace("-", "_")) != default:
            raise HloError("HLO204", f"{option} has no effect: {path} is a trace, which has it all")
    try:
        data: Any = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise HloError("HLO201", f"{path} is no JSON: {error}") from error
    trace = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if (trace.get("format"), trace.get("version")) != (FORMAT, VERSION):
        raise HloError("HLO201", f"{path} is no trace of version {VERSION}")
    return trace
