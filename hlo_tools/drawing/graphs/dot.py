"""Writes the picture of a module in the language of Graphviz, and lets its `dot` draw it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.drawing.pictures.families import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo_tools.drawing.graphs.scene import Box, Scene

# Seconds after which Graphviz is given up.
PATIENCE = 120


def dot(scene: Scene, title: str) -> str:
    """A graph in the DOT language: boxes inside a box are a cluster.

    Clusters have no edges in DOT, so an edge of one ends at a box inside, and is cut off at the
    cluster's border.
    """
    return "\n".join([*_Writing().written(scene, title), ""])


def drawn_by_graphviz(text: str) -> str:
    """The SVG that Graphviz makes of a graph in DOT.

    Raises
    ------
    HloError
        HLO204 if there is no `dot`, or if it does not draw the graph.
    """
    program = shutil.which("dot")
    if program is None:
        note = "install Graphviz, or leave out --engine dot"
        raise HloError("HLO204", "there is no `dot` on the path", notes=[note])
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=text.encode(),
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise HloError("HLO204", f"Graphviz takes longer than {PATIENCE} seconds") from error
    except (subprocess.CalledProcessError, OSError) as error:
        output = getattr(error, "stderr", b"") or str(error).encode()
        message = f"Graphviz fails: {output.decode(errors='replace').strip()}"
        raise HloError("HLO204", message) from error
    return done.stdout.decode()


class _Writing:
    """Numbers the boxes while they are written."""

    def __init__(self) -> None:
        self.count = 0

    def written(self, scene: Scene, title: str) -> Iterator[str]:
        """The lines of the whole graph."""
        yield f"digraph {quoted(title)} {{"
        yield "  compound=true; rankdir=TB; ranksep=0.4; nodesep=0.3;"
        yield f'  label={quoted(title)}; labelloc=t; fontname="sans-serif"; fontsize=16;'
        yield '  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=10];'
        yield '  edge [color="#6e7781", fontname="monospace", fontsize=9, fontcolor="#57606a"];'
        # Items still to be written: lines, or a scene with its depth.
        pending: list[str | tuple[Scene, int]] = [(scene, 1), "}"]
        while pending:
            item = pending.pop(0)
            if isinstance(item, str):
                yield item
            else:
                pending[:0] = self.scene(*item)

    def scene(self, scene: Scene, depth: int) -> list[str | tuple[Scene, int]]:
        """The lines of one computation, with the computations inside of it still to be written."""
        indent = "  " * depth
        # The box that stands for each, and the cluster around it.
        anchors: list[tuple[str, str | None]] = []
        lines: list[str | tuple[Scene, int]] = []
        for box in scene.boxes:
            self.count += 1
            name = f"n{self.count}"
            if not box.panels:
                anchors.append((name, None))
                lines.append(f"{indent}{name} [{_attributes(box)}];")
                continue
            anchors.append((name, f"cluster_{name}"))
            lines.append(f"{indent}subgraph cluster_{name} {{")
            lines.append(f"{indent}  {_cluster_attributes(box)}")
            # An invisible point, for clusters have no edges themselves.
            lines.append(f'{indent}  {name} [shape=point, style=invis, width=0, label=""];')
            for panel in box.panels:
                self.count += 1
                lines.append(f"{indent}  subgraph cluster_n{self.count} {{")
                lines.append(f'{indent}    label={quoted(panel.title)}; style="rounded,filled"; ')
                lines.append(f'{indent}    color="#8b949e"; fillcolor="#ffffffb0";')
                lines += [(panel, depth + 2), f"{indent}  }}"]
            lines.append(f"{indent}}}")
        for edge in scene.edges:
            (source, around_source), (target, around_target) = (
                anchors[edge.source],
                anchors[edge.target],
            )
            attrs = {
                "ltail": around_source,
                "lhead": around_target,
                "label": edge.label or None,
                "style": "dashed" if edge.is_control else None,
            }
            said = ", ".join(f"{key}={quoted(value)}" for key, value in attrs.items() if value)
            lines.append(f"{indent}{source} -> {target}" + (f" [{said}];" if said else ";"))
        return lines


def _attributes(box: Box) -> str:
    label = "\\l".join(escaped(line) for line in _lines(box)) + "\\l"
    width = "2.4" if box.is_root else "1"
    style = '"filled,rounded,dashed"' if box.is_cut else '"filled,rounded"'
    return (
        f'label="{label}", fillcolor="{COLOURS[box.family]}", style={style}, penwidth={width}, '
        f"tooltip={quoted(box.about)}"
    )


def _cluster_attributes(box: Box) -> str:
    label = "\\l".join(escaped(line) for line in _lines(box)) + "\\l"
    width = "2.4" if box.is_root else "1"
    return (
        f'label="{label}"; style="rounded,filled"; fillcolor="{COLOURS[box.family]}80"; '
        f'color="#57606a"; labeljust=l; fontname="monospace"; fontsize=10; penwidth={width}; '
        f"tooltip={quoted(box.about)};"
    )


def _lines(box: Box) -> tuple[str, ...]:
    return (box.title, *box.lines, *(f"operand {number}" for number in box.numbers))


def quoted(text: str) -> str:
    """A string of DOT, whatever the text."""
    return f'"{escaped(text)}"'


def escaped(text: str) -> str:
    """A text inside a string of DOT: names of HLO may hold anything."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
