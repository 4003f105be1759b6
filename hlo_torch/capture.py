"""torch's graphs (torch.fx) as graphs of ATen operations, for the sizes of one call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from hlo.types.shape import Shape, array
from hlo_torch.graph import AtenGraph, AtenOperation, AtenValue, element_type
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
    """The shape of a node's value; None if it is no tensor, or one of unknown sizes."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or any(not isinstance(n, int) for n in value.shape):
        return None
    return array(element_type(str(value.dtype)), tuple(value.shape))


def line_of(node: Node) -> str:
    """The user's line that a node comes from, as "model.py:12"; empty if it is not known."""
    traces = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return "{}:{}".format(*traces[-1]) if traces else ""


def _argument(argument: Any) -> Any:
    if isinstance(argument, torch.fx.Node):
        value = argument.meta.get("val")
        # The sizes of this call are known.
        return value if isinstance(value, (int, float)) else AtenValue(argument.name)
    if isinstance(argument, (list, tuple)):
        return [_argument(part) for part in cast("list[Any]", argument)]
    if isinstance(argument, torch.dtype):
        return element_type(str(argument))
    if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
        return None
    return argument
