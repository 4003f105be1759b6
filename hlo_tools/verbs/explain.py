"""Explain an error code, list the codes, or write the page of all of them."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.explanations.codes import CODES

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

WIDTH = 100


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as HLO021, or 21")
    parser.add_argument("--all", action="store_true", help="write all of them, as Markdown")
    parser.not_with("CODE", "--all")


def run(arguments: Namespace) -> int:
    """Print the story of one code, the page, or the list of titles."""
    if arguments.all:
        print(page(), end="")
    elif arguments.code:
        print(story(arguments.code))
    else:
        print("\n".join(f"{code}  {CODES[code].title}" for code in sorted(CODES)))
    return 0


def story(written: str) -> str:
    """The title and explanation of one code.

    Raises
    ------
    HloError
        HLO204 if there is no such code.
    """
    number = written.upper().removeprefix("HLO")
    code = f"HLO{int(number):03}" if number.isascii() and number.isdecimal() else written
    if code not in CODES:
        note = f"they go from {min(CODES)} to {max(CODES)}; `hlo explain` lists them"
        raise HloError("HLO204", f"there is no error code `{written}`", notes=[note])
    return f"{code}: {CODES[code].title}\n\n{fill(CODES[code].explanation, WIDTH)}"


def page() -> str:
    """All codes as a page of Markdown."""
    parts = [
        "# Error codes",
        "Made by `hlo explain --all` of `hlo_tools/explanations/`; `hlo explain CODE` prints one.",
    ]
    for code in sorted(CODES):
        parts += [f"## {code}: {CODES[code].title}", fill(CODES[code].explanation, WIDTH)]
    return "\n\n".join(parts) + "\n"
