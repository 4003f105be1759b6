"""A trace as one page of HTML, with everything in it: data, script and style.

The data is JSON, compressed and spelled in base64; the browser unpacks it. Names and metadata of
HLO are untrusted: they are never part of the markup, and the page's policy lets no other script
run, and nothing be loaded.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hlo_tools.drawing.pictures.families import COLOURS, family_of_opcode
from hlo_tools.trace.values import Values, random_inputs
from hlo_tools.trace.write import MOST_EVALUATED, is_small, trace_data, trace_text
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Module
    from optimizer.log import Pass
    from optimizer.pipelines import Target

PARTS: Final = Path(__file__).with_name("parts")
# The best takes gzip twice as long, and makes the page 2 % smaller.
COMPRESSION: Final = 6
# In the order in which the page has them: each may use those before it.
SCRIPTS: Final = (
    "dom",
    "options",
    "trace",
    "compare",
    "gutter",
    "words",
    "change",
    "rule",
    "graph",
    "scopes",
    "overview",
    "shards",
    "panel",
    "lines",
    "pictures",
    "quiz",
    "search",
    "passes",
    "app",
)


def page(data: Mapping[str, Any]) -> str:
    """The page that shows a trace.

    Parameters
    ----------
    data : the trace, as `hlo_tools.trace.document` has it.
    """
    families = {family: number for number, family in enumerate(COLOURS)}
    opcodes = [
        [name, summary, families[family_of_opcode(name)]] for name, summary in data["opcodes"]
    ]
    text = trace_text({**data, "opcodes": opcodes})
    packed = gzip.compress(text.encode(), COMPRESSION, mtime=0)
    script = '"use strict";\n' + "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    # Browsers hash the text between the tags, the line breaks at both ends included.
    digest = hashlib.sha256(f"\n{script}\n".encode()).digest()
    holes = {
        "title": escape(f"{data['module']}: {data['pipeline']}"),
        "style": _part("style.css") + _colours(),
        "script hash": base64.b64encode(digest).decode(),
        "script": script,
        "data": base64.b64encode(packed).decode(),
    }
    text = _part("page.html")
    for hole, filling in holes.items():
        text = text.replace("{{" + hole + "}}", filling)
    return text


def page_of(
    module: Module, passes: Pass | None = None, target: Target = "cpu", *, assembly: bool = False
) -> str:
    """The page of a module, with values for random inputs if it is not large.

    Parameters
    ----------
    passes : those that are shown; the target's standard pipeline if None.
    assembly : whether with the assembly of the C, or the PTX of the CUDA C.
    """
    values = Values(lambda: random_inputs(module), MOST_EVALUATED) if is_small(module) else None
    passes = passes or pipeline(target)
    return page(trace_data(module, passes, values, target=target, assembly=assembly))


def _part(name: str) -> str:
    return (PARTS / name).read_text("utf-8")


def _colours() -> str:
    """Rules of style for the families of opcodes, in all pictures alike."""
    lines: list[str] = []
    for number, colour in enumerate(COLOURS.values()):
        lines.append(f".chip.family-{number} {{ background: {colour}; }}")
        lines.append(f"rect.family-{number} {{ fill: {colour}; }}")
        lines.append(
            f".opcode.family-{number} {{ box-shadow: inset 0 -3px {colour}; font-weight: 600; }}"
        )
    return "\n".join(lines)
