"""A graph of TensorFlow: nodes that name their inputs, as in a GraphDef."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo_tf.clusters.text_format import Message, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

# Loops close a circle here, and nowhere else.
BACK_EDGE = "NextIteration"


@dataclass(frozen=True)
class NodeInput:
    """An input of a node: a result of another one, or, numbered -1, only its end."""

    node: str
    number: int

    @property
    def is_control(self) -> bool:
        """Whether no value comes from there."""
        return self.number < 0

    def __str__(self) -> str:
        """The input as a GraphDef has it: `x`, `x:1`, `^x`."""
        if self.is_control:
            return f"^{self.node}"
        return self.node if self.number == 0 else f"{self.node}:{self.number}"


@dataclass(frozen=True)
class Node:
    """An operation of a graph.

    Attributes
    ----------
    attrs : the messages of its attributes, by name.
    """

    name: str
    op: str
    inputs: tuple[NodeInput, ...] = ()
    device: str = ""
    attrs: dict[str, Message] = field(default_factory=dict[str, Message])

    def type_of(self, name: str) -> str:
        """The element type that an attribute holds: `DT_FLOAT`; "" if there is none."""
        return self._only(name, "type")

    def string(self, name: str) -> str:
        """The string that an attribute holds; "" if there is none."""
        return self._only(name, "s")

    def flag(self, name: str) -> bool | None:
        """The truth that an attribute holds; None if there is none."""
        found = self._only(name, "b")
        return found == "true" if found else None

    def _only(self, name: str, kind: str) -> str:
        return str(self.attrs.get(name, {}).get(kind, [""])[0])

    @property
    def called(self) -> list[str]:
        """The names of the functions that its attributes hold: bodies, conditions, branches."""
        values = self.attrs.values()
        single = [f for value in values for f in value.get("func", ())]
        lists = [one for value in values for one in value.get("list", ())]
        return [f["name"][0] for f in single + [f for one in lists for f in one.get("func", ())]]

    @property
    def data_inputs(self) -> list[NodeInput]:
        """The inputs with values, in order."""
        return [i for i in self.inputs if not i.is_control]


@dataclass(frozen=True)
class TensorGraph:
    """A graph: nodes, in any order, with different names.

    Attributes
    ----------
    functions : the nodes of each function that may be called.

    Raises
    ------
    HloError
        HLO201 if an input is no node, or if there is a circle without `NextIteration`.
    """

    nodes: tuple[Node, ...]
    functions: dict[str, tuple[Node, ...]] = field(default_factory=dict[str, tuple[Node, ...]])

    def __post_init__(self) -> None:
        for node in self.nodes:
            for given in node.inputs:
                if given.node not in self.by_name:
                    raise HloError("HLO201", f"{node.name} has an input {given} that is no node")

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes by their names."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """The names of the nodes that have each node as an input, each once."""
        found: dict[str, dict[str, None]] = {node.name: {} for node in self.nodes}
        for node in self.nodes:
            for given in node.inputs:
                found[given.node][node.name] = None
        return {name: list(users) for name, users in found.items()}

    @cached_property
    def ordered(self) -> tuple[Node, ...]:
        """The nodes, each after its inputs, but for those of `NextIteration` in `Merge`."""
        before = {
            node.name: [
                i.node
                for i in node.inputs
                if not (node.op == "Merge" and self.by_name[i.node].op == BACK_EDGE)
            ]
            for node in self.nodes
        }
        try:
            return tuple(self.by_name[n] for n in TopologicalSorter(before).static_order())
        except CycleError as error:
            circle = " <- ".join(error.args[1])
            raise HloError("HLO201", f"nodes need each other: {circle}") from error


def graph_of(message: Message) -> TensorGraph:
    """The graph of a GraphDef's message."""
    functions = {
        _first(_first(function, "signature"), "name"): _nodes(function.get("node_def", ()))
        for library in message.get("library", ())
        for function in library.get("function", ())
    }
    return TensorGraph(_nodes(message.get("node", ())), functions)


def read_graph(text: str) -> TensorGraph:
    """The graph of a GraphDef's text.

    Raises
    ------
    HloError
        HLO201 if it is none.
    """
    return graph_of(parse(text))


def _nodes(given: Sequence[Message]) -> tuple[Node, ...]:
    return tuple(_node(one) for one in given)


def _node(given: Message) -> Node:
    attrs = {entry["key"][0]: entry.get("value", [{}])[0] for entry in given.get("attr", ())}
    inputs = tuple(input_of(text) for text in given.get("input", ()))
    return Node(_first(given, "name"), _first(given, "op"), inputs, _first(given, "device"), attrs)


def _first(given: Message, name: str) -> Any:
    return given.get(name, [""])[0]


def input_of(text: str) -> NodeInput:
    """An input as a GraphDef has it, or as a function's definition: `x:y:1`."""
    if text.startswith("^"):
        return NodeInput(text[1:], -1)
    name, _, number = text.partition(":")
    number = number.rpartition(":")[2]
    return NodeInput(name, int(number or 0))
