"""A graph of torch as a function: its compiled parts, and torch's own operations between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import emit_c
from hlo.errors.error import HloError
from hlo.frontends.calls import By, CallArgument, differences
from hlo_torch.arrays import maker_of, reader_of
from hlo_torch.capture import (
    captured,
    has_element_type,
    is_number,
    is_unknown,
    operation_of,
    shape_of,
    target_of,
)
from hlo_torch.lowering import lower, refusal, rule_of
from hlo_torch.operations.table import Unsupported
from hlo_torch.private import GraphModule, Node, propagated, torch
from hlo_torch.report import REPORTS, GraphReport
from hlo_torch.segments import GraphSegment, divide, used_later

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module

# Random numbers come from torch, so that they are those of eager torch; and `empty`, for them.
_RANDOM = (
    *("bernoulli", "rand", "normal.", "normal_functional", "uniform", "multinomial", "exponential"),
    *("cauchy", "geometric", "log_normal", "poisson", "binomial", "_sample_dirichlet", "dropout"),
    *("_standard_gamma.", "rrelu_with_noise.", "rrelu_with_noise_functional", "alpha_dropout"),
    *("feature_dropout", "feature_alpha_dropout", "_fused_dropout", "empty.", "empty_strided"),
)
# Errors that depend on values are torch's.
_CHECKS = (
    "aten._linalg_check_errors.default",
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
)


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """The options of `torch.compile(model, backend="pyhlo", options={...})`.

    Attributes
    ----------
    fallback : whether torch may run operations that can't be compiled; else they are an error.
    dump_to : a folder to which each module is written; empty for none.
    """

    fallback: bool = True
    dump_to: str = ""


class CompiledGraph:
    """A graph, compiled for each set of sizes with which it is called.

    Parameters
    ----------
    names : of its inputs, as the user knows them; "" for others. Empty for a gradient, which is
        compiled again whenever its forward graph is.
    """

    def __init__(
        self, module: GraphModule, name: str, names: Sequence[str], options: BackendOptions
    ) -> None:
        self._module, self._name, self._options = module, name, options
        self._plans: dict[tuple[str, ...], _GraphPlan] = {}
        placeholders = module.graph.find_nodes(op="placeholder")
        self._names = names
        self._is_open = any(
            isinstance(p.meta.get("val"), torch.SymInt) or _has_open_sizes(p.meta.get("val"))
            for p in placeholders
        )
        if not self._is_open:
            self._plans[()] = _GraphPlan(module, name, "", options)

    def __call__(self, *given: Any) -> Any:
        """The outputs for some inputs."""
        key = tuple(map(_sizes, given)) if self._is_open else ()
        plan = self._plans.get(key)
        if plan is None:
            module = propagated(self._module, given)
            plan = _GraphPlan(module, self._name, f" ({', '.join(key)})", self._options)
            plan.report.why = "; ".join(self._reasons(key))
            self._plans[key] = plan
        return plan(given)

    def _reasons(self, key: Sequence[str]) -> list[str]:
        """The differences between these sizes and the nearest ones that were compiled."""
        new, *before = (
            {
                n: CallArgument(By.SHAPE, text)
                for n, text in zip(self._names, sizes, strict=False)
                if n
            }
            for sizes in (key, *reversed(self._plans))
        )
        told = [differences(new, old) for old in before]
        return min(told, key=len) if told else []


def _has_open_sizes(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and any(isinstance(n, torch.SymInt) for n in value.shape)


def _sizes(value: Any) -> str:
    """An input's part of a key: "4x3" for a tensor, and a number itself."""
    return "x".join(map(str, value.shape)) if isinstance(value, torch.Tensor) else str(value)


class _CompiledPart:
    """A compiled part of a graph.

    Attributes
    ----------
    inputs, outputs : the nodes whose values it takes and gives.
    """

    def __init__(self, nodes: Sequence[Node], name: str, dump_to: str) -> None:
        inside = set(nodes)
        needed = dict.fromkeys(n for node in nodes for n in node.all_input_nodes)
        self.inputs = [n for n in needed if n not in inside and shape_of(n) is not None]
        self.outputs = [n for n in used_later(nodes, inside) if shape_of(n) is not None]
        self.module: Module = lower(captured(nodes, self.inputs, self.outputs), name)
        if dump_to:
            folder = Path(dump_to)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.hlo").write_text(f"{self.module}\n")
        self._run = emit_c.compile(self.module)
        self._read = [(node, reader_of(node.meta["val"].dtype)) for node in self.inputs]
        self._make = [(node, maker_of(node.meta["val"].dtype)) for node in self.outputs]

    def __call__(self, values: dict[Node, Any]) -> None:
        """Compute the outputs."""
        made = self._run(*[read(values[node]) for node, read in self._read])
        for (node, make), array in zip(self._make, made, strict=True):
            values[node] = make(array)


class _GraphPlan:
    """The steps of a graph for one set of sizes."""

    def __init__(self, module: GraphModule, name: str, sizes: str, options: BackendOptions) -> None:
        self._options, self.report = options, GraphReport(name, sizes)
        graph = module.graph
        self._placeholders = graph.find_nodes(op="placeholder")
        (output,) = graph.find_nodes(op="output")
        # None and numbers among the results, and tensors that the graph holds, are there already.
        self._held: dict[Any, Any] = {}
        self._results = [self._result(k, found) for k, found in enumerate(output.args[0])]
        nodes = [n for n in graph.nodes if n.op == "call_function" and not is_number(n)]
        held = (n for n in graph.nodes if n.op == "get_attr")
        self._held.update((n, getattr(module, str(n.target))) for n in held)
        self._steps: list[Callable[[dict[Node, Any]], None]] = []
        why: dict[Node, str] = {}
        for node in nodes:
            if reason := _why_not(node, why):
                why[node] = reason
        refused = [reason for reason in why.values() if reason not in (RANDOM, CHECK, _PART)]
        if refused and not options.fallback:
            raise Unsupported("; ".join(dict.fromkeys(refused)))
        self.report.eager = [*dict.fromkeys(refused)]
        self._compile(divide(nodes, lambda node: node not in why), name)
        REPORTS.append(self.report)

    def _result(self, number: int, found: Any) -> Any:
        """The key of a result among the values of a call."""
        if isinstance(found, torch.fx.Node):
            if is_number(found):
                self._held[found] = found.meta["val"]
            return found
        self._held[number] = found
        return number

    def _compile(self, segments: list[GraphSegment], name: str) -> None:
        for segment in segments:
            nodes = segment.compiled
            if nodes:
                try:
                    file = f"{name.replace(' ', '_')}_{self.report.parts}"
                    part = _CompiledPart(nodes, file, self._options.dump_to)
                except (Unsupported, HloError) as error:
                    if not self._options.fallback:
                        raise
                    self.report.eager.append(str(error))
                    self._steps += [_EagerOperation(node) for node in nodes]
                else:
                    self.report.parts += 1
                    self.report.compiled += len(nodes)
                    self._steps.append(part)
            self._steps += [_EagerOperation(node) for node in segment.eager]

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The outputs for some inputs."""
        self.report.calls += 1
        values: dict[Any, Any] = {**self._held, **dict(zip(self._placeholders, given, strict=True))}
        for step in self._steps:
            step(values)
        return [values[key] for key in self._results]


class _EagerOperation:
    """An operation that torch runs."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __call__(self, values: dict[Node, Any]) -> None:
        """Run it."""

        def value(node: Node) -> Any:
            if node not in values:
                return node.meta["val"]  # a number
            return _as_traced(values[node], node.meta.get("val"))

        args, kwargs = torch.fx.node.map_arg((self.node.args, self.node.kwargs), value)
        values[self.node] = self.node.target(*args, **kwargs)


def _as_traced(value: Any, traced: Any) -> Any:
    """A tensor with the strides for which torch has traced the operation."""
    if not isinstance(value, torch.Tensor) or value.stride() == traced.stride():
        return value
    made = torch.empty_strided(value.shape, traced.stride(), dtype=value.dtype)
    return made.copy_(value)


RANDOM = "it draws random numbers"
CHECK = "it computes nothing, and may raise an error"
_PART = "it is a result of an operation that torch runs"


def is_random(target: str) -> bool:
    """Whether an operation draws random numbers."""
    return any(target.startswith(f"aten.{word}") for word in _RANDOM)


def _why_not(node: Node, why: dict[Node, str]) -> str:
    """The reason why torch runs a node; empty if it is compiled."""
    target, operation = target_of(node), operation_of(node)
    if target == "getitem":
        return _PART if node.args[0] in why else ""
    if is_random(target):
        return RANDOM
    if target == "with_effects" and str(node.args[1]) in _CHECKS:
        return CHECK
    if rule_of(target) is None:
        return str(refusal(operation, "hlo_torch has no rule for it"))
    if reason := _why_not_given(node, target):
        return str(refusal(operation, reason))
    return _why_not_lowered(node, operation)


def _why_not_given(node: Node, target: str) -> str:
    """The reason why the tensors of a node are none that are compiled; empty if they are."""
    for one in (node, *node.all_input_nodes):
        tensor = one.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            if is_unknown(one):
                return "a number is known only when it has run"
            continue
        if tensor.device.type != "cpu":
            return f"a tensor is on {tensor.device}"
        if not has_element_type(one):
            return f"HLO has no element type for {tensor.dtype}"
        if shape_of(one) is None:
            return "a size is known only when it has run"
    if target == "aten.as_strided.default" and not node.args[0].meta["val"].is_contiguous():
        return "the elements do not lie in order"
    return ""


def _why_not_lowered(node: Node, operation: Any) -> str:
    """The reason why the rule of a node refuses it; empty if it does not."""
    inputs = [n for n in node.all_input_nodes if shape_of(n) is not None]
    if len(inputs) < sum(1 for n in node.all_input_nodes if not is_number(n)):
        return ""  # some of its operands are no tensors: the whole part tells
    try:
        lower(captured([node], inputs, [node] if operation.shape else []))
    except Unsupported as error:
        return str(error)
    return ""
