"""Start a language server for HLO and StableHLO, which an editor talks to.

It shows errors while a text is typed, with their hints as fixes, and knows hover, definition,
references, rename, outline, completion, shapes of operands, and format. Editors start it by
themselves: docs/howto/editor.md has the lines for VS Code, Neovim and Emacs. It needs `pygls`:
pip install 'pyhlo[lsp]'.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument(
        "--stdio", action="store_true", help="talk over standard input and output (always so)"
    )


def run(arguments: Namespace) -> int:  # noqa: ARG001  editors pass --stdio by habit
    """Serve until the editor closes the connection."""
    try:
        server = import_module("hlo_tools.lsp.server").server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        note = "pip install 'pyhlo[lsp]'"
        raise HloError("HLO200", "pygls is not installed", notes=[note]) from None
    server.start_io()
    return 0
