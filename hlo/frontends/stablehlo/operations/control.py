"""Control flow, calls, tuples, tokens, and calls of other people's functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes.calls import API_VERSIONS
from hlo.errors.error import HloError
from hlo.frontends.stablehlo.items import Integer, Real
from hlo.frontends.stablehlo.numbers import dense_text, integer_of, number_text
from hlo.frontends.stablehlo.table import given, integers, translates, translation_of
from hlo.read.quoting import keep_json, quote
from hlo.types.shape import Layout, Shape, tuple_of
from hlo.types.values import OutputOperandAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.frontends.stablehlo.operation import Operation, Region, Tagged
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Computation, Instruction

    Operands = list[Instruction]


@translates("stablehlo.while")
def loop(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """A loop; values from around it that it uses become part of its state."""
    own: tuple[str, ...] = given(op, "names", default=())
    captured = scope.captured(op.regions, own)
    state = [*operands, *(scope.values[name] for name in captured)]
    shapes = [value.shape for value in state]

    def called(name: str, block: Region, *, also: Sequence[str]) -> Any:
        names = own or tuple(argument.name for argument in block.arguments)
        return scope.computation(
            name, block, lambda inner: inner.packed_parameter([*names, *captured], shapes), also
        )

    condition, body = op.regions
    calls = (called("condition", condition, also=()), called("body", body, also=captured))
    whole = scope.add("while", scope.packed(state), called=calls)
    return scope.unpacked(whole, len(state))[: len(operands)]


@translates("stablehlo.if", "stablehlo.case")
def choice(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """One of several blocks; the values from around that each uses are its operand."""
    branches: list[Computation] = []
    arguments: list[Instruction] = []
    for number, block in enumerate(op.regions):
        captured = scope.captured([block], ())
        values = [scope.values[name] for name in captured]
        arguments.append(scope.packed(values))

        def prepare(inner: RegionScope, names: Any = captured, values: Any = values) -> None:
            inner.packed_parameter(names, [value.shape for value in values])

        branches.append(scope.computation(f"branch_{number}", block, prepare))
    return scope.several(op, "conditional", *operands, *arguments, called=tuple(branches))


@translates("func.call", "call", "stablehlo.composite")
def call(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """A call of a function of the module."""
    words = [str(word) for word in given(op, "words", default=()) if str(word).startswith("@")]
    name = words[0] if words else str(given(op, "decomposition", "callee"))
    called = scope.whole.computation(name.lstrip("@").strip('"'), op.span)
    return scope.several(op, "call", *operands, called=(called,))


@translates("stablehlo.tuple")
def packed(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """A tuple."""
    return scope.add("tuple", *operands)


@translates("stablehlo.get_tuple_element")
def element(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """An element of a tuple."""
    return scope.add("get-tuple-element", *operands, index=integer_of(given(op, "index")))


@translates("stablehlo.optimization_barrier")
def barrier(scope: RegionScope, _op: Operation, operands: Operands) -> list[Instruction]:
    """The operands; nothing is optimized across it."""
    return scope.unpacked(scope.add("opt-barrier", scope.packed(operands)), len(operands))


@translates("builtin.unrealized_conversion_cast")
def cast_between_dialects(
    _scope: RegionScope, _op: Operation, operands: Operands
) -> list[Instruction]:
    """The operands: it says that their types are the same ones, in two dialects."""
    return operands


@translates("stablehlo.after_all", "stablehlo.create_token")
def after_all(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """A token that comes after all operands."""
    return scope.add("after-all", *operands)


@translates("tensor.cast")
def resized(_scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The same value, with other knowledge of its sizes."""
    return operands[0]


@translates("stablehlo.infeed")
def infeed(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The next value of the infeed queue, and a token."""
    *values, token = op.result_shapes
    config = given(op, "infeed_config", default="")
    shape = tuple_of(tuple_of(*values), token)
    whole = scope.add("infeed", *operands, shape=shape, infeed_config=config)
    inside, done = scope.elements(whole)
    return [*scope.elements(inside), done]


@translates("stablehlo.outfeed")
def outfeed(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """Puts values into the outfeed queue."""
    *values, token = operands
    value = scope.add("tuple", *values)
    config = given(op, "outfeed_config", default="")
    return scope.add("outfeed", value, token, outfeed_shape=value.shape, outfeed_config=config)


# Custom calls that XLA reads as opcodes.
OPCODES_OF_CALLS = frozenset({"ragged_all_to_all"})
# Calls that hand on a buffer, whether the text says so or not.
_PINS = ("Pin", "Unpin")


@translates("stablehlo.custom_call")
def custom_call(
    scope: RegionScope, op: Operation, operands: Operands
) -> Instruction | Sequence[Instruction]:
    """A call of a function that is registered under a name.

    A portable file holds operations that StableHLO does not have, as `mhlo.topk`, as calls of their
    names, with their attributes in one.
    """
    words = [str(word) for word in given(op, "words", default=()) if str(word).startswith("@")]
    target = words[0].lstrip("@").strip('"') if words else str(given(op, "call_target_name"))
    if "mhlo.attributes" in op.attributes:
        held = replace(op, name=target, attributes=op.attributes["mhlo.attributes"])
        return translation_of(held)(scope, held, operands)
    own: Any = given(op, "backend_config", default="")
    if target in OPCODES_OF_CALLS:
        held = replace(op, name=f"custom_call.{target}", attributes=own)
        return translation_of(held)(scope, held, operands)
    older: Any = given(op, "mhlo.backend_config", default={})
    foreign = cast("dict[str, Any]", own if isinstance(own, dict) else older)
    # 0 leaves the version open, which XLA takes for the first one; beside the older attribute, what
    # is said is the first one, and XLA takes the last.
    version = integer_of(given(op, "api_version", default=4 if foreign else 1)) or 1
    version = 4 if older else version
    called = tuple(
        scope.whole.computation(name, op.span)
        for name in given(op, "called_computations", default=())
    )
    shapes = _laid_out(op.result_shapes, given(op, "result_layouts", default=()))
    layouts = given(op, "operand_layouts", default=())
    constraints = _laid_out([o.shape for o in operands], layouts) if layouts else None
    aliases = _aliases(given(op, "output_operand_aliases", default=()))
    if not aliases and target in _PINS:
        aliases = (OutputOperandAlias((), 0, ()),)
    whole = scope.add(
        "custom-call",
        *operands,
        shape=shapes[0] if len(shapes) == 1 else tuple_of(*shapes),
        called=called,
        custom_call_target=target,
        operand_layout_constraints=constraints,
        custom_call_has_side_effect=given(op, "has_side_effect", default=False) is True,
        output_to_operand_aliasing=aliases,
        api_version=API_VERSIONS[version - 1],
        annotations=scope.annotations(op, spelled(foreign) if foreign else _quoted(own)),
    )
    return scope.unpacked(whole, len(shapes))


def _laid_out(shapes: Sequence[Shape], orders: Sequence[Any]) -> tuple[Shape, ...]:
    """The shapes in some orders of dimensions, the one that changes fastest first."""
    if not orders:
        return tuple(shapes)
    if len(shapes) == 1 and shapes[0].is_tuple:
        return (tuple_of(*_laid_out(shapes[0].elements, orders)),)
    pairs = zip(shapes, orders, strict=True)
    return tuple(
        shape.with_layout(Layout(integers(order))) if shape.is_array else shape
        for shape, order in pairs
    )


def _aliases(aliases: Sequence[Tagged]) -> tuple[OutputOperandAlias, ...]:
    """The results that share the buffers of operands."""
    return tuple(
        OutputOperandAlias(
            integers(alias.fields["output_tuple_indices"]),
            integer_of(alias.fields["operand_index"]),
            integers(alias.fields["operand_tuple_indices"]),
        )
        for alias in aliases
    )


def _quoted(config: Any) -> str:
    """A configuration that is a string, as HLO text keeps it; "" for none."""
    return keep_json(quote(config)) if config and isinstance(config, str) else ""


def spelled(value: Any) -> str:
    """An attribute in MLIR's syntax."""
    match value:
        case bool():
            return str(value).lower()
        case Integer() | Real():
            return number_text(value)
        case str():
            return quote(value)
        case dict():
            entries = cast("dict[str, Any]", value).items()
            return "{" + ", ".join(f"{k} = {spelled(v)}" for k, v in entries) + "}"
        case np.ndarray():
            return dense_text(cast("NDArray[Any]", value))
        case tuple():
            return "[" + ", ".join(map(spelled, cast("tuple[Any, ...]", value))) + "]"
        case _:
            raise HloError("HLO013", f"a configuration can't hold {value!r}")
