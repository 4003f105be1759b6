"""Pairs of operations on variables that cannot share a cluster.

A cluster reads all variables at its begin and writes all at its end. So a cluster is wrong that
writes and later reads, where an operation outside may see the variables in between, and so is a
write before a call of any function. After TensorFlow's `resource_operation_safety_analysis`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo_tf.clusters.graph import Node, TensorGraph


class VariableAccess(Enum):
    """The effect of an operation on variables."""

    READ = "reads a resource"
    WRITE = "writes a resource"
    READ_WRITE = "reads and writes a resource"


# After TensorFlow's `resource_operation_table.cc`, operations on variables alone.
ACCESSES = {
    **dict.fromkeys(
        ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"),
        VariableAccess.READ,
    ),
    **dict.fromkeys(("AssignVariableOp",), VariableAccess.WRITE),
}
_ALSO_READ = (
    "Assign",
    "ResourceApply",
    "ResourceScatter",
    "ResourceSparseApply",
    "ResourceStrided",
)
_RANDOM = ("RngReadAndSkip", "RngSkip", "Stateful")


def access(node: Node) -> VariableAccess | None:
    """The effect of a node on variables; None if it has none."""
    if node.op in ACCESSES:
        return ACCESSES[node.op]
    of_variables = node.op.endswith("VariableOp") or node.op.startswith(_ALSO_READ[1:])
    stateful = node.op.startswith(_RANDOM) and node.op not in _CALLS
    # A call's body comes into its place, and so do the ways of a loop or conditional that says so.
    stays = node.op not in _CALLS and not node.flag("_lower_using_switch_merge")
    any_effect = stays and any("func" in value for value in node.attrs.values())
    return VariableAccess.READ_WRITE if of_variables or stateful or any_effect else None


_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "StatefulRandomBinomial")


def unsafe_pairs(graph: TensorGraph) -> dict[str, set[str]]:
    """For each operation on variables, those before it that may not be in its cluster.

    An edge from a write to a later read is unsafe: the read would see the value at the begin.
    """
    before: dict[str, frozenset[str]] = {}
    found: dict[str, set[str]] = {}
    accesses = {node.name: kind for node in graph.nodes if (kind := access(node))}
    for node in graph.ordered:
        reaching: set[str] = set()
        for given in node.inputs:
            reaching |= before.get(given.node, frozenset())
        kind = accesses.get(node.name)
        if kind is not None:
            found[node.name] = {n for n in reaching if not _is_safe(accesses[n], kind)}
            reaching.add(node.name)
        before[node.name] = frozenset(reaching)
    return found


def _is_safe(first: VariableAccess, second: VariableAccess) -> bool:
    """Whether a cluster keeps the order of two operations on variables."""
    return first is VariableAccess.READ or second is VariableAccess.WRITE
