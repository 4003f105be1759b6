"""Compare two modules instruction by instruction.

    hlo diff before.hlo after.hlo                     what changed, as text
    hlo diff before.hlo after.hlo --html diff.html    as a page
    hlo diff before.hlo after.hlo --prove             do both compute the same?

Instructions are matched by structure, so that a module with other names or numbers is the same; the
new ones are shown under the names that they have in A. With --names they are matched by name, and
another name is a difference. The order of instructions and their metadata do not count. The exit
status is 0 if the modules are the same and 1 if they differ.

--prove asks instead whether both give the same for all arguments at these shapes, to the bit unless
a promise allows more, which can only be sampled. The answer is "proved", "proved but for" something
that was sampled, with the reason, or "refuted" with arguments, and then the exit status is 1.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from hlo.errors.error import HloError
from hlo.wording import counted
from hlo.write.print import Options
from hlo_tools.comparison.diff import DiffSection, diff
from hlo_tools.comparison.matching import match, renamed
from hlo_tools.console import console
from hlo_tools.options.files import STANDARD, name_of, read_module, write_text
from hlo_tools.options.tolerances import TOLERANCE_OPTIONS, add_tolerance_options, chosen_tolerance
from hlo_tools.proofs.modules import prove_modules
from hlo_tools.proofs.watching import add_proof_options, chosen_limits
from hlo_tools.proofs.watching import report as told

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser

SAME, DIFFERENT = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("before", metavar="A", help="HLO text, or - for standard input")
    parser.add_argument("after", metavar="B", help="HLO text, or - for standard input")
    parser.add_argument("--names", action="store_true", help="match instructions by name")
    parser.add_argument("--metadata", action="store_true", help="compare metadata too")
    parser.add_argument("--no-layouts", action="store_true", help="do not compare layouts")
    parser.add_argument("--html", metavar="FILE", help="write a page that shows them side by side")
    parser.add_argument(
        "--prove",
        action="store_true",
        help="prove that both compute the same, or find arguments for which they do not",
    )
    add_proof_options(parser)
    add_tolerance_options(parser, default="BITS")
    parser.only_with(TOLERANCE_OPTIONS, "--prove")
    parser.not_with("--prove", "--names", "--metadata", "--no-layouts", "--html")


def run(arguments: Namespace) -> int:
    """Print the differences.

    Raises
    ------
    HloError
        HLO200 if both modules are to be read from standard input.
    """
    options = Options(
        print_metadata=arguments.metadata, include_layout_in_shapes=not arguments.no_layouts
    )
    if arguments.before == arguments.after == STANDARD:
        raise HloError("HLO200", "cannot read standard input twice")
    before, after = read_module(arguments.before), read_module(arguments.after)
    if arguments.prove:
        return prove(before, after, arguments)
    other_names = 0
    if not arguments.names:
        matching = match(before, after)
        after, other_names = renamed(after, matching), matching.renamed
    sections = diff(before, after, options)
    if arguments.html:
        # It is loaded only here: few want it.
        from hlo_tools.drawing.pictures.diff_page import page  # noqa: PLC0415

        titles = name_of(arguments.before), name_of(arguments.after)
        write_text(arguments.html, page(before, after, options, titles))
    terminal = console()
    # What the page shows is not printed as well.
    for line in report(sections)[-1:] if arguments.html else report(sections):
        terminal.print(line)
    if other_names:
        beginning = "" if sections else "the same, but "
        terminal.print(Text(f"{beginning}{counted(other_names, 'instruction')} under another name"))
    return DIFFERENT if sections else SAME


def prove(before: Module, after: Module, arguments: Namespace) -> int:
    """Print the proof, or its gaps.

    Raises
    ------
    HloError
        HLO204 if the modules take other arguments, or give results of another shape.
    """
    for part_name, old, new in zip(
        ("arguments", "results"), interface(before), interface(after), strict=True
    ):
        if old != new:
            notes = [f"A has {part_name} {' '.join(old)}", f"B has {part_name} {' '.join(new)}"]
            raise HloError("HLO204", f"the modules have other {part_name}", notes=notes)
    same_names, promise = renamed(after, match(before, after)), chosen_tolerance(arguments)
    proof = prove_modules(before, same_names, (), promise, chosen_limits(arguments))
    for line in told(f"{name_of(arguments.before)} and {name_of(arguments.after)}", proof):
        print(line)
    return DIFFERENT if proof.failure else SAME


def interface(module: Module) -> tuple[list[str], list[str]]:
    """The shapes of a module's arguments, and that of its result."""
    taken = [p.shape.text_without_layout for p in module.entry.parameters]
    return taken, [module.entry.root.shape.text_without_layout]


def report(sections: list[DiffSection]) -> list[Text]:
    """The lines to print, old ones with `-` and new ones with `+`, and how many they are."""
    return list(_report(sections))


def _report(sections: list[DiffSection]) -> Iterator[Text]:
    for section in sections:
        whole = "" if section.kind == "changed" else f" {section.kind}"
        yield Text(section.title + whole, "bold")
        for change in section.changes:
            if change.before is not None:
                yield Text(f"- {change.before}", "red")
            if change.after is not None:
                yield Text(f"+ {change.after}", "green")
    kinds = Counter(change.kind for section in sections for change in section.changes)
    if sections:
        yield Text(", ".join(f"{kinds[kind]} {kind}" for kind in ("changed", "added", "removed")))
