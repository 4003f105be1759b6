"""Draws the grammar of HLO text as railroad diagrams.

    python -m hlo_tools.drawing.pictures.railroad docs

A page lists the sections of `hlo/read/hlo.lark`, each with a picture of its rules, and all
terminals with their regular expressions. Everything is read from the grammar itself.
"""

from __future__ import annotations

import re
import sys
from html import escape
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import hlo.read.grammar

# Packages without types; the first one is only installed with the tests.
railroad: Any = import_module("railroad")
load_grammar: Any = import_module("lark.load_grammar").load_grammar
GRAMMAR = Path(hlo.read.grammar.__file__).with_name("hlo.lark")
_HEADING = re.compile(r"^// (?:=+|-+) (.*)$")
_RULE = re.compile(r"^\??([a-z_]+): ")
_MARGIN, _TITLE = 10, 24
_STYLE = (
    "path{stroke:#444;stroke-width:2;fill:none}"
    "text{font:14px monospace;text-anchor:middle;fill:#111}"
    "rect{stroke:#444;stroke-width:1.5;fill:#eaf5ea}"
    ".non-terminal rect{fill:#e6edfa}"
    ".rule{font-weight:bold;text-anchor:start}"
    ".paper{fill:#fff;stroke:none}"
)


class GrammarSection(NamedTuple):
    """A part of the grammar: its heading, the sentences below it, and the names of its rules."""

    title: str
    about: str
    rules: list[str]

    @property
    def file(self) -> str:
        """The name of its picture."""
        return re.sub(r"\W+", "-", re.split("[:,]", self.title.lower())[-1].strip()) + ".svg"


def sections(text: str) -> list[GrammarSection]:
    """The sections of the grammar that have rules."""
    parts = [GrammarSection("", "", [])]
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            parts.append(GrammarSection(heading[1], "", []))
        elif rule := _RULE.match(line):
            parts[-1].rules.append(rule[1])
        elif line.startswith("// ") and not parts[-1].rules:
            parts[-1] = parts[-1]._replace(about=f"{parts[-1].about} {line[3:]}".strip())
    return [section for section in parts if section.rules]


def draw(name: str, rule: Any) -> tuple[str, int, int]:
    """The diagram of a rule: the elements of an SVG, its width and its height."""
    diagram = railroad.Diagram(_item(rule), css=None)
    out = StringIO()
    diagram.format(3).writeSvg(out.write)
    width, height = (int(float(diagram.attrs[side])) for side in ("width", "height"))
    title = f'<text class="rule" x="0" y="16">{escape(name)}</text>'
    moved = out.getvalue().replace("<svg ", f'<svg x="0" y="{_TITLE}" ', 1)
    return title + moved, width, height + _TITLE


def picture(drawn: list[tuple[str, int, int]]) -> str:
    """One SVG with diagrams below each other."""
    parts: list[str] = []
    top = _MARGIN
    for elements, _, height in drawn:
        parts.append(f'<g transform="translate({_MARGIN},{top})">{elements}</g>')
        top += height + _MARGIN
    width = max(width for _, width, _ in drawn) + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{top}" viewBox="0 0 {width} {top}">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect class="paper" width="{width}" height="{top}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def pages(text: str) -> dict[str, str]:
    """Every file of the documentation of a grammar, by its path in `docs/`."""
    loaded = load_grammar(text, "hlo.lark", [], False)[0]
    rules = {name: tree for name, _, tree, _ in loaded.rule_defs}
    lines = [
        "# The grammar of HLO text",
        "",
        "Drawn by `make docs` from [hlo/read/hlo.lark](../hlo/read/hlo.lark), which reads every",
        "text (`hlo.parse(text, fast=False)`). Rounded boxes are text or terminals, square ones",
        "other rules.",
    ]
    files: dict[str, str] = {}
    for section in sections(text):
        shown = [draw(name, rules[name]) for name in section.rules if name in rules]
        files[f"grammar/{section.file}"] = picture(shown)
        lines += ["", f"## {section.title}", ""]
        lines += [section.about, ""] if section.about else []
        lines += [f"![{', '.join(section.rules)}](grammar/{section.file})"]
    lines += ["", "## Terminals", "", "| terminal | text |", "| --- | --- |"]
    for name, (tree, _) in loaded.term_defs:
        spelled = _spelled(tree).replace("|", "\\|")
        lines.append(f"| `{name}` | `` {spelled} `` |")
    files["grammar.md"] = "\n".join(lines) + "\n"
    return files


_REPEATS = {"*": "ZeroOrMore", "+": "OneOrMore", "?": "Optional"}


def _item(tree: Any) -> Any:
    """The drawing of a part of a rule in a diagram."""
    if isinstance(tree, str):
        return railroad.Terminal(tree[1:-1].replace('\\"', '"'))
    if not hasattr(tree, "children"):
        name = tree.name.value if hasattr(tree.name, "value") else tree.name
        return railroad.Terminal(name) if tree.is_term else railroad.NonTerminal(name)
    if tree.data == "expr":
        return getattr(railroad, _REPEATS[tree.children[1]])(_item(tree.children[0]))
    # Of an alias only the first part is drawn; the second one is the name of a method.
    parts = tree.children[:1] if tree.data == "alias" else tree.children
    items = [_item(part) for part in parts] or [railroad.Skip()]
    if tree.data == "maybe":
        return railroad.Optional(items[0])
    if len(items) == 1:
        return items[0]
    return railroad.Choice(0, *items) if tree.data == "expansions" else railroad.Sequence(*items)


def _spelled(tree: Any) -> str:
    """The definition of a terminal as text."""
    if isinstance(tree, str):
        return tree
    if not hasattr(tree, "children"):
        return str(tree.name)
    between = " | " if tree.data == "expansions" else ""
    inside = between.join(_spelled(part) for part in tree.children if part is not None)
    return f"({inside})" if tree.data == "expansions" and len(tree.children) > 1 else inside


def main(folder: str) -> None:
    """Write the pages into a folder."""
    for path, content in pages(GRAMMAR.read_text()).items():
        file = Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


if __name__ == "__main__":
    main(sys.argv[1])
