"""Convolutions of cuDNN with a graph of elementwise steps after them.

    14:[f32]conv();7:[f32]relu(14);9:[f8e4m3fn]scale(7);

The backend configuration has such a text, a step each with its number, its type, its name and the
steps that it takes. A step that needs one array more takes the call's next operand: a number, or an
array of the result's shape. The last step is the first result. `amax`, the greatest absolute value
of a step, is a result of its own. A result of eight bits is saturated, so XLA leaves out the clamp
that it found there.

References
----------
`GraphString` in `xla/service/gpu/transforms/cudnn_fused_conv_rewriter.cc`;
`ConvForwardGraph` in `xla/stream_executor/cuda/cuda_dnn.cc`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.infer.checks import show
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.conversion import converted
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import checked
from interpreter.custom_calls.vendors.gpu_convolutions import (
    convolution_of,
    problems_of_convolution,
)
from interpreter.custom_calls.vendors.gpu_products import (
    greatest,
    named_options,
    results_of,
    with_workspace,
)
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

TARGET = "__cudnn$convForwardGraph"
# The opcodes of steps on two arrays, of which the second may be an operand of the call.
BINARY = {
    "add": "add",
    "invscale": "divide",
    "max": "maximum",
    "min": "minimum",
    "scale": "multiply",
}
UNARY = ("relu", "amax")
_STEP = re.compile(r"(\d+):\[(\w+)\](\w+)\(([\d,]*)\);")


@dataclass(frozen=True, slots=True)
class GraphStep:
    """One step.

    Attributes
    ----------
    element_type : in which the step leaves its array.
    name : "conv", or one of `BINARY` and `UNARY`.
    takes : the numbers of steps.
    operand : the number of the call's operand that it takes, too.
    """

    number: str
    element_type: ElementType
    name: str
    takes: tuple[str, ...]
    operand: int | None


def steps_of(instr: Instruction) -> list[GraphStep]:
    """The steps of a call in order, the convolution first; [] where the text is none of a graph."""
    options = named_options(instr, "cudnn_conv_backend_config")
    text, steps, operand, end = str(options.get("serialized_graph", "")), list[GraphStep](), 2, 0
    for match in _STEP.finditer(text):
        number, kind, name, taken = match.groups()
        if match.start() != end or kind not in ELEMENT_TYPES:
            return []
        takes = tuple(taken.split(",")) if taken else ()
        needs = name in BINARY and len(takes) == 1
        operand_number = operand if needs else None
        steps.append(GraphStep(number, ELEMENT_TYPES[kind], name, takes, operand_number))
        operand, end = operand + needs, match.end()
    return steps if end == len(text) else []


@vendor_call(TARGET)
def convolve_and_step(_frame: Frame, instr: Instruction, *operands: Array) -> Any:
    """The convolution and the steps on it, each in f32 or wider, rounded where its type is less."""
    plain = convolution_of(instr).convolution
    value = cast("Array", evaluates["convolution"](plain, plain.attrs, *operands[:2]))
    known: dict[str, Array] = {}
    for step in steps_of(instr):
        arrays = [known[number] for number in step.takes]
        if step.operand is not None:
            arrays.append(operands[step.operand].astype(value.dtype))
        result = _applied(step, arrays) if arrays else value
        known[step.number] = _rounded(result, step.element_type).astype(value.dtype)
    outputs, most = last_steps(instr)
    values = [known[step.number] for step in (outputs, *most)]
    pairs = zip(values, results_of(instr), strict=False)
    return with_workspace(instr, *(_rounded(v, shape.element_type) for v, shape in pairs))


def last_steps(instr: Instruction) -> tuple[GraphStep, list[GraphStep]]:
    """The step whose array is the first result, and those that are further results."""
    steps = steps_of(instr)
    most = [step for step in steps if step.name == "amax"]
    return [step for step in steps if step.name != "amax"][-1], most


def _applied(step: GraphStep, arrays: list[Array]) -> Array:
    if step.name == "relu":
        return np.maximum(arrays[0], 0)
    if step.name == "amax":
        return np.max(np.abs(arrays[0]), initial=0)
    return getattr(np, BINARY[step.name])(*arrays)


def _rounded(x: Array, kind: ElementType) -> Array:
    """An array in a type; eight bits hold the greatest numbers that they can."""
    return converted(np.clip(x, -greatest(kind), greatest(kind)) if kind.bits == 8 else x, kind)


@checked(TARGET, note="two arrays, and operands of steps -> one array, greatest values, memory")
def check_graph(instr: Instruction, _options: Options | None) -> str:
    """The fault in the operands, the results or the graph of a convolution."""
    return next(_problems(instr), "")


def _problems(instr: Instruction) -> Iterator[str]:
    if len(instr.operands) < 2 or not all(o.shape.is_array for o in instr.operands):
        yield "takes two arrays, and arrays for its steps"
    steps, results = steps_of(instr), results_of(instr)
    if not steps or steps[0].name != "conv" or steps[0].takes:
        yield "needs a serialized_graph that begins with a convolution"
    yield from problems_of_convolution(instr)
    yield from _problems_of_steps(steps)
    needed = 2 + sum(step.operand is not None for step in steps)
    if len(instr.operands) != needed:
        yield f"has a graph of {needed} operands"
    for added in instr.operands[2:]:
        if added.shape.dims not in ((), results[0].dims):
            yield f"can't combine {show(added.shape)} with {show(results[0])}"
    if any(shape.dims for shape in results[1 : 1 + len(last_steps(instr)[1])]):
        yield "has an amax that is no number"


def _problems_of_steps(steps: list[GraphStep]) -> Iterator[str]:
    before = {steps[0].number}
    for step in steps[1:]:
        if step.name not in (*BINARY, *UNARY):
            yield f"has the step {step.name!r} in its graph"
        if len(step.takes) + (step.operand is not None) != 1 + (step.name in BINARY):
            yield f"has a step {step.name} of {len(step.takes)} steps"
        if not before.issuperset(step.takes):
            yield f"has a step {step.name} of one that does not come before"
        before.add(step.number)
    if any(not step.element_type.is_floating for step in steps):
        yield "has steps on integers, which only cuDNN's own code defines"
