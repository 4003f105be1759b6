"""The bridge's answer for a node: whether it has a kernel for XLA, and if not, why."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from hlo_tf import private
from hlo_tf.tensorflow import part, tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tf.clusters.graph import Node

_types: Any = part("tensorflow.core.framework.types_pb2")
DEVICE = "XLA_CPU_JIT"


def refusal(node: Node) -> str:
    """The reason why the bridge compiles no such node; "" if it does.

    The functions that a node calls are another question.
    """
    kernels = _kernels(node.op)
    if not kernels:
        return f"no {DEVICE} kernel for {node.op}"
    reasons = [why for kernel in kernels if (why := _mismatch(node, kernel))]
    return "" if len(reasons) < len(kernels) else reasons[0]


def _mismatch(node: Node, kernel: Sequence[tuple[str, frozenset[str]]]) -> str:
    """The first attribute whose types a kernel does not take."""
    for name, allowed in kernel:
        given = node.attrs.get(name, {})
        types = given.get("type", []) + given.get("list", [{}])[0].get("type", [])
        for each in types:
            if each not in allowed:
                return f"the {DEVICE} kernel for {node.op} takes no {name} of {each}"
    return ""


@cache
def _kernels(op: str) -> list[list[tuple[str, frozenset[str]]]]:
    """The constraints of an operation's kernels."""
    _register()
    found: Any = private.kernels_of(op)
    return [
        [(c.name, frozenset(map(type_name, c.allowed_values.list.type))) for c in k.constraint]
        for k in found
        if k.device_type == DEVICE
    ]


def type_name(number: int) -> str:
    """The name of an element type, such as DT_FLOAT."""
    return _types.DataType.Name(number)


@cache
def _register() -> None:
    """Let the bridge enter its kernels, as it does before it compiles for the first time."""
    nothing = tf.function(tf.identity).get_concrete_function(tf.TensorSpec(()))
    private.hlo_message(nothing.name.decode(), [tf.zeros(())])
