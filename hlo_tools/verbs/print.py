"""Print a module exactly as XLA prints it, or shorter.

    hlo print m.hlo
    hlo print m.hlo -o m.mlir
    hlo print dump --elide-constants
    hlo print m.hlo --source-lines

Without options the text is XLA's canonical one, to the byte, constants whole. The options are those
of XLA's HloPrintOptions. The modules of several files, or of a folder, have lines of `// -----`
between them. A file's name may ask for another language: StableHLO (.mlir) or XLA's protocol
buffer (.pb, .hlo.pb, .pbtxt).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError
from hlo.instruction import StackFrames
from hlo.read.stack_frames import source_location
from hlo.verify import verify
from hlo.write.print import Options, module_parts, print_module
from hlo_tools.options.dumps import add_files, modules_at
from hlo_tools.options.files import (
    BETWEEN,
    add_entry_option,
    add_output_option,
    read_module,
    write_text,
)
from hlo_tools.options.written import ENDS, is_text, write_module

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo.instruction import Module
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
    add_files(parser)
    add_entry_option(parser)
    add_output_option(parser, f"write to a file: {ENDS}, else text")
    parser.add_argument(
        "--short-parsable", action="store_true", help="the shortest text that reads back"
    )
    parser.add_argument(
        "--source-lines",
        action="store_true",
        help="write the user's line after each instruction, as a comment, and no metadata",
    )
    for switch, (_, _, about) in SWITCHES.items():
        parser.add_argument(switch, action="store_true", help=about)
    parser.only_with(("--large-constants",), "--elide-constants")
    for switch, (field, value, _) in SWITCHES.items():
        if switch != "--large-constants" and getattr(Options.short_parsable(), field) is value:
            parser.not_with(switch, "--short-parsable")


def run(arguments: Namespace) -> int:
    """Print the module."""
    modules = [read_module(path, arguments.entry) for path in modules_at(arguments.files)]
    if not is_text(arguments.output):
        refuse_options(arguments, len(modules))
        verify(modules[0])
        write_module(arguments.output, modules[0])
        return 0
    options = Options.short_parsable() if arguments.short_parsable else Options()
    for switch, (field, value, _) in SWITCHES.items():
        if getattr(arguments, _name(switch)):
            options = replace(options, **{field: value})
    if arguments.source_lines:
        options = options.without("print_metadata")
        texts = ["".join(with_lines(module, options)) for module in modules]
    else:
        texts = [print_module(module, options) for module in modules]
    write_text(arguments.output, f"{BETWEEN}\n".join(texts))
    return 0


def with_lines(module: Module, options: Options) -> Iterator[str]:
    """The text of a module, with the user's line after each instruction."""
    bare = replace(module, stack_frames=StackFrames())
    return module_parts(bare, options, partial(source_location, module))


def refuse_options(arguments: Namespace, modules: int) -> None:
    """Refuse options of the text, and several modules, for a file that holds no HLO text.

    Raises
    ------
    HloError
        HLO204 if there are any.
    """
    switches = ("--short-parsable", "--source-lines", *SWITCHES)
    switches_given = [switch for switch in switches if getattr(arguments, _name(switch))]
    if switches_given:
        raise HloError("HLO204", f"{switches_given[0]} has no effect on {arguments.output}")
    if modules > 1:
        raise HloError("HLO204", f"{arguments.output} holds one module, not {modules}")


def _name(switch: str) -> str:
    return switch.strip("-").replace("-", "_")
