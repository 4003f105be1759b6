"""Prints findings of the suite: a table by opcode, and the smallest modules that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo_tools.conformance.suite import CRASHED, KINDS, REFUSED, WRONG
from hlo_tools.console import print_table, table_of
from hlo_tools.values.show import spell_in_a_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tools.conformance.suite import BackendFinding, Findings

# So many findings are shown with their modules; others have a line.
MOST = 1
# Of so many opcodes the reason of a refusal is told.
MOST_REFUSALS = 5


def chosen(findings: Findings) -> list[BackendFinding]:
    """The findings that are shown with the smallest module: wrong values before crashes."""
    ordered = sorted(findings.first.values(), key=lambda f: (f.promise is None, f.kind == CRASHED))
    return ordered[:MOST]


def write(findings: Findings, shown: Sequence[BackendFinding], name: str, reference: str) -> None:
    """Print the table, and the first wrong answer about each opcode."""
    total = sum(sum(own.values()) for own in findings.counts.values())
    counts_table = table_of(("",), KINDS)
    for about, own in findings.counts.items():
        counts_table.add_row(about, *(str(own[kind]) if own[kind] else "" for kind in KINDS))
    print_table(counts_table)
    sums = {kind: sum(own[kind] for own in findings.counts.values()) for kind in KINDS}
    totals = ", ".join(f"{n:,} {kind}" for kind, n in sums.items() if n)
    print(f"{name} beside {reference}: {counted(total, 'answer')}, {totals or 'none'}")
    for about, why in list(findings.refusals.items())[:MOST_REFUSALS]:
        print(f"  {about} is refused: {why}")
    if len(findings.refusals) > MOST_REFUSALS:
        print(f"  ... and {len(findings.refusals) - MOST_REFUSALS} more")
    for about, first in findings.first.items():
        print(f"  {about} is {'wrong' if first.kind == WRONG else 'a crash'}: {first.detail}")
    for finding in shown:
        print(f"\n{finding.about}: {finding.detail}\n{spelled(finding)}", end="")
    if not findings.first and sums[REFUSED] == total:
        print("all of it was refused, so nothing was checked")


def spelled(finding: BackendFinding) -> str:
    """The module, with its arguments below."""
    case = finding.case
    pairs = zip(case.module.entry.parameters, case.arguments or (), strict=False)
    about = "".join(f"// %{p.name} = {spell_in_a_line(v)}\n" for p, v in pairs)
    text = str(case.module).rstrip("\n")
    return f"{text}\n\n{about}" if about else f"{text}\n"
