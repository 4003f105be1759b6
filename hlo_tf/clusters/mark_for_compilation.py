"""Marks the nodes of a graph that are compiled, and in which cluster: MarkForCompilation.

1. Each node that may be compiled is a cluster of its own.
2. Two clusters with an edge between them become one, unless that would close a cycle through a node
   outside, or the two run under other conditions, on other devices or in other scopes, or the
   cluster would read a variable after it has written it.
3. Clusters that are too small to be worth a call are given up.

The order of contraction is TensorFlow's, for it decides where a cycle allows one of two clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo_tf.clusters.deadness_analysis import Condition, conditions, told
from hlo_tf.clusters.resource_operation_safety_analysis import access, unsafe_pairs
from hlo_tf.names import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo_tf.clusters.graph import Node, TensorGraph

# The shape of an array is known where the array is made.
_SHAPES = frozenset({"Shape", "ShapeN", "Rank", "Size"})
# They vanish in a compiled program, so that they do not make it worth its call.
_FREE = frozenset({"Identity", "Const"})
# TensorFlow leaves them out: the sizes of their results depend on values.
_VALUE_SIZED = frozenset({"Unique", "UniqueV2"})
# After TensorFlow's list of stateful random operations, which clusters leave out.
_RANDOM = frozenset(
    {
        *("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"),
        *("RandomShuffle", "Multinomial", "RandomGamma", "RandomPoissonV2"),
    }
)
# After TensorFlow's list of operations that XLA runs slowly.
_SLOW = frozenset(
    {"SelfAdjointEigV2", "Svd", "Qr", "MatrixInverse", "MatrixSolve", "ResizeBilinearGrad"}
)
# A cluster with one of them is worth its call, however few nodes it has.
_CONTROL = frozenset({"If", "StatelessIf", "While", "StatelessWhile"})
_BORDERS = frozenset({"_Arg", "_Retval", "Placeholder"})


@dataclass(frozen=True)
class ClusterOptions:
    """The flags of TensorFlow's pass, with its defaults.

    Attributes
    ----------
    level : 0, only nodes whose `_XlaCompile` is true, and those of different `_XlaScope` stay
        apart; 1 and 2, all nodes, between which TensorFlow makes no difference.
    least, most : numbers of nodes of a cluster.
    devices : the kinds of devices whose nodes are clustered unasked; on others `_XlaCompile` asks.
    """

    level: int = 2
    least: int = 4
    most: int = 2**31 - 1
    devices: frozenset[str] = frozenset({"CPU"})


@dataclass(eq=False)
class _Cluster:
    """A cluster while it grows: nodes that are not candidates are clusters that do not."""

    nodes: list[str]
    condition: Condition
    device: str
    scope: str
    is_candidate: bool
    before: dict[_Cluster, None] = field(default_factory=dict["_Cluster", None])
    after: dict[_Cluster, None] = field(default_factory=dict["_Cluster", None])


@dataclass(frozen=True)
class Marks:
    """The clusters of a graph.

    Attributes
    ----------
    clusters : the name of each marked node's cluster.
    reasons : of each other node, why it is in none.
    """

    clusters: dict[str, str]
    reasons: dict[str, str]

    def members(self) -> dict[str, list[str]]:
        """The nodes of each cluster."""
        found: dict[str, list[str]] = {}
        for node, cluster in self.clusters.items():
            found.setdefault(cluster, []).append(node)
        return found


def mark_for_compilation(
    graph: TensorGraph, refusal: Callable[[Node], str], options: ClusterOptions | None = None
) -> Marks:
    """Choose the clusters of a graph.

    Parameters
    ----------
    refusal : the bridge's reason why it does not compile a node; "" if it does.
    """
    return _Marking(graph, refusal, options or ClusterOptions()).marks()


class _Marking:
    def __init__(
        self, graph: TensorGraph, refusal: Callable[[Node], str], options: ClusterOptions
    ) -> None:
        self._graph, self._options = graph, options
        self._conditions = conditions(graph)
        self._unsafe = unsafe_pairs(graph)
        self._reasons: dict[str, str] = {}
        constant = _must_be_constant(graph)
        for node in graph.nodes:
            if why := self._refused(node, refusal, constant):
                self._reasons[node.name] = why
        self._of = {node.name: self._alone(node) for node in graph.nodes}
        for node in graph.nodes:
            for given in node.inputs:
                if graph.by_name[given.node].op != "NextIteration":
                    self._connect(self._of[given.node], self._of[node.name])
        self._join_frames()

    def marks(self) -> Marks:
        """Contract edges until none is left that may be, and number the clusters."""
        while self._contract(only_shapes=True):
            pass
        while self._contract(only_shapes=False):
            pass
        names: dict[_Cluster, str] = {}
        clusters: dict[str, str] = {}
        for node in self._graph.nodes:
            cluster = self._of[node.name]
            if not cluster.is_candidate:
                continue
            if why := self._too_small(cluster):
                self._reasons[node.name] = f"{why}{self._border(cluster)}"
                continue
            clusters[node.name] = names.setdefault(cluster, f"cluster_{len(names)}")
        for name in self._shapes_outside(clusters):
            del clusters[name]
            self._reasons[name] = "a shape of an array that is made outside of its cluster"
        return Marks(clusters, self._reasons)

    def _refused(self, node: Node, refusal: Callable[[Node], str], constant: set[str]) -> str:
        """The reason why a node is no candidate; "" if it is one."""
        device = _device(node)
        unasked = not (node.flag("_XlaCompile") or node.flag("_XlaMustCompile"))
        is_listed = device in self._options.devices
        reasons = {
            "its `_XlaCompile` is false": node.flag("_XlaCompile") is False,
            "it is outside of any scope that asks for XLA": self._options.level == 0 and unasked,
            f"nodes on {device} are clustered only if asked": unasked and not is_listed,
            "it is a border of the graph": node.op in _BORDERS,
            "constants of a loop wait for it": self._starts_constants(node),
            "it has a state, and its value must be constant": node.name in constant
            and access(node) is not None,
        }
        why = next((why for why, holds in reasons.items() if holds), "")
        return why or self._not_compiled(node, refusal)

    def _starts_constants(self, node: Node) -> bool:
        """Whether a node lets a loop's constants begin, which no cluster may wait for."""
        by_name = self._graph.by_name
        if node.op != "Identity" or not (given := node.data_inputs) or given[0].number != 1:
            return False
        switch = by_name[given[0].node]
        return (
            switch.op == "Switch"
            and by_name[switch.data_inputs[1].node].op == "LoopCond"
            and any(by_name[user].op == "Const" for user in self._graph.users[node.name])
        )

    def _not_compiled(
        self, node: Node, refusal: Callable[[Node], str], inside: tuple[str, ...] = ()
    ) -> str:
        """The reason why a node cannot be compiled, or one of the functions that it calls."""
        reasons = {
            "the size of its result depends on values": node.op in _VALUE_SIZED,
            "it draws random numbers from a state that is no variable": node.op in _RANDOM,
            "XLA runs it slowly": node.op in _SLOW,
            "it takes or gives lists of tensors": _has_variants(node),
            "it is a constant string": node.op == "Const" and node.type_of("dtype") == "DT_STRING",
        }
        functions = self._graph.functions
        is_call = node.op in functions
        why = next((why for why, holds in reasons.items() if holds), "")
        if why := why or ("" if is_call else refusal(node)):
            return why
        for name in [*node.called, *([node.op] if is_call else [])]:
            if name in inside:
                return f"{plain_name(name)} calls itself"
            for inner in functions.get(name, ()):
                if inner.op in _BORDERS:
                    continue
                if why := self._not_compiled(inner, refusal, (*inside, name)):
                    return f"it calls {plain_name(name)}, in which {inner.name} ({inner.op}): {why}"
        return ""

    def _alone(self, node: Node) -> _Cluster:
        scope = node.string("_XlaInternalScope" if self._options.level else "_XlaScope")
        condition = self._conditions[node.name]
        is_candidate = node.name not in self._reasons
        return _Cluster([node.name], condition, _device(node), scope, is_candidate)

    def _connect(self, first: _Cluster, second: _Cluster) -> None:
        first.after[second] = None
        second.before[first] = None

    def _join_frames(self) -> None:
        """Treat a loop as one node between all that enters it and all that leaves it."""
        frames: dict[str, _Cluster] = {}
        for node in self._graph.nodes:
            if node.op not in ("Enter", "Exit"):
                continue
            name = node.string("frame_name") if node.op == "Enter" else self._frame_of(node)
            frame = frames.setdefault(name, _Cluster([], frozenset(), "", "", is_candidate=False))
            own = self._of[node.name]
            self._connect(*((own, frame) if node.op == "Enter" else (frame, own)))

    def _frame_of(self, node: Node) -> str:
        """The loop that a node `Exit` leaves."""
        inside = self._conditions[node.inputs[0].node]
        return next((n.removeprefix("loop ") for n, _ in inside if n.startswith("loop ")), "")

    def _post_order(self) -> Iterator[_Cluster]:
        """All clusters, each after those that follow it."""
        seen: set[_Cluster] = set()
        for root in dict.fromkeys(self._of.values()):
            pending = [(root, False)]
            while pending:
                cluster, is_done = pending.pop()
                if is_done:
                    yield cluster
                elif cluster not in seen:
                    seen.add(cluster)
                    pending.append((cluster, True))
                    pending += [(next_, False) for next_ in cluster.after]

    def _contract(self, *, only_shapes: bool) -> bool:
        """Contract every edge that may be; whether there was one."""
        changed = False
        for first in list(self._post_order()):
            if not first.nodes or self._of.get(first.nodes[0]) is not first:
                continue
            for second in list(first.after):
                if self._of.get(second.nodes[0] if second.nodes else "") is not second:
                    continue
                is_shape = len(second.nodes) == 1 and self._op(second.nodes[0]) in _SHAPES
                if (is_shape or not only_shapes) and not self._apart(first, second):
                    self._merge(first, second)
                    changed = True
        return changed

    def _op(self, name: str) -> str:
        return self._graph.by_name[name].op

    def _apart(self, first: _Cluster, second: _Cluster) -> str:
        """The reason why two neighbours do not become one cluster; "" if they do."""
        if not (first.is_candidate and second.is_candidate):
            return "one of them is not compiled"
        unlike = self._unlike(first, second)
        if unlike:
            return unlike
        for name in second.nodes:
            for before in self._unsafe.get(name, set()) & set(first.nodes):
                return f"{name} would read a resource that {before} writes in the same cluster"
        between = self._way(first, second)
        return f"would close a cycle through {between}" if between else ""

    def _unlike(self, first: _Cluster, second: _Cluster) -> str:
        """The property in which two clusters differ that nodes of one cluster share."""
        if first.condition != second.condition and not self._is_constant_of(first, second):
            return f"one runs {_when(first.condition)}, the other {_when(second.condition)}"
        if first.device != second.device:
            return f"one is on {first.device}, the other on {second.device}"
        if first.scope != second.scope and first.scope and second.scope:
            return f"one is in the scope {first.scope}, the other in {second.scope}"
        is_large = len(first.nodes) + len(second.nodes) > self._options.most
        return "the cluster would be too large" if is_large else ""

    def _is_constant_of(self, first: _Cluster, second: _Cluster) -> bool:
        """Whether a cluster is a constant for another one alone, alive whenever that is."""
        (name, *others) = first.nodes
        users = self._graph.users[name]
        return (
            not others
            and self._op(name) == "Const"
            and first.condition <= second.condition
            and all(self._of[user] is second for user in users)
        )

    def _way(self, first: _Cluster, second: _Cluster) -> str:
        """A node between two neighbours, on another way from one to the other; "" if none is."""
        pending = [(c, c) for c in first.after if c is not second]
        seen = {c for c, _ in pending}
        while pending:
            cluster, start = pending.pop()
            if cluster is second:
                return self._outside(start)
            for after in cluster.after:
                if after not in seen:
                    seen.add(after)
                    pending.append((after, start if start.nodes else after))
        return ""

    def _outside(self, cluster: _Cluster) -> str:
        return cluster.nodes[0] if cluster.nodes else "a loop"

    def _merge(self, first: _Cluster, second: _Cluster) -> None:
        for name in second.nodes:
            self._of[name] = first
        first.nodes += second.nodes
        first.condition = second.condition
        first.scope = first.scope or second.scope
        for after in second.after:
            after.before.pop(second)
            if after is not first:
                self._connect(first, after)
        for before in second.before:
            before.after.pop(second)
            if before is not first:
                self._connect(before, first)
        first.after.pop(second, None)
        first.before.pop(second, None)

    def _too_small(self, cluster: _Cluster) -> str:
        nodes = [self._graph.by_name[name] for name in cluster.nodes]
        if any(node.flag("_XlaCompile") or node.op in _CONTROL for node in nodes):
            return ""
        size = sum(map(self._size, nodes))
        if size >= self._options.least:
            return ""
        return f"its cluster has {size} operations, fewer than {self._options.least}"

    def _size(self, node: Node) -> int:
        """The number of operations of a node: for a call, those of the function that it calls."""
        bodies = [self._graph.functions.get(name, ()) for name in (*node.called, node.op)]
        inner = sum(self._size(n) for body in bodies for n in body if n.op not in _BORDERS)
        return inner or int(node.op not in _FREE)

    def _border(self, cluster: _Cluster) -> str:
        """The reasons why a cluster did not grow over its neighbours."""
        around = [(cluster, c, c) for c in cluster.after] + [
            (c, cluster, c) for c in cluster.before
        ]
        found: dict[str, None] = {}
        for first, second, other in around:
            if not other.nodes:
                continue
            name = other.nodes[0]
            why = self._reasons.get(name) if not other.is_candidate else self._apart(first, second)
            if why:
                found[f"{name}: {why}"] = None
        return "".join(f"; beside {text}" for text in list(found)[:3])

    def _shapes_outside(self, clusters: dict[str, str]) -> list[str]:
        """Marked shapes of arrays that other clusters or no cluster makes: to be left to it."""
        return [
            node.name
            for node in self._graph.nodes
            if node.op in _SHAPES
            and node.name in clusters
            and all(clusters.get(i.node) != clusters[node.name] for i in node.data_inputs)
        ]


def _when(condition: Condition) -> str:
    return told(condition) if not condition else f"if {told(condition)}"


def _device(node: Node) -> str:
    """The kind of a node's device: that of `/job:localhost/.../device:CPU:0`."""
    return node.device.rpartition("device:")[2].partition(":")[0].upper() or "CPU"


def _has_variants(node: Node) -> bool:
    return node.op.startswith(("TensorList", "EmptyTensorList")) or any(
        "DT_VARIANT" in value.get("type", ()) for value in node.attrs.values()
    )


# The operations whose inputs of some numbers must be constant: after TensorFlow's
# `CompileTimeConstantInput`.
_CONSTANT_INPUTS = {
    (0,): "RandomUniform RandomStandardNormal RandomUniformInt ConcatV2",
    (0, 1, 2): "Range LinSpace",
    (1,): "Reshape Fill Tile BroadcastTo ExpandDims Sum Mean Max Min Prod All Any ArgMax ArgMin "
    "Transpose Pad PadV2 MirrorPad TopKV2 Cumsum Cumprod ReverseV2 OneHot InTopKV2",
    (1, 2): "Slice",
    (1, 2, 3): "StridedSlice",
    (2,): "GatherV2",
}
_NUMBERS = {op: numbers for numbers, ops in _CONSTANT_INPUTS.items() for op in ops.split()}


def _must_be_constant(graph: TensorGraph) -> set[str]:
    """The nodes whose values some node's input that must be constant is computed from."""
    found: set[str] = set()
    for node in reversed(graph.ordered):
        if node.op in _SHAPES:  # the sizes are known, whatever the values are
            continue
        numbers = _NUMBERS.get(node.op, ())
        for number, given in enumerate(node.data_inputs):
            if node.name in found or number in numbers:
                found.add(given.node)
    return found
