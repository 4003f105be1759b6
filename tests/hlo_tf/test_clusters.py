"""Clusters are those of TensorFlow's own pass, on graphs that it has marked; it is not needed."""

import json
from pathlib import Path

import pytest

from hlo_tf.clusters.graph import read_graph
from hlo_tf.clusters.mark_for_compilation import Marks, Options, mark_for_compilation

GRAPHS = Path(__file__).parent / "graphs"
MARKS = json.loads((GRAPHS / "marks.json").read_text())


def marked(name: str, options: Options | None = None) -> Marks:
    refused = MARKS[name]["refused"]
    graph = read_graph((GRAPHS / f"{name}.pbtxt").read_text())
    return mark_for_compilation(graph, lambda node: refused.get(node.name, ""), options)


def partition(clusters: dict[str, str]) -> set[frozenset[str]]:
    """The clusters without their names."""
    return {
        frozenset(n for n, c in clusters.items() if c == cluster) for cluster in clusters.values()
    }


@pytest.mark.parametrize("name", MARKS)
def test_clusters_are_those_of_tensorflow(name: str) -> None:
    assert partition(marked(name).clusters) == partition(MARKS[name]["clusters"])
