"""Two modules side by side as a page of HTML: one file, which needs neither network nor scripts.

What did not change is folded, but for a few lines around each change; in a changed line the words
that differ are marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from typing import TYPE_CHECKING

from hlo_tools.comparison.diff import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Computation, Module
    from hlo.write.print import Options

# Unchanged lines that are shown around a change.
AROUND = 3
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--dim:#57606a;--rule:#d0d7de;--head:#f6f8fa;
--old:#ffebe9;--new:#dafbe1;--oldword:#ffb3ad;--newword:#8fe2a3}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#8b949e;--rule:#30363d;
--head:#161b22;--old:#3c1618;--new:#12301c;--oldword:#8e2c2f;--newword:#1f6f37}}
body{margin:24px;background:var(--bg);color:var(--fg);font:14px ui-sans-serif,system-ui,sans-serif}
h1{font-size:20px;margin:0 0 4px}.dim{color:var(--dim)}
section{border:1px solid var(--rule);border-radius:6px;margin:16px 0;overflow:hidden}
h2{font:600 13px ui-monospace,monospace;background:var(--head);margin:0;padding:8px 12px;
border-bottom:1px solid var(--rule)}
table{border-collapse:collapse;table-layout:fixed;width:100%;font:12px/1.5 ui-monospace,monospace}
td{width:50%;padding:1px 12px;vertical-align:top;white-space:pre-wrap;overflow-wrap:anywhere}
td+td{border-left:1px solid var(--rule)}.old{background:var(--old)}.new{background:var(--new)}
.old b{background:var(--oldword);font-weight:inherit}
.new b{background:var(--newword);font-weight:inherit}
summary{cursor:pointer;color:var(--dim);padding:2px 12px;font-size:12px}
""".replace("\n", "")
_WORD = re.compile(r"[\w.\-]+|\s+|.")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line on the left, on the right, or on both sides."""

    before: str | None
    after: str | None

    @property
    def is_changed(self) -> bool:
        """Whether the sides differ."""
        return self.before != self.after


def page(before: Module, after: Module, options: Options, titles: tuple[str, str]) -> str:
    """The page.

    Parameters
    ----------
    after : under the names of `before`, where the same instructions had others.
    titles : what the modules are called.
    """
    old = {c.name: c for c in before.computations}
    new = {c.name: c for c in after.computations}
    sections = {
        name: rows_of(old.get(name), new.get(name), before, after, options)
        for name in reversed(old | new)
    }
    changed = {name: rows for name, rows in sections.items() if any(r.is_changed for r in rows)}
    names = [escape(title) for title in titles]
    head = (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{names[0]} and "
        f"{names[1]}</title><style>{_STYLE}</style></head><body><h1>{names[0]} and {names[1]}</h1>"
    )
    same = len(sections) - len(changed)
    counts = f"computations that differ: {len(changed)}, that are the same: {same}"
    body = "".join(section(name, rows) for name, rows in changed.items())
    return f"{head}<p class='dim'>{counts}</p>{body}</body></html>\n"


def rows_of(
    old: Computation | None,
    new: Computation | None,
    before: Module,
    after: Module,
    options: Options,
) -> list[DiffRow]:
    """The lines of a computation in both modules beside each other, in the order of the second."""
    olds, news = lines_of(old, before, options), lines_of(new, after, options)
    old_names, new_names = list(olds), list(news)
    rows: list[DiffRow] = []
    matcher = SequenceMatcher(None, old_names, new_names, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        # A line that is elsewhere on the right is shown there.
        rows += [DiffRow(olds[n], None) for n in old_names[first:last] if n not in news]
        rows += [DiffRow(olds.get(n), news[n]) for n in new_names[start:end]]
    return rows


def section(name: str, rows: Sequence[DiffRow]) -> str:
    """A computation as a table, unchanged lines folded."""
    lines = "".join(_folded(rows))
    return f"<section><h2>{escape('%' + name)}</h2>{lines}</section>"


def _folded(rows: Sequence[DiffRow]) -> Iterator[str]:
    near: set[int] = set()
    for number, row in enumerate(rows):
        if row.is_changed:
            near |= set(range(number - AROUND, number + AROUND + 1))
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and (end in near) == (start in near):
            end += 1
        table = "<table>" + "".join(_row(row) for row in rows[start:end]) + "</table>"
        if start in near:
            yield table
        else:
            yield f"<details><summary>{end - start} unchanged</summary>{table}</details>"
        start = end


def _row(row: DiffRow) -> str:
    if not row.is_changed:
        same = f"<td>{escape(row.after or '')}</td>"
        return f"<tr>{same}{same}</tr>"
    if row.before is None or row.after is None:
        old = (
            f"<td class='old'>{escape(row.before)}</td>" if row.before is not None else "<td></td>"
        )
        new = f"<td class='new'>{escape(row.after)}</td>" if row.after is not None else "<td></td>"
        return f"<tr>{old}{new}</tr>"
    old, new = _marked(row.before, row.after)
    return f"<tr><td class='old'>{old}</td><td class='new'>{new}</td></tr>"


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both lines, with the words that differ marked."""
    olds, news = _WORD.findall(before), _WORD.findall(after)
    left: list[str] = []
    right: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, olds, news, False).get_opcodes():
        for side, words in ((left, olds[first:last]), (right, news[start:end])):
            text = escape("".join(words))
            side.append(text if kind == "equal" or not text else f"<b>{text}</b>")
    return "".join(left), "".join(right)
