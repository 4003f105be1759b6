"""Draw a module as a graph: a box an instruction, an edge a value, fusions and loops as frames.

    hlo graph m.hlo -o m.svg                    the whole module
    hlo graph m.hlo --around dot.4 -o dot.svg   what is near it
    hlo graph m.hlo --format dot | dot -Tpdf    for Graphviz
    hlo opt m.hlo --stage svg -o fused.svg      what the optimizer made of it

Colours tell families of opcodes, edges are labelled with the bytes of their value or with a
constant, and the box with the thick frame is the result. Pointing at a box shows its text. No other
program is needed. A module that is too large to be read is folded: first the inside of fusions and
loops, then scopes of the program (`op_name`). `hlo view` has the same graph to open and close.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.drawing.graphs.drawing import drawn
from hlo_tools.options.files import (
    add_file,
    add_output_option,
    read_sound_module,
    write_text,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

# The forms of files with these ends; those of others, Graphviz writes.
FORMS = {".svg": "svg", ".dot": "dot", ".gv": "dot"}
BY_GRAPHVIZ = (".png", ".pdf", ".ps", ".eps", ".jpg", ".jpeg", ".gif", ".webp")


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument("--computation", metavar="NAME", help="draw this one instead of the entry")
    parser.add_argument(
        "--around", metavar="NAME", help="draw only this instruction and its neighbours"
    )
    parser.add_argument(
        "--hops",
        type=at_least(0),
        default=2,
        metavar="N",
        help="neighbours over so many edges (default 2)",
    )
    parser.add_argument(
        "--collapse", action="store_true", help="leave out what is inside of fusions and loops"
    )
    parser.add_argument(
        "--most", type=at_least(1), metavar="N", help="fold to at most so many boxes (default 70)"
    )
    parser.add_argument(
        "--format", choices=("svg", "dot"), default="svg", help="a picture, or text for Graphviz"
    )
    parser.add_argument(
        "--engine",
        choices=("own", "dot"),
        default="own",
        help="who places the boxes: own (the default), or Graphviz's dot, which folds nothing",
    )
    add_output_option(parser)
    parser.only_with(("--hops",), "--around")
    parser.only_with(("--engine",), "--format svg")


def run(arguments: Namespace) -> int:
    """Write the picture."""
    refuse_other_form(arguments.output, arguments.format)
    picture = drawn(
        read_sound_module(arguments.file, arguments.entry),
        form=arguments.format,
        engine=arguments.engine,
        computation=arguments.computation,
        around=arguments.around,
        hops=arguments.hops,
        collapse=arguments.collapse,
        most=arguments.most,
    )
    write_text(arguments.output, picture)
    return 0


def refuse_other_form(path: str, form: str) -> None:
    """Raise an error where a file's name promises another form than it would be written in.

    Raises
    ------
    HloError
        HLO204.
    """
    end = Path(path).suffix.lower()
    if end in BY_GRAPHVIZ:
        note = f"`hlo graph FILE --format dot | dot -T{end[1:]} -o {path}` lets Graphviz draw it"
    elif FORMS.get(end, form) != form:
        note = f"--format {FORMS[end]} writes such a file"
    else:
        return
    raise HloError("HLO204", f"a graph in the form {form} is no `{end}` file", notes=[note])
