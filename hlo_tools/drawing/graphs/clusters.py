"""The picture of a graph of TensorFlow: a box a node, and a frame a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tf.clusters.encapsulate_subgraphs import Subgraph, encapsulate_subgraphs
from hlo_tools.drawing.graphs.dot import dot
from hlo_tools.drawing.graphs.scene import MOST_BOXES, Box, Edge, Scene
from hlo_tools.drawing.graphs.svg import draw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo_tf.clusters.graph import Node, TensorGraph
    from hlo_tf.clusters.mark_for_compilation import Marks


def clusters_drawn(graph: TensorGraph, marks: Marks, title: str, form: str = "svg") -> str:
    """The picture of a graph with its clusters: each node's reason is told when it is pointed at.

    Parameters
    ----------
    form : "svg", or "dot" for Graphviz, which a graph of too many nodes is drawn for anyway.
    """
    shown = cluster_scene(graph, marks)
    if form == "dot" or len(graph.nodes) > MOST_BOXES:
        return dot(shown, title)
    return draw(shown, title)


def cluster_scene(graph: TensorGraph, marks: Marks) -> Scene:
    """The boxes and edges of a graph, those of a cluster inside of a box of its own."""
    parts = encapsulate_subgraphs(graph, marks.clusters)
    outer: dict[str, int] = {}
    boxes: list[Box] = []
    for number, part in enumerate(parts):
        if isinstance(part, Subgraph):
            outer.update({node.name: number for node in part.nodes})
            inside = _scene(part.name, part.nodes, marks)
            about = f"{part.name}: compiled as one program"
            lines = (f"{len(part.nodes)} nodes",)
            boxes.append(Box(None, part.name, lines, "elementwise", about, (inside,)))
        else:
            outer[part.name] = number
            boxes.append(_box(part, marks))
    return Scene("", tuple(boxes), _edges(graph.nodes, outer))


def _scene(title: str, nodes: Sequence[Node], marks: Marks) -> Scene:
    numbers = {node.name: k for k, node in enumerate(nodes)}
    return Scene(title, tuple(_box(n, marks) for n in nodes), _edges(nodes, numbers))


def _edges(nodes: Sequence[Node], numbers: Mapping[str, int]) -> tuple[Edge, ...]:
    """The edges between boxes, each once; the way back of a loop is left out."""
    edges: dict[tuple[int, int], bool] = {}
    for node in nodes:
        target = numbers[node.name]
        for wanted in node.inputs:
            source = numbers.get(wanted.node, target)
            if source < target:
                pair = source, target
                edges[pair] = edges.get(pair, True) and wanted.is_control
    return tuple(Edge(a, b, 0, control) for (a, b), control in edges.items())


def _box(node: Node, marks: Marks) -> Box:
    family = "matrix products" if node.name in marks.clusters else "library and others"
    why = marks.reasons.get(node.name, f"in {marks.clusters.get(node.name, 'no cluster')}")
    return Box(None, node.op, (node.name[-40:],), family, f"{node.name}: {why}")
