"""The condition under which each node of a lowered conditional or loop runs.

A `Switch` makes one of its results dead, a `Merge` is alive if one of its inputs is, and a dead
input makes any other node dead. Nodes of different conditions cannot share a cluster, whose
results are alive together. After TensorFlow's `deadness_analysis`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tf.clusters.graph import BACK_EDGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tf.clusters.graph import Node, TensorGraph

# The literals that must all hold: the result of a switch's condition, or a merge, or a loop.
Condition = frozenset[tuple[str, bool]]
ALWAYS: Condition = frozenset()
# A loop's frame is a literal, too: its nodes run another number of times.
_ENTER, _EXIT, _SWITCH, _MERGE = "Enter", "Exit", "Switch", "Merge"


def conditions(graph: TensorGraph) -> dict[str, Condition]:
    """The condition of each node of a graph."""
    found: dict[tuple[str, int], Condition] = {}
    of_node: dict[str, Condition] = {}
    for node in graph.ordered:
        given = [
            found.get((i.node, i.number), of_node.get(i.node, ALWAYS))
            for i in node.inputs
            if i.node in of_node
        ]
        if node.op == _MERGE:
            data = given[: sum(i.node in of_node for i in node.data_inputs)]
            condition = _of_loop(node, data, graph) or _merged(node, data)
        else:
            condition = frozenset[tuple[str, bool]]().union(*given)
        if node.op == _ENTER:
            condition |= {(f"loop {node.string('frame_name')}", True)}
        elif node.op == _EXIT:
            condition = frozenset(x for x in condition if not _is_of_loop(x[0], graph))
        of_node[node.name] = condition
        if node.op == _SWITCH:
            decided = str(node.data_inputs[1])
            found[node.name, 0] = condition | {(decided, False)}
            found[node.name, 1] = condition | {(decided, True)}
    return of_node


def _is_of_loop(name: str, graph: TensorGraph) -> bool:
    """Whether a literal says that a loop runs, or that it goes on."""
    kind, _, rest = name.rpartition(" ")
    node = graph.by_name.get(rest.partition(":")[0])
    return kind in ("loop", "turn") or (node is not None and node.op == "LoopCond")


def _of_loop(node: Node, given: Sequence[Condition], graph: TensorGraph) -> Condition | None:
    """The condition of a merge of a loop's variable; None for other merges.

    All variables of a loop have a new value in each of its turns, so that it is the same for all.
    """
    if not any(graph.by_name[i.node].op == BACK_EDGE for i in node.data_inputs):
        return None
    enter = graph.by_name[node.data_inputs[0].node]
    return given[0] | {(f"turn {enter.string('frame_name')}", True)}


def _merged(node: Node, given: Sequence[Condition]) -> Condition:
    """The condition of a merge: both ways of one switch together are no condition."""
    common = given[0].intersection(*given[1:])
    rests = [condition - common for condition in given]
    if len(rests) == 2 and all(len(rest) == 1 for rest in rests):
        ((left, a),), ((right, b),) = rests
        if left == right and a != b:
            return common
    return common | {(f"merge {node.name}", True)} if all(rests) else common


def told(condition: Condition) -> str:
    """A condition in words."""
    words = [name if holds else f"not {name}" for name, holds in sorted(condition)]
    return " and ".join(words) or "always"
