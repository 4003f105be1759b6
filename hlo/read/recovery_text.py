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
from hlo.read.value_text import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.read.scanner import Piece, Scanner


def read_recovery_table(table: Piece, scanner: Scanner, reprint: Callable[[str], str]) -> str:
    """The table as XLA prints it; "" if it is empty.

    Parameters
    ----------
    table : with its braces.
    reprint : parses a module and prints it.

    Raises
    ------
    HloError
        HLO001 or HLO002 if the table is not of the form above, or what `reprint` raises.
    """
    rows: dict[str, str] = {}
    at = scanner.skip_space(table.start + 1)
    while at < table.end - 1:
        old, at = _value(scanner, at)
        if not scanner.text.startswith(":", at):
            raise scanner.error("expects `:` between two values", at)
        new, at = _value(scanner, scanner.skip_space(at + 1))
        rows[old] = f"  {old} : {new}"
        if scanner.text.startswith(",", at):
            module, at = _module(scanner, scanner.skip_space(at + 1), reprint)
            rows[old] += f",\n{module}"
    text = "".join(rows[old] + "\n" for old in sorted(rows))
    # XLA ends the table with a line break of its own.
    return f"{{\n{text}}}\n" if rows else ""


def _value(scanner: Scanner, start: int) -> tuple[str, int]:
    """A value, `{"a" {0}}`, and where the text goes on behind it."""
    if not scanner.text.startswith("{", start):
        raise scanner.error("expects a value in braces", start)
    end = scanner.balanced(start)
    piece = scanner.piece(start, end)
    origin: str = read("origin", f"{{{piece.text}}}", scanner.span(piece))
    return origin[1:-1].replace("{}", '{""}'), scanner.skip_space(end)


def _module(scanner: Scanner, start: int, reprint: Callable[[str], str]) -> tuple[str, int]:
    """A module in quotes, as it is printed in a table, and where the text goes on behind it."""
    if not scanner.text.startswith('"', start):
        raise scanner.error("expects a module in quotes", start)
    end = scanner.string(start)
    piece = scanner.piece(start, end)
    try:
        printed = reprint(unquote(piece.text))
    except HloError as error:
        raise HloError(error.code, error.message, scanner.span(piece), error.notes) from None
    escaped = printed.replace("\\", "\\\\").replace('"', '\\"')
    lines = "".join("    " + line if line.strip() else line for line in escaped.splitlines(True))
    return f'  "\n{lines}\n  "', scanner.skip_space(end)
