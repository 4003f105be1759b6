"""From a graph of ATen operations to a module of HLO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.build import module as build_module
from hlo.errors.error import HloError
from hlo.instruction import Instruction
from hlo.types.shape import tuple_of
from hlo_torch.graph import AtenOperation, AtenValue
from hlo_torch.operations.table import RULES, Unsupported, to_shape
from optimizer.calls.clone import uniquely_named
from optimizer.derivative.bodies import computation
from optimizer.derivative.table import detached
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Module
    from hlo_torch.graph import AtenGraph

_PREFIXES = ("aten.", "prims.")


def lower(graph: AtenGraph, name: str = "graph") -> Module:
    """The module that computes a graph's outputs, as a tuple without None, from its inputs.

    Raises
    ------
    Unsupported
        If the table has no such operation, or not in this form.
    """
    values: dict[str, Any] = {}
    parameters: list[Instruction] = []
    for given, shape in graph.inputs.items():
        assert shape is not None, "numbers are no inputs of a module"
        made = make("parameter", shape=shape, number=len(parameters)).with_(name=given)
        values[given] = made
        parameters.append(made)
    with detached():
        for operation in graph.operations:
            values[operation.name] = lowered(operation, values)
    results = [_found(output, values) for output in graph.outputs if output is not None]
    root = make("tuple", *results, shape=tuple_of(*(r.shape for r in results)))
    return build_module(uniquely_named(computation("main", parameters, root)), name)


def lowered(operation: AtenOperation, values: Mapping[str, Any]) -> Any:
    """An operation as instructions.

    Raises
    ------
    Unsupported
        As `lower`.
    """
    args = _found(operation.args, values)
    if operation.target == "getitem":
        return _as_said(operation, args[0][args[1]])
    rule = rule_of(operation.target)
    if rule is None:
        raise refusal(operation, "hlo_torch has no rule for it")
    try:
        made = rule(operation.shape, *args, **_found(operation.kwargs, values))
    except Unsupported as why:
        raise refusal(operation, str(why)) from why
    except (HloError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise refusal(operation, f"{type(error).__name__}: {error}") from error
    return _as_said(operation, made)


def _as_said(operation: AtenOperation, made: Any) -> Any:
    """A result of the shape that torch has for it.

    Raises
    ------
    Unsupported
        If its dimensions are others: the rule does not know this form.
    """
    said = operation.shape
    if said is None or not isinstance(made, Instruction):
        return made
    if not said.size:
        return splat(0, said)  # what has no elements may be left out by torch
    if made.shape.dims != said.dims:
        raise refusal(operation, f"the result is {made.shape}, and torch has {said}")
    return to_shape(said, made)


def rule_of(target: str) -> Any:
    """The rule of an operation; None if the table has none."""
    for prefix in _PREFIXES:
        if target.startswith(prefix):
            return RULES.get(target.removeprefix(prefix))
    return None


def refusal(operation: AtenOperation, why: str) -> Unsupported:
    """The error for an operation that can't be compiled."""
    where = f" at {operation.line}" if operation.line else ""
    return Unsupported(f"{operation.target}{where}: {why}")


def _found(argument: Any, values: Mapping[str, Any]) -> Any:
    """An argument with instructions for the names of values."""
    if isinstance(argument, AtenValue):
        return values[argument.name]
    if isinstance(argument, (list, tuple)):
        return [_found(part, values) for part in argument]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(argument, dict):
        return {key: _found(part, values) for key, part in argument.items()}  # pyright: ignore[reportUnknownVariableType]
    return argument
