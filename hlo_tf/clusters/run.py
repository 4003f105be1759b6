"""Auto-clustering of all functions that a program calls: from a function's graph to its clusters.

with hlo_tf.auto_cluster() as clustering:
    model.fit(x, y)
print(clustering.report())
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hlo_tf import private
from hlo_tf.clusters.build_xla_ops import rebuilt
from hlo_tf.clusters.dump_graph import GraphDump
from hlo_tf.clusters.encapsulate_subgraphs import Subgraph, encapsulate_subgraphs
from hlo_tf.clusters.graph import Node, TensorGraph, input_of
from hlo_tf.clusters.kernels import refusal, type_name
from hlo_tf.clusters.mark_for_compilation import ClusterOptions, mark_for_compilation
from hlo_tf.clusters.report import FunctionReport, report
from hlo_tf.functions import start
from hlo_tf.names import plain_name
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path


class Clustering:
    """Runs functions of TensorFlow with compiled clusters.

    Parameters
    ----------
    dump_to : a folder for the graphs before and after each pass, as TF_DUMP_GRAPH_PREFIX names it.

    Attributes
    ----------
    functions : the reports of all functions that ran, those without a cluster as well.
    """

    def __init__(self, options: ClusterOptions, dump_to: Path | None = None) -> None:
        self.options = options
        self.functions: list[FunctionReport] = []
        self._dump = GraphDump(dump_to) if dump_to else None
        self._concrete: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def report(self) -> str:
        """The clusters of all functions, and why other nodes are in none."""
        return report(self.functions)

    def run(self, function: Any, arguments: Sequence[Any]) -> Sequence[Any] | None:
        """The flat results of a function of TensorFlow; None if it has no cluster."""
        if private.is_compiled_by_xla(function):
            return None
        if function not in self._concrete:
            self._concrete[function] = self._clustered(function, arguments)
        concrete = self._concrete[function]
        if concrete is None:
            return None
        return private.run_as_it_is(concrete, [*arguments, *concrete.captured_inputs])

    def _clustered(self, function: Any, arguments: Sequence[Any]) -> Any:
        """The function with compiled clusters, as a concrete function; None without clusters."""
        of_tf = private.graph_of(function)
        definition = of_tf.as_graph_def()
        graph = graph_of_definition(definition)
        count = len(private.flat_outputs(function))
        outputs = [input_of(t.name) for t in of_tf.outputs[:count]]
        marks = mark_for_compilation(graph, refusal, self.options)
        parts = encapsulate_subgraphs(graph, marks.clusters, outputs)
        found = FunctionReport(plain_name(private.name_of(function)), graph, marks)
        self.functions.append(found)
        if self._dump:
            self._dump.write(definition, marks.clusters, parts)
        if not any(isinstance(part, Subgraph) for part in parts):
            return None
        build = rebuilt(parts, of_tf, outputs, found.clusters)
        build.__name__ = found.name
        made = tf.function(build, autograph=False)
        # A size that the function leaves open is open here, too.
        given = [
            tf.TensorSpec(t.shape, t.dtype) if a.dtype not in (tf.resource, tf.variant) else a
            for t, a in zip(of_tf.inputs, arguments, strict=True)
        ]
        with private.without_clusters():
            return made.get_concrete_function(*given)


def graph_of_definition(definition: Any) -> TensorGraph:
    """The graph of a GraphDef of TensorFlow."""
    functions = {f.signature.name: _nodes(f.node_def) for f in definition.library.function}
    return TensorGraph(_nodes(definition.node), functions)


def _nodes(given: Iterable[Any]) -> tuple[Node, ...]:
    return tuple(
        Node(n.name, n.op, tuple(map(input_of, n.input)), n.device, _attrs(n)) for n in given
    )


def _attrs(node: Any) -> dict[str, Any]:
    """The attributes of a node, as far as a mark depends on them."""
    found: dict[str, Any] = {}
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if kind == "type":
            found[name] = {"type": [type_name(value.type)]}
        elif kind == "list" and value.list.type:
            found[name] = {"list": [{"type": list(map(type_name, value.list.type))}]}
        elif kind == "b":
            found[name] = {"b": ["true" if value.b else "false"]}
        elif kind == "s":
            found[name] = {"s": [value.s.decode(errors="replace")]}
        elif kind == "func":
            found[name] = {"func": [{"name": [value.func.name]}]}
        elif kind == "list" and value.list.func:
            found[name] = {"list": [{"func": [{"name": [f.name]} for f in value.list.func]}]}
    return found


@contextmanager
def auto_cluster(
    options: ClusterOptions | None = None, dump_to: Path | None = None
) -> Generator[Clustering]:
    """Run functions of TensorFlow with compiled clusters, as `TF_XLA_FLAGS=--tf_xla_auto_jit=2`.

    Parameters
    ----------
    options : those of the pass that marks.
    dump_to : a folder for the graphs before and after each pass.
    """
    start()
    clustering = Clustering(options or ClusterOptions(), dump_to)
    with private.running_others(clustering.run):
        yield clustering
