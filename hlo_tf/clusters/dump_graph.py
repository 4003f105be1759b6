"""Files of graphs before and after each pass, as TensorFlow writes them to TF_DUMP_GRAPH_PREFIX."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hlo_tf.clusters.encapsulate_subgraphs import Subgraph
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hlo_tf.clusters.graph import Node


class GraphDump:
    """Writes graphs to a folder, as GraphDefs in text; the second of a name has the number 1."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._counts: Counter[str] = Counter()

    def write(
        self,
        definition: Any,
        clusters: Mapping[str, str],
        parts: Sequence[Node | Subgraph],
    ) -> None:
        """Write a graph as it is, with its marks, and with a call for each cluster."""
        self._write("before_mark_for_compilation", definition)
        marked = type(definition)()
        marked.CopyFrom(definition)
        for node in marked.node:
            if node.name in clusters:
                node.attr["_XlaCluster"].s = clusters[node.name].encode()
        self._write("mark_for_compilation", marked)
        self._write("encapsulate_subgraphs_after", _with_calls(definition, clusters, parts))

    def _write(self, name: str, definition: Any) -> None:
        number = self._counts[name]
        self._counts[name] += 1
        file = f"{name}_{number}.pbtxt" if number else f"{name}.pbtxt"
        tf.io.write_graph(definition, str(self._folder), file)


def _with_calls(
    definition: Any, clusters: Mapping[str, str], parts: Sequence[Node | Subgraph]
) -> Any:
    """A GraphDef in which each cluster is a call, and its nodes are gone."""
    calls = {p.name: p for p in parts if isinstance(p, Subgraph)}
    renamed = {
        f"{r.node}:{r.number}": f"{name}:{k}" if k else name
        for name, call in calls.items()
        for k, r in enumerate(call.results)
    }

    def moved(text: str) -> str:
        if text.startswith("^"):
            return f"^{clusters.get(text[1:], text[1:])}"
        whole = text if ":" in text else f"{text}:0"
        return renamed.get(whole, text)

    made = type(definition)()
    made.versions.CopyFrom(definition.versions)
    for node in definition.node:
        if node.name not in clusters:
            copied = made.node.add()
            copied.CopyFrom(node)
            copied.input[:] = [moved(text) for text in node.input]
    for name, call in calls.items():
        node = made.node.add(name=name, op="PartitionedCall")
        node.input.extend(moved(str(i)) for i in call.inputs)
        node.input.extend(dict.fromkeys(moved(f"^{n}") for n in call.waits_for))
        node.attr["f"].func.name = name
        node.attr["_XlaCompiledKernel"].b = True
    return made
