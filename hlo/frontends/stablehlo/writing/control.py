"""Control flow, calls, tuples, tokens, and calls of other people's functions.

What HLO starts and waits for later is one operation here: only a schedule tells the difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import CompositeCall, CustomCall, GetTupleElement
from hlo.attributes.calls import API_VERSIONS
from hlo.frontends.stablehlo.writing.table import Tree, unsayable, writes
from hlo.frontends.stablehlo.writing.trees import leaves, packed
from hlo.frontends.stablehlo.writing.types import listed, string, symbol, truth
from hlo.read.quoting import unquote
from hlo.types.shape import TOKEN_SHAPE, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.frontends.stablehlo.writing.table import WritingScope
    from hlo.instruction import Computation, Instruction

# XLA takes names with a namespace only.
_NAME_OF_COMPOSITE = re.compile(r"[a-zA-Z]\w*(\.[\w$]+)+")


@writes("tuple")
def tuple_(scope: WritingScope, instr: Instruction) -> Tree:
    """A tuple, which is taken apart."""
    return tuple(scope.tree(operand) for operand in instr.operands)


@writes("get-tuple-element")
def element(scope: WritingScope, instr: Instruction) -> Tree:
    """An element of a tuple."""
    return scope.tree(instr.operands[0])[GetTupleElement.of(instr).index]


@writes("copy", "copy-start", "copy-done", "domain", "all-gather-done", "all-reduce-done",
        "collective-permute-done", "send-done", "recv-done")  # fmt: skip
def same(scope: WritingScope, instr: Instruction) -> Tree:
    """The same value, in other memory or later."""
    return scope.tree(instr.operands[0])


@writes("opt-barrier")
def barrier(scope: WritingScope, instr: Instruction) -> Tree:
    """The operand; nothing is optimized across it."""
    values = leaves(scope.tree(instr.operands[0]))
    return packed(_barrier(scope, values, instr.shape), instr.shape)


@writes("add-dependency")
def add_dependency(scope: WritingScope, instr: Instruction) -> Tree:
    """The first operand, after the second, a token."""
    before, token = leaves(scope.tree(instr.operands[0])), scope.value(instr.operands[1])
    shapes = [*(leaf for _, leaf in instr.shape.leaves()), TOKEN_SHAPE]
    values = scope.op("stablehlo.optimization_barrier", [*before, token], shapes)
    return packed(values[:-1], instr.shape)


def _barrier(scope: WritingScope, values: Sequence[MlirValue], shape: Shape) -> list[MlirValue]:
    shapes = [leaf for _, leaf in shape.leaves()]
    return scope.op("stablehlo.optimization_barrier", values, shapes) if values else []


@writes("after-all")
def after_all(scope: WritingScope, instr: Instruction) -> Tree:
    """A token that comes after all operands."""
    operands = [value for operand in instr.operands for value in leaves(scope.tree(operand))]
    return scope.op("stablehlo.after_all", operands, [instr.shape])[0]


@writes("call", "fusion")
def call(scope: WritingScope, instr: Instruction) -> Tree:
    """A call of a function; a fusion is one, too."""
    if instr.opcode == "call" and CompositeCall.of(instr).is_composite:
        attributes = _composite(instr, symbol(scope.function(instr.called[0])))
        if _NAME_OF_COMPOSITE.fullmatch(unquote(attributes["name"])):
            shapes = [leaf for _, leaf in instr.shape.leaves()]
            values = scope.op("stablehlo.composite", _operands(scope, instr), shapes, attributes)
            return packed(values, instr.shape)
    return _called(scope, instr.called[0], _operands(scope, instr))


def _operands(scope: WritingScope, instr: Instruction) -> list[MlirValue]:
    return [value for operand in instr.operands for value in leaves(scope.tree(operand))]


def _called(scope: WritingScope, computation: Computation, operands: Sequence[MlirValue]) -> Tree:
    shape = computation.root.shape
    shapes = [leaf for _, leaf in shape.leaves()]
    callee = {"callee": symbol(scope.function(computation))}
    return packed(scope.op("func.call", operands, shapes, callee), shape)


@dataclass(frozen=True)
class Started:
    """A computation that has started; it is called where its value is waited for.

    Attributes
    ----------
    operands : so far; each update may add some.
    """

    computation: Computation
    operands: list[MlirValue]


@writes("async-start")
def async_start(scope: WritingScope, instr: Instruction) -> Tree:
    """Nothing yet."""
    return Started(instr.called[0], _operands(scope, instr))


@writes("async-update")
def async_update(scope: WritingScope, instr: Instruction) -> Tree:
    """More operands."""
    started, *others = (scope.tree(operand) for operand in instr.operands)
    more = [value for other in others for value in leaves(other)]
    return Started(started.computation, [*started.operands, *more])


@writes("async-done")
def async_done(scope: WritingScope, instr: Instruction) -> Tree:
    """The call."""
    started: Started = scope.tree(instr.operands[0])
    return _called(scope, started.computation, started.operands)


def _composite(instr: Instruction, decomposition: str) -> dict[str, str]:
    """The operation that a call stands for."""
    said = instr.annotations.frontend_attributes
    entries = dict(said.entries) if said else {}

    def text(key: str, usual: str) -> str:
        text = entries.get(f"composite.{key}", usual)
        return unquote(text) if text.startswith('"') else text

    return {
        "name": string(text("name", "composite")),
        "composite_attributes": text("attributes", "{}"),
        "decomposition": decomposition,
        "version": f"{text('version', '0')} : i32",
    }


@writes("while")
def loop(scope: WritingScope, instr: Instruction) -> Tree:
    """A loop over the leaves of its state."""
    state = leaves(scope.tree(instr.operands[0]))
    shapes = [leaf for _, leaf in instr.shape.leaves()]
    regions = [scope.region(called) for called in instr.called]
    return packed(scope.op("stablehlo.while", state, shapes, regions=regions), instr.shape)


@writes("conditional")
def choice(scope: WritingScope, instr: Instruction) -> Tree:
    """One of several blocks, each of which uses its own operand from around it."""
    index, *arguments = instr.operands
    name = "if" if index.shape.element_type.kind == "pred" else "case"
    regions = [
        scope.region(called, leaves(scope.tree(argument)))
        for called, argument in zip(instr.called, arguments, strict=True)
    ]
    shapes = [leaf for _, leaf in instr.shape.leaves()]
    values = scope.op(f"stablehlo.{name}", [scope.value(index)], shapes, regions=regions)
    return packed(values, instr.shape)


@writes("custom-call")
def custom_call(scope: WritingScope, instr: Instruction) -> Tree:
    """A call of a function that is registered under a name; its tuples stay tuples."""
    attrs = CustomCall.of(instr)
    for name in ("window", "dim_labels", "literal"):
        if getattr(attrs, name) is not None:
            raise unsayable(instr, f"`{name}` of custom calls")
    several = instr.shape.is_tuple and len(instr.shape.elements) != 1
    shapes = instr.shape.elements if several else (instr.shape,)
    operands = [scope.whole(operand) for operand in instr.operands]
    attributes = {
        "call_target_name": string(attrs.custom_call_target),
        "api_version": f"{API_VERSIONS.index(attrs.api_version) + 1} : i32",
        "has_side_effect": truth(attrs.custom_call_has_side_effect),
        **_configured(instr, attrs),
    }
    if instr.called:
        attributes["called_computations"] = _functions(scope, instr.called)
    if attrs.operand_layout_constraints is not None:
        attributes["operand_layouts"] = _layouts(attrs.operand_layout_constraints)
        attributes["result_layouts"] = _layouts(shapes)
    if attrs.output_to_operand_aliasing:
        attributes["output_operand_aliases"] = listed(
            "#stablehlo.output_operand_alias<"
            f"output_tuple_indices = {listed(alias.output_index)}, "
            f"operand_index = {alias.operand}, "
            f"operand_tuple_indices = {listed(alias.operand_index)}>"
            for alias in attrs.output_to_operand_aliasing
        )
    values = scope.op("stablehlo.custom_call", operands, shapes, attributes)
    pairs = zip(values, shapes, strict=True)
    trees = tuple(scope.apart(value, shape) for value, shape in pairs)
    return trees if several else trees[0]


def _configured(instr: Instruction, attrs: CustomCall) -> dict[str, str]:
    """The configuration: a dictionary of MLIR for typed functions, a string for all others."""
    text = instr.annotations.backend_config
    if not text:
        return {}
    if attrs.api_version == "API_VERSION_TYPED_FFI":
        typed = unquote(text) if text.startswith('"') else text
        return {"backend_config": typed or "{}"}
    return {"backend_config": string(unquote(text) if text.startswith('"') else text)}


def _functions(scope: WritingScope, called: Sequence[Computation]) -> str:
    return listed(symbol(scope.function(computation)) for computation in called)


def _layouts(shapes: Sequence[Shape]) -> str:
    """The order of dimensions of each array, the one that changes fastest first."""
    orders = [shape.layout.minor_to_major if shape.layout else () for shape in shapes]
    return listed(
        f"dense<{list(order) if order else ''}> : tensor<{len(order)}xindex>" for order in orders
    )
