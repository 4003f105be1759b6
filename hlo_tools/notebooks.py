"""Displays in notebooks: modules as pictures and text, passes and rules as tables, memory drawn.

`hlo.notebook` finds these functions in the metadata of the installation.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.wording import counted
from hlo_tools.drawing.graphs.drawing import drawn
from hlo_tools.drawing.pictures.picture import picture
from optimizer.memory.buffer_assignment import BufferAssignment
from optimizer.memory.report import report
from optimizer.observers import promise_of
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipeline_text import option_defaults
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

# Boxes of a module's picture, at most; of a larger module only the text is shown.
MOST_BOXES = 150
_PRE = "<pre style='line-height:1.3;font-size:12px;white-space:pre;overflow:auto'>"


def svg(thing: object) -> str | None:
    """The picture of a module, as far as it is not too large, or of its memory; else None."""
    if isinstance(thing, BufferAssignment):
        return picture(thing)
    if isinstance(thing, Module):
        try:
            return drawn(thing, engine="own", most=MOST_BOXES)
        except HloError:
            return None
    return None


def html(thing: object) -> str | None:
    """A module, a pass, a rule or a buffer assignment for a notebook; None of anything else."""
    if isinstance(thing, Module | BufferAssignment):
        return _pictured(thing)
    if isinstance(thing, Rule):
        return _rule(thing)
    if callable(getattr(thing, "run", None)):
        return _pass(thing)
    return None


def _pictured(thing: Module | BufferAssignment) -> str:
    """The picture, with the text folded below it."""
    drawing = svg(thing)
    if isinstance(thing, Module):
        count = counted(sum(1 for _ in thing.instructions()), "instruction")
        title, body = f"module {thing.name}, {count}", str(thing)
    else:
        title, body = f"memory of {thing.module.name}", report(thing)
    shown = ""
    if drawing:
        # As an image, for the styles of a picture in the page would hold for all of the page.
        data = b64encode(drawing.encode()).decode()
        image = f"<img src='data:image/svg+xml;base64,{data}' style='max-width:none'/>"
        shown = f"<div style='overflow:auto;max-height:640px'>{image}</div>"
    return f"{shown}{_folded(title, body, is_open=not drawing)}"


def _folded(title: str, body: str, *, is_open: bool = False) -> str:
    attribute = " open" if is_open else ""
    return (
        f"<details{attribute}><summary>{escape(title)}</summary>"
        f"{_PRE}{escape(body)}</pre></details>"
    )


def _rule(rule: Rule) -> str:
    rows = {
        "replaces": _code(str(rule.left)),
        "by": _code(f"{rule.name}(...)" if callable(rule.right) else str(rule.right)),
        "where": _code(str(rule.where)) if rule.where else "",
        "promise": escape(rule.promise_name),
        "XLA": escape(rule.xla),
        "about": escape(" ".join(rule.doc.split())),
    }
    return _table(f"rule {rule.name}", rows.items())


def _pass(thing: Any) -> str:
    summary = escape((type(thing).__doc__ or "").partition("\n")[0])
    name = getattr(thing, "name", type(thing).__name__)
    if isinstance(thing, Pipeline | Fixpoint):
        rows = [(str(n), _code(str(getattr(p, "name", p)))) for n, p in enumerate(thing.passes, 1)]
        return _table(f"{type(thing).__name__.lower()} {name}", rows)
    options = {
        key: _code(str(getattr(thing, key)))
        for key in option_defaults(cast("type[Any]", type(thing)))
    }
    promise = escape(str(promise_of(thing)))
    return _table(f"pass {name}", [("does", summary), ("promise", promise), *options.items()])


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns; the second one is HTML already."""
    cell = "style='text-align:left;vertical-align:top'"
    lines = "".join(
        f"<tr><th {cell}>{escape(name)}</th><td {cell}>{value}</td></tr>"
        for name, value in rows
        if value
    )
    return f"<table><caption><b>{escape(title)}</b></caption>{lines}</table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
