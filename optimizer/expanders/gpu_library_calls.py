"""Writes calls of cuBLAS, cuDNN and CUB as dots, convolutions and sorts, with their epilogues.

custom-call(x, w), custom_call_target="__cublas$gemm"   =>   multiply(dot(x, w), alpha)

So a module that XLA has optimized for a GPU runs on every target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes

from hlo.types.shape import array
from hlo.types.values import PaddingDim
from interpreter.custom_calls.vendors import (
    gpu_convolution_graphs,
    gpu_convolutions,
    gpu_products,
    gpu_sorts,
    gpu_triangular_solve,
)
from interpreter.custom_calls.vendors.gpu_products import GELU_CUBE, GELU_ROOT, results_of
from optimizer.expanders.custom_call_expander import expansion
from optimizer.expanders.op_expander import elements
from optimizer.expanders.parts import (
    folded,
    full,
    number,
    permuted,
    spread,
    to_dims,
    to_type,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from hlo.types.values import ConvDims
    from interpreter.custom_calls.vendors.gpu_convolutions import CudnnConvolution
    from optimizer.expanders.op_expander import ExpansionSite


@expansion(*gpu_products.TARGETS)
def expand_product(site: ExpansionSite) -> Instruction:
    """A call of cuBLAS as a dot and its epilogue."""
    instr = site.instr
    gemm, results = gpu_products.gemm_of(instr), results_of(instr)
    value = to_type(gemm.dot, gpu_products.epilogue_type(gemm.dot, results[0].element_type))
    kind, dims = value.shape.element_type, value.shape.dims
    added = {name: to_type(x, kind) for name, x in zip(gemm.added, instr.operands[2:], strict=True)}
    if gemm.alpha != 1:
        value = make("multiply", value, gemm.alpha if kind.is_complex else gemm.alpha.real)
    if "lhs_scale" in added:
        both = make("multiply", added["lhs_scale"], added["rhs_scale"])
        value = make("multiply", value, spread(both, dims))
    if "C" in added:
        value = make("add", value, make("multiply", added["C"], gemm.beta))
    if "bias" in added:
        bias = added["bias"]
        along = gpu_products.bias_dims(bias.shape, results[0])
        if any(missing := gpu_products.missing_bias(bias.shape, results[0])):
            padding = tuple(PaddingDim(0, n, 0) for n in missing)
            bias = make("pad", bias, number(0.0, kind), padding=padding)
        value = make("add", value, spread(bias, dims, along))
    outputs = [_applied(gemm.function, value)] + [value] * gemm.has_aux
    if gemm.has_most:
        zero, axes = number(0.0, kind), range(len(dims))
        size = make("abs", outputs[0])
        outputs.append(folded(size, zero, axes, site.binary("maximum", kind)))
    if "scale" in added:
        scaled = make("multiply", outputs[0], spread(added["scale"], dims))
        most = gpu_products.greatest(results[0].element_type)
        outputs[0] = make("clamp", full(-most, scaled), scaled, full(most, scaled))
    return _with_workspace(instr, outputs)


def _applied(function: str, x: Instruction) -> Instruction:
    """A function of an epilogue; "" for none."""
    if function == "relu":
        return make("maximum", x, 0.0)
    if function == "gelu":
        cube = make("multiply", make("multiply", make("multiply", x, GELU_CUBE), x), x)
        curve = make("tanh", make("multiply", make("add", x, cube), GELU_ROOT))
        return make("multiply", make("multiply", x, 0.5), make("add", curve, 1.0))
    if function == "silu":
        return make("divide", x, make("add", make("exponential", make("negate", x)), 1.0))
    return x


@expansion(*gpu_convolutions.TARGETS)
def expand_convolution(site: ExpansionSite) -> Instruction:
    """A call of cuDNN as a convolution and its epilogue."""
    instr = site.instr
    call, labels = gpu_convolutions.convolution_of(instr), gpu_convolutions.labels_of(instr)
    lhs, rhs, *added = instr.operands
    kernel = _regrouped(rhs, labels, call.groups)
    plain = call.convolution.with_(operands=(lhs, kernel))
    value = to_type(plain, gpu_products.epilogue_type(plain, results_of(instr)[0].element_type))
    if call.scale != 1:
        value = make("multiply", value, call.scale)
    if added:
        bias = to_type(added[0], value.shape.element_type)
        value = make("add", value, spread(bias, value.shape.dims, [labels.output_feature]))
    if len(added) > 1:
        side = to_type(added[1], value.shape.element_type)
        value = make("add", value, make("multiply", side, call.side))
    return _with_workspace(instr, [_saturated(_activated(call, value), results_of(instr)[0])])


@expansion(gpu_convolution_graphs.TARGET)
def expand_graph(site: ExpansionSite) -> Instruction:
    """A call of cuDNN as a convolution and the steps of its graph."""
    instr = site.instr
    plain = gpu_convolutions.convolution_of(instr).convolution
    plain = plain.with_(operands=instr.operands[:2])
    kind, dims = plain.shape.element_type, plain.shape.dims
    known: dict[str, Instruction] = {}
    for step in gpu_convolution_graphs.steps_of(instr):
        arrays = [known[number] for number in step.takes]
        if step.operand is not None:
            other = to_type(instr.operands[step.operand], kind)
            arrays.append(other if other.shape.dims else spread(other, dims))
        if not arrays:
            value = plain
        elif step.name == "relu":
            value = make("maximum", arrays[0], 0.0)
        elif step.name == "amax":
            zero, most = number(0.0, kind), site.binary("maximum", kind)
            value = folded(make("abs", arrays[0]), zero, range(len(dims)), most)
        else:
            value = make(gpu_convolution_graphs.BINARY[step.name], *arrays)
        known[step.number] = to_type(_held(value, step.element_type), kind)
    output, most = gpu_convolution_graphs.last_steps(instr)
    return _with_workspace(instr, [known[step.number] for step in (output, *most)])


def _held(x: Instruction, kind: ElementType) -> Instruction:
    """An array in a type; eight bits hold the greatest numbers that they can."""
    if kind.bits == 8:
        most = gpu_products.greatest(kind)
        x = make("clamp", full(-most, x), x, full(most, x))
    return to_type(x, kind)


def _regrouped(kernel: Instruction, labels: ConvDims, groups: int) -> Instruction:
    """A kernel whose groups of output features become groups of input features."""
    if groups == 1:
        return kernel
    dims = kernel.shape.dims
    inner, outer = labels.kernel_input_feature, labels.kernel_output_feature
    split = to_dims(kernel, (*dims[:outer], groups, dims[outer] // groups, *dims[outer + 1 :]))
    order = [d for d in range(len(dims) + 1) if d != outer]
    order.insert(inner, outer)
    return to_dims(permuted(split, order), gpu_convolutions.regrouped_dims(dims, labels, groups))


def _activated(call: CudnnConvolution, x: Instruction) -> Instruction:
    """The function of an epilogue."""
    if call.function == "kRelu":
        return make("maximum", x, 0.0)
    if call.function == "kRelu6":
        return make("clamp", full(0.0, x), x, full(6.0, x))
    if call.function in ("kElu", "kLeakyRelu"):
        below = (
            make("exponential-minus-one", make("minimum", x, 0.0))
            if call.function == "kElu"
            else make("multiply", x, call.slope)
        )
        return make("select", make("compare", x, 0.0, direction="GT"), x, below)
    return x


@expansion(gpu_triangular_solve.TARGET)
def expand_solve(site: ExpansionSite) -> Instruction:
    """A call of cuBLAS as a triangular-solve."""
    return _with_workspace(site.instr, [gpu_triangular_solve.solve_of(site.instr)])


@expansion(*gpu_sorts.TARGETS)
def expand_sort(site: ExpansionSite) -> Instruction:
    """A call of CUB as a sort, in whose order -0 and +0 are equal."""
    instr = site.instr
    direction = "GT" if gpu_sorts.is_descending(instr) else "LT"
    scalars = [array(o.shape.element_type) for o in instr.operands for _ in range(2)]

    def key(x: Instruction) -> Instruction:
        if not x.shape.element_type.is_floating:
            return x
        return make("select", make("compare", x, 0.0, direction="EQ"), full(0.0, x), x)

    def before(x: Instruction, y: Instruction, *_values: Instruction) -> Instruction:
        kind = "TOTALORDER" if x.shape.element_type.is_floating else ""
        return make("compare", key(x), key(y), direction=direction, type=kind)

    result = make(
        "sort", *instr.operands, called=(site.computation("before", scalars, before),),
        dimensions=(instr.operands[0].shape.rank - 1,), is_stable=True,
    )  # fmt: skip
    return _with_workspace(instr, elements(result) if result.shape.is_tuple else [result])


def _saturated(x: Instruction, result: Shape) -> Instruction:
    """Sums of integers, the greatest and least of them as the result's type can hold them."""
    if not result.element_type.is_integer:
        return x
    bounds = ml_dtypes.iinfo(result.element_type.dtype)
    return make("clamp", full(int(bounds.min), x), x, full(int(bounds.max), x))


def _with_workspace(instr: Instruction, outputs: list[Instruction]) -> Instruction:
    """The results of a call: those given, in its types, and zeros for the library's memory."""
    results = results_of(instr)
    values = [to_type(x, shape.element_type) for x, shape in zip(outputs, results, strict=False)]
    if not instr.shape.is_tuple:
        return values[0]
    return make("tuple", *values, *(splat(0, shape) for shape in results[len(values) :]))
