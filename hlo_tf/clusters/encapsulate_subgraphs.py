"""Puts each cluster into a function of its own: EncapsulateSubgraphs.

What is left is a graph of nodes and of calls, in an order in which each has its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo_tf.clusters.graph import Node, NodeInput, TensorGraph


@dataclass(frozen=True)
class Subgraph:
    """A cluster as a function.

    Attributes
    ----------
    nodes : in an order in which each has its inputs.
    inputs : values from outside, each once.
    results : values that are used outside, each once.
    waits_for : nodes outside that end before any node of it begins.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[NodeInput, ...]
    results: tuple[NodeInput, ...]
    waits_for: tuple[str, ...]


def encapsulate_subgraphs(
    graph: TensorGraph, clusters: Mapping[str, str], wanted: Sequence[NodeInput] = ()
) -> list[Node | Subgraph]:
    """The nodes outside of clusters and the clusters, in an order in which each has its inputs.

    Parameters
    ----------
    clusters : the cluster of each node that is in one.
    wanted : results of the graph, which are used though no node has them as an input.
    """
    members: dict[str, list[Node]] = {}
    used: dict[str, dict[NodeInput, None]] = {}
    for node in graph.ordered:
        if node.name in clusters:
            members.setdefault(clusters[node.name], []).append(node)
        for given in node.data_inputs:
            _use(given, clusters.get(node.name), clusters, used)
    for given in wanted:
        _use(given, None, clusters, used)
    found: dict[str, Node | Subgraph] = {n.name: n for n in graph.nodes if n.name not in clusters}
    for name, nodes in members.items():
        outside = [i for n in nodes for i in n.inputs if clusters.get(i.node) != name]
        inputs = dict.fromkeys(i for i in outside if not i.is_control)
        waits = dict.fromkeys(i.node for i in outside if i.is_control)
        found[_key(name)] = Subgraph(
            name, tuple(nodes), tuple(inputs), tuple(used.get(name, {})), tuple(waits)
        )
    before: dict[str, dict[str, None]] = {key: {} for key in found}
    for node in graph.nodes:
        own = _place(node.name, clusters)
        for given in node.inputs:
            other = _place(given.node, clusters)
            is_back = node.op == "Merge" and graph.by_name[given.node].op == "NextIteration"
            if other != own and not is_back:
                before[own][other] = None
    return [found[key] for key in TopologicalSorter(before).static_order()]


def _use(
    given: NodeInput,
    user: str | None,
    clusters: Mapping[str, str],
    used: dict[str, dict[NodeInput, None]],
) -> None:
    maker = clusters.get(given.node)
    if maker is not None and maker != user:
        used.setdefault(maker, {})[given] = None


def _place(node: str, clusters: Mapping[str, str]) -> str:
    """The key of the cluster of a node, or of the node itself."""
    return _key(clusters[node]) if node in clusters else node


def _key(cluster: str) -> str:
    """A cluster's key beside the names of nodes, which have no spaces."""
    return f"cluster {cluster}"
