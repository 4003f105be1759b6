"""Custom calls of cuDNN, in modules that XLA has compiled for an NVIDIA GPU.

XLA replaces a convolution by one call, of which there are four kinds:

    y  = convForward(x, w)                  the convolution that window and labels describe
    dx = convBackwardInput(dy, w)           the gradient of its input
    dw = convBackwardFilter(x, dy)          the gradient of its kernel
    y  = convBiasActivationForward(x, w, b, z)     function(scale * conv(x, w) + side * z + b)

Window and dimension labels are always those of the forward convolution. The backend configuration
tells the function and the scales. Memory for the library's own use is the last result.

References
----------
`CudnnConvBackendConfig` in `xla/service/gpu/backend_configs.proto`;
`xla/service/gpu/transforms/conv_rewriter.cc`, `cudnn_fused_conv_rewriter.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.attributes import CustomCall
from hlo.build import instruction
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.infer.checks import show
from hlo.types.values import ConvDims, WindowDim
from interpreter.conversion import converted
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import checked
from interpreter.custom_calls.vendors.gpu_products import (
    epilogue_type,
    named_options,
    problem_of_types,
    reason,
    results_of,
    sum_type,
    with_workspace,
)
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

FORWARD, FUSED = "__cudnn$convForward", "__cudnn$convBiasActivationForward"
BACKWARD_INPUT, BACKWARD_FILTER = "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter"
TARGETS = (FORWARD, BACKWARD_INPUT, BACKWARD_FILTER, FUSED)
# By the numbers that older versions of XLA wrote for them.
_FUNCTIONS = {"0": "kNone", "2": "kRelu", "3": "kRelu6", "7": "kElu", "8": "kLeakyRelu"}


@dataclass(frozen=True, slots=True)
class CudnnConvolution:
    """The convolution that a call asks for, and its epilogue.

    Attributes
    ----------
    convolution : an instruction of its first two operands, the kernel regrouped.
    groups : of the output features of a kernel that become groups of its input features, as for the
        gradient of a grouped convolution's input; 1 for a kernel as it is.
    scale, side : the factors of the convolution and of the fourth operand.
    function : "kNone", "kRelu", "kRelu6", "kElu" or "kLeakyRelu".
    slope : of `kLeakyRelu` below 0.
    """

    convolution: Instruction
    groups: int
    scale: float
    side: float
    function: str
    slope: float


def convolution_of(instr: Instruction) -> CudnnConvolution:
    """The convolution that a call of cuDNN asks for.

    Raises
    ------
    HloError
        if window and labels do not fit the operands.
    """
    options = named_options(instr, "cudnn_conv_backend_config")
    target = CustomCall.of(instr).custom_call_target
    groups = CustomCall.of(instr).feature_group_count if target == BACKWARD_INPUT else 1
    make = {BACKWARD_INPUT: _backward_input, BACKWARD_FILTER: _backward_filter}
    mode = str(options.get("activation_mode", "kNone"))
    return CudnnConvolution(
        convolution=make.get(target, _forward)(instr),
        groups=groups,
        scale=float(options.get("conv_result_scale", 1)),
        side=float(options.get("side_input_scale", 0)),
        function=_FUNCTIONS.get(mode, mode),
        slope=float(options.get("leakyrelu_alpha", 0)),
    )


def regrouped(kernel: Array, labels: ConvDims, groups: int) -> Array:
    """A kernel whose groups of output features have become groups of input features."""
    if groups == 1:
        return kernel
    inner, outer = labels.kernel_input_feature, labels.kernel_output_feature
    split = [*kernel.shape[:outer], groups, -1, *kernel.shape[outer + 1 :]]
    moved = np.moveaxis(kernel.reshape(split), outer, inner)
    return moved.reshape(regrouped_dims(kernel.shape, labels, groups))


def regrouped_dims(dims: tuple[int, ...], labels: ConvDims, groups: int) -> tuple[int, ...]:
    """The sizes of such a kernel."""
    new_dims = list(dims)
    new_dims[labels.kernel_output_feature] //= groups
    new_dims[labels.kernel_input_feature] *= groups
    return tuple(new_dims)


@vendor_call(*TARGETS)
def convolve(_frame: Frame, instr: Instruction, lhs: Array, rhs: Array, *added: Array) -> Any:
    """The convolution with its epilogue, computed in f32 or wider and rounded once."""
    call, kind = convolution_of(instr), results_of(instr)[0].element_type
    plain, labels = call.convolution, labels_of(instr)
    kernel = regrouped(rhs, labels, call.groups)
    value = cast("Array", evaluates["convolution"](plain, plain.attrs, lhs, kernel))
    value = converted(value, epilogue_type(plain, kind))
    wide = value.dtype.type
    if call.scale != 1:
        value = value * wide(call.scale)
    if added:
        spread = [1] * value.ndim
        spread[labels.output_feature] = -1
        value = value + added[0].astype(wide).reshape(spread)
    if len(added) > 1:
        value = value + added[1].astype(wide) * wide(call.side)
    value = _function(call, value)
    if kind.is_integer:
        bounds = ml_dtypes.iinfo(kind.dtype)
        value = np.clip(value, bounds.min, bounds.max)
    return with_workspace(instr, converted(value, kind))


def _function(call: CudnnConvolution, x: Array) -> Array:
    """The function of an epilogue; exponentials are taken where they count alone."""
    if call.function == "kRelu":
        return np.maximum(x, 0)
    if call.function == "kRelu6":
        return np.clip(x, 0, 6)
    if call.function == "kElu":
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    if call.function == "kLeakyRelu":
        return np.where(x > 0, x, x * x.dtype.type(call.slope))
    return x


def labels_of(instr: Instruction) -> ConvDims:
    """The dimension labels of a call, which `check_convolution` has seen."""
    labels = CustomCall.of(instr).dim_labels
    assert labels is not None
    return labels


def _convolution(
    instr: Instruction,
    kernel: Shape,
    window: Sequence[WindowDim],
    labels: ConvDims,
    *,
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> Instruction:
    """A convolution of the call's operands, the second one in some shape."""
    lhs, rhs = instr.operands[:2]
    whole = results_of(instr)[0]
    shape = whole.with_type(sum_type((lhs, rhs), whole.element_type))
    return instruction(
        "convolution", (lhs, rhs.with_(shape=kernel)), name=instr.name, shape=shape,
        span=instr.span, window=tuple(window), dim_labels=labels,
        feature_group_count=feature_groups, batch_group_count=batch_groups,
    )  # fmt: skip


def _forward(instr: Instruction) -> Instruction:
    attrs = CustomCall.of(instr)
    return _convolution(
        instr, instr.operands[1].shape, attrs.window or (), labels_of(instr),
        feature_groups=attrs.feature_group_count, batch_groups=attrs.batch_group_count,
    )  # fmt: skip


def _backward_input(instr: Instruction) -> Instruction:
    """The output's gradient, spread by the stride, under the reversed kernel."""
    attrs, labels = CustomCall.of(instr), labels_of(instr)
    groups, dy, kernel = attrs.feature_group_count, instr.operands[0].shape, instr.operands[1].shape
    x = results_of(instr)[0]
    exchanged = ConvDims(
        labels.output_batch, labels.output_feature, labels.output_spatial,
        labels.kernel_output_feature, labels.kernel_input_feature, labels.kernel_spatial,
        labels.input_batch, labels.input_feature, labels.input_spatial,
    )  # fmt: skip
    window: list[WindowDim] = []
    for k, forward in enumerate(attrs.window or ()):
        reverse = WindowDim(
            forward.size,
            pad_low=forward.dilated_size - 1 - forward.pad_low,
            base_dilation=forward.stride,
            window_dilation=forward.window_dilation,
            reversal=not forward.reversal,
        )
        # As much at the end as makes an element for each of x.
        needed = x.dims[labels.input_spatial[k]] + forward.dilated_size - 1
        behind = needed - reverse.padded_extent(dy.dims[labels.output_spatial[k]])
        window.append(replace(reverse, pad_high=behind))
    regrouped_shape = kernel.with_dims(regrouped_dims(kernel.dims, labels, groups))
    return _convolution(instr, regrouped_shape, window, exchanged, feature_groups=groups)


def _backward_filter(instr: Instruction) -> Instruction:
    """The input under the output's gradient, features and batch of both exchanged."""
    attrs, labels = CustomCall.of(instr), labels_of(instr)
    (x, dy), kernel = (o.shape for o in instr.operands[:2]), results_of(instr)[0]
    exchanged = ConvDims(
        labels.input_feature, labels.input_batch, labels.input_spatial,
        labels.output_batch, labels.output_feature, labels.output_spatial,
        labels.kernel_input_feature, labels.kernel_output_feature, labels.kernel_spatial,
    )  # fmt: skip
    window: list[WindowDim] = []
    for k, forward in enumerate(attrs.window or ()):
        over = WindowDim(
            dy.dims[labels.output_spatial[k]],
            stride=forward.window_dilation,
            pad_low=forward.pad_low,
            window_dilation=forward.stride,
        )
        # As much at the end as makes an element for each of the kernel.
        count = kernel.dims[labels.kernel_spatial[k]]
        needed = (count - 1) * over.stride + over.dilated_size
        behind = needed - over.padded_extent(x.dims[labels.input_spatial[k]])
        window.append(replace(over, pad_high=behind))
    groups = attrs.feature_group_count
    return _convolution(instr, dy, window, exchanged, batch_groups=groups)


@checked(*TARGETS, note="two arrays, for an epilogue a bias and a summand -> one array, memory")
def check_convolution(instr: Instruction, _options: Options | None) -> str:
    """The fault in the operands, the results or the configuration of a convolution."""
    return next(_problems(instr), "")


def _problems(instr: Instruction) -> Iterator[str]:
    target = CustomCall.of(instr).custom_call_target
    shapes = [*(o.shape for o in instr.operands), *results_of(instr)]
    least, most = (3, 4) if target == FUSED else (2, 2)
    if not least <= len(instr.operands) <= most or not all(s.is_array for s in shapes):
        yield f"takes {least} to {most} arrays" if least < most else f"takes {least} arrays"
    yield from problems_of_convolution(instr)
    yield from _problems_of_epilogue(instr, convolution_of(instr), labels_of(instr))


def problems_of_convolution(instr: Instruction) -> Iterator[str]:
    """The faults in a convolution of a call's first two operands, whatever comes after it."""
    attrs, results = CustomCall.of(instr), results_of(instr)
    labels, window = attrs.dim_labels, attrs.window or ()
    shapes = [*(o.shape for o in instr.operands[:2]), results[0]]
    if labels is None:
        yield "needs window and dim_labels"
        return
    rank = 2 + len(labels.input_spatial)
    if any(s.rank != rank for s in shapes) or len(window) != rank - 2:
        yield "has window or dim_labels for other ranks"
    if any(w.base_dilation != 1 for w in window):
        yield "has a base dilation, which cuDNN does not know"
    if wrong := problem_of_types(instr.operands[:2], results[0].element_type):
        yield wrong
    try:
        dims = infer(convolution_of(instr).convolution).dims
    except (HloError, ValueError, TypeError) as error:
        yield f"has window, dim_labels or configuration that do not fit: {reason(error)}"
        return
    if dims != results[0].dims:
        yield f"makes {list(dims)} of its operands, not {show(results[0])}"


def _problems_of_epilogue(
    instr: Instruction, call: CudnnConvolution, labels: ConvDims
) -> Iterator[str]:
    results, bias, side = results_of(instr), instr.operands[2:3], instr.operands[3:]
    dims = results[0].dims
    if call.function not in _FUNCTIONS.values():
        yield f"has the activation_mode {call.function!r}"
    if results[0].element_type.is_integer and (bias or call.scale != 1):
        yield "rounds scaled sums to integers, which only cuDNN's own code defines"
    if bias and bias[0].shape.dims != (dims[labels.output_feature],):
        yield f"can't add {show(bias[0].shape)} along {show(results[0])}"
    if side and side[0].shape.dims != dims:
        yield f"can't add {show(side[0].shape)}"
