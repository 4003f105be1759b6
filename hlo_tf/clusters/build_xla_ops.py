"""Puts calls of compiled clusters in their places, and all other nodes as they were: BuildXlaOps.

The graph is built again, node by node. A cluster is a node that compiles it at its first run for
such shapes (XlaCompile), and runs the program then and later (XlaRun).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo_tf import private
from hlo_tf.clusters.encapsulate_subgraphs import Subgraph
from hlo_tf.clusters.report import ClusterReport
from hlo_tf.functions import TensorFunction, run_marked
from hlo_tf.inside_graphs import called_in_graph
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo_tf.clusters.graph import Node, NodeInput

# A cluster that was compiled so often, and mostly for one run each, is TensorFlow's again.
MOST_COMPILED = 10

Values = dict[tuple[str, int], Any]


class XlaOps:
    """The calls of a cluster.

    Parameters
    ----------
    graph : of TensorFlow, that the cluster's nodes are part of.
    """

    def __init__(self, subgraph: Subgraph, graph: Any, report: ClusterReport) -> None:
        self._report = report

        def body(*tensors: Any) -> list[Any]:
            values: Values = {
                (i.node, i.number): t for i, t in zip(subgraph.inputs, tensors, strict=True)
            }
            for node in subgraph.nodes:
                copy_node(node, graph, values)
            return [values[i.node, i.number] for i in subgraph.results]

        body.__name__ = subgraph.name
        self._compiled = TensorFunction(body, autograph=False)
        self._plain = tf.function(body, autograph=False)

    def call(self, tensors: Sequence[Any]) -> list[Any]:
        """The results, as tensors of the graph that is being built."""
        concrete = self._compiled.get_concrete_function(*tensors)
        given = [*tensors, *concrete.captured_inputs]
        return called_in_graph(concrete, given, self._run)

    def _run(self, function: Any, arguments: Sequence[Any]) -> Sequence[Any]:
        """Compile for such arguments if need be (XlaCompile), and run (XlaRun)."""
        report = self._report
        report.calls += 1
        if not report.fallback:
            try:
                results = run_marked(function, arguments, self._compiled.calls)
            except tf.errors.InvalidArgumentError as error:
                report.fallback = str(error.message).partition("\n")[0]
            else:
                report.compiled = len(self._compiled.calls.programs)
                if report.compiled >= MOST_COMPILED and report.calls < 2 * report.compiled:
                    report.fallback = f"it was compiled {report.compiled} times"
                return results
        with private.without_clusters():
            return self._plain(*arguments)


def rebuilt(
    parts: Sequence[Node | Subgraph],
    graph: Any,
    outputs: Sequence[NodeInput],
    reports: list[ClusterReport],
) -> Callable[..., list[Any]]:
    """A function of Python that builds a graph again, with calls of compiled clusters.

    Parameters
    ----------
    graph : of TensorFlow.
    outputs : the results that it returns.
    reports : where the reports of its clusters go.
    """
    ops: dict[str, XlaOps] = {}
    for part in parts:
        if isinstance(part, Subgraph):
            reports.append(ClusterReport(part))
            ops[part.name] = XlaOps(part, graph, reports[-1])

    def build(*arguments: Any) -> list[Any]:
        values: Values = {
            (placeholder.op.name, 0): tensor
            for placeholder, tensor in zip(graph.inputs, arguments, strict=True)
        }
        for part in parts:
            if not isinstance(part, Subgraph):
                copy_node(part, graph, values)
                continue
            given = [values[i.node, i.number] for i in part.inputs]
            with tf.control_dependencies(_ends(part.waits_for, values)):
                results = ops[part.name].call(given)
            for result, tensor in zip(part.results, results, strict=True):
                values[result.node, result.number] = tensor
            end = private.last_operation("EagerPyFunc")
            values.update({(node.name, -1): end for node in part.nodes})
        return [values[i.node, i.number] for i in outputs]

    return build


def copy_node(node: Node, graph: Any, values: Values) -> None:
    """Enter a copy of a node, and its results, for the graph that is being built."""
    if (node.name, 0) in values:
        return  # an argument
    old = graph.get_operation_by_name(node.name)
    inputs = [values[i.node, i.number] for i in node.data_inputs]
    waits = _ends([i.node for i in node.inputs if i.is_control], values)
    with tf.control_dependencies(waits):
        new = private.copied(old, inputs)
    values[node.name, -1] = new
    for number, tensor in enumerate(new.outputs):
        values[node.name, number] = tensor


def _ends(names: Sequence[str], values: Values) -> list[Any]:
    """The operations of nodes, those that are there."""
    return [values[n, -1] for n in names if (n, -1) in values]
