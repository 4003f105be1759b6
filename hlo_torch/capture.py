"""torch's graphs (torch.fx) as graphs of ATen operations, for the sizes of one call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from hlo.types.shape import Shape, array
from hlo_torch.graph import DTYPES, AtenGraph, AtenOperation, AtenValue, element_type
from hlo_torch.private import Node, is_operation, torch

if TYPE_CHECKING:
    from collections.abc import Sequence


def captured(nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Any]) -> AtenGraph:
    """Some nodes as a graph.

    Parameters
    ----------
    inputs : nodes whose values are given.
    outputs : nodes of which the values are asked for.
    """
    return AtenGraph(
        {node.name: shape_of(node) for node in inputs},
        tuple(operation_of(node) for node in nodes),
        tuple(_argument(node) for node in outputs),
    )


def operation_of(node: Node) -> AtenOperation:
    """A node as an operation."""
    args = tuple(_argument(a) for a in node.args)
    kwargs = {name: _argument(a) for name, a in node.kwargs.items()}
    return AtenOperation(node.name, target_of(node), args, kwargs, shape_of(node), line_of(node))


def target_of(node: Node) -> str:
    """The name of a node's operation: "aten.add.Tensor", "getitem"."""
    target: Any = node.target
    return str(target) if is_operation(target) else str(target.__name__)


def shape_of(node: Node) -> Shape | None:
    """The shape of a node's value; None if that is no tensor, or none that HLO has."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or any(not isinstance(n, int) for n in value.shape):
        return None
    if not has_element_type(node):
        return None
    return array(element_type(str(value.dtype)), tuple(value.shape))


def has_element_type(node: Node) -> bool:
    """Whether HLO has the element type of a tensor."""
    return str(node.meta["val"].dtype).removeprefix("torch.") in DTYPES


def is_number(node: Node) -> bool:
    """Whether a node's value is a number that is known before the graph runs, such as a size."""
    return isinstance(node.meta.get("val"), (int, float))


def is_unknown(node: Node) -> bool:
    """Whether a node's value is a number that is known only when the graph has run."""
    value = node.meta.get("val")
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def line_of(node: Node) -> str:
    """The user's line that a node comes from, as "model.py:12"; empty if it is not known."""
    traces = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return "{}:{}".format(*traces[-1]) if traces else ""


def _argument(argument: Any) -> Any:
    if isinstance(argument, torch.fx.Node):
        value = argument.meta.get("val")
        # The sizes of this call are known.
        return value if is_number(argument) else AtenValue(argument.name)
    if isinstance(argument, (list, tuple)):
        return [_argument(part) for part in cast("list[Any]", argument)]
    if isinstance(argument, torch.dtype):
        return element_type(str(argument)) if str(argument)[6:] in DTYPES else None
    if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
        return None
    return argument
