"""The report of auto-clustering: each function's clusters, and why other nodes are in none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import TYPE_CHECKING

from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tf.clusters.encapsulate_subgraphs import Subgraph
    from hlo_tf.clusters.graph import TensorGraph
    from hlo_tf.clusters.mark_for_compilation import Marks


@dataclass
class ClusterReport:
    """A cluster at work.

    Attributes
    ----------
    compiled, calls : how often it was compiled, and run.
    fallback : why TensorFlow runs it now; "" while it is compiled.
    """

    subgraph: Subgraph
    compiled: int = 0
    calls: int = 0
    fallback: str = ""

    def line(self) -> str:
        """The cluster in a line."""
        sub = self.subgraph
        ops = Counter(node.op for node in sub.nodes)
        told = ", ".join(f"{count} {op}" if count > 1 else op for op, count in ops.items())
        sizes = ", ".join(
            (
                counted(len(sub.nodes), "node"),
                counted(len(sub.inputs), "input"),
                counted(len(sub.results), "result"),
            )
        )
        work = f"compiled {counted(self.compiled, 'time')}, run {counted(self.calls, 'time')}"
        back = f"; TensorFlow runs it: {self.fallback}" if self.fallback else ""
        return f"{sub.name}: {sizes}; {work}{back}\n    {told}"


@dataclass
class FunctionReport:
    """A function whose graph was clustered."""

    name: str
    graph: TensorGraph
    marks: Marks
    clusters: list[ClusterReport] = field(default_factory=list[ClusterReport])

    def text(self) -> str:
        """The clusters with their work, then the nodes outside with their reasons."""
        inside = len(self.marks.clusters)
        whole = f"{inside} of {counted(len(self.graph.nodes), 'node')}"
        lines = [f"{self.name}: {whole} in {counted(len(self.clusters), 'cluster')}"]
        lines += [f"  {cluster.line()}" for cluster in self.clusters]
        lines += [
            f"  outside: {node.name} ({node.op}): {self.marks.reasons[node.name]}"
            for node in self.graph.nodes
            if node.name in self.marks.reasons and node.op not in _BORDERS
        ]
        return "\n".join(lines)


# Arguments, results and ends have no reason but that they are none of the computation.
_BORDERS = {"Placeholder", "_Arg", "_Retval", "NoOp"}


def report(functions: Sequence[FunctionReport]) -> str:
    """The report of several functions, in the order in which they ran first."""
    if not functions:
        return "no function of TensorFlow ran"
    return "\n\n".join(function.text() for function in functions)


def difference(before: str, after: str) -> str:
    """The lines that two reports do not share; "" if they say the same."""
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)
