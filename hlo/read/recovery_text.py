"""Reads `origin_recovery_table={...}`: how values that passes have removed are computed again.

Each entry names an original value, the value that stands for it now, and perhaps a module, in
quotes, that computes the one from the other:

    {
      {"constant"} : {"constant__ovp0"},
      "
        HloModule recovery_module ...
      "
    }

Nothing here changes what a module means, so the table is kept as text, in the form in which XLA
prints it: sorted, and the modules parsed and printed again. (XLA leaves quotes inside of them as
they are, which nobody can read back; here they are escaped.)

Source: `xla/hlo/ir/hlo_original_value.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.read.quoting import unquote
from hlo.read.syntax import Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.read.by_grammar import GrammarReader


def read_recovery_table(table: Piece, reader: GrammarReader, reprint: Callable[[str], str]) -> str:
    """The table as XLA prints it; "" if it is empty.

    Parameters
    ----------
    table : with its braces.
    reprint : parses a module and prints it.

    Raises
    ------
    HloError
        HLO002 if the table is not of the form above, or what `reprint` raises.
    """
    rows: dict[str, str] = {}
    for old, new, module in reader.value("recovery_table", table):
        rows[old] = f"  {old} : {new}"
        if module is not None:
            start = table.start + (module.start_pos or 0)
            rows[old] += f",\n{_module(Piece(module, start), reader, reprint)}"
    text = "".join(rows[old] + "\n" for old in sorted(rows))
    # XLA ends the table with a line break of its own.
    return f"{{\n{text}}}\n" if rows else ""


def _module(quoted: Piece, reader: GrammarReader, reprint: Callable[[str], str]) -> str:
    """A module in quotes, as it is printed in a table."""
    try:
        printed = reprint(unquote(quoted.text))
    except HloError as error:
        raise HloError(error.code, error.message, reader.span(quoted), error.notes) from None
    escaped = printed.replace("\\", "\\\\").replace('"', '\\"')
    lines = "".join("    " + line if line.strip() else line for line in escaped.splitlines(True))
    return f'  "\n{lines}\n  "'
