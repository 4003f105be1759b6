"""Print a module exactly as XLA prints it, or shorter.

Without options the text is XLA's canonical one, to the byte, constants whole. The options are those
of XLA's HloPrintOptions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hlo.write.print import Options, print_module
from hlo_tools.files import read_module, write_text

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

# Each option with the field of `hlo.Options` that it sets, the value, and its help.
SWITCHES: Final = {
    "--operand-shapes": ("print_operand_shape", True, "write the shape before each operand"),
    "--elide-constants": ("print_large_constants", False, "write {...} for constants over 10"),
    "--large-constants": ("print_large_constants", True, "write constants whole (the default)"),
    "--no-metadata": ("print_metadata", False, "leave out metadata"),
    "--no-backend-config": ("print_backend_config", False, "leave out backend configurations"),
    "--no-layouts": ("include_layout_in_shapes", False, "leave out layouts"),
    "--no-percent": ("print_percent", False, "leave out the %% of names"),
    "--no-signatures": ("print_program_shape", False, "leave out the computations' types"),
}


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("file", metavar="FILE", help="HLO text, or - for standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write to a file")
    parser.add_argument(
        "--short-parsable", action="store_true", help="the shortest text that reads back"
    )
    for switch, (_, _, told) in SWITCHES.items():
        parser.add_argument(switch, action="store_true", help=told)
    parser.only_with(("--large-constants",), "--elide-constants")
    for switch, (field, value, _) in SWITCHES.items():
        if switch != "--large-constants" and getattr(Options.short_parsable(), field) is value:
            parser.not_with(switch, "--short-parsable")


def run(arguments: Namespace) -> int:
    """Print the module."""
    module = read_module(arguments.file)
    options = Options.short_parsable() if arguments.short_parsable else Options()
    for switch, (field, value, _) in SWITCHES.items():
        if getattr(arguments, _name(switch)):
            options = replace(options, **{field: value})
    write_text(arguments.output, print_module(module, options))
    return 0


def _name(switch: str) -> str:
    return switch.strip("-").replace("-", "_")
