"""Windows that move along dimensions of run-time size, with padding that depends on the size.

XLA's bridge from TensorFlow writes them as custom calls. Their windows hold the padding that fits
the bounds; with `padding_type=PADDING_SAME` it is computed again from the actual sizes, so that a
stride of s leaves ceil(n / s) positions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.attributes import Convolution, CustomCall, Windowed
from hlo.wording import counted
from interpreter.convolve import evaluate_convolution
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import checked
from interpreter.windows import evaluate_reduce_window, evaluate_select_and_scatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.values import Window, WindowDim
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Array = NDArray[Any]


@custom_call("DynamicConvolutionForward")
def convolution_forward(_frame: Frame, instr: Instruction, lhs: Array, rhs: Array) -> Value:
    """A convolution of as many positions as the input's size gives.

    References
    ----------
    XLA's dynamic padder, RewriteDynamicConvolutionForward.
    """
    attrs = CustomCall.of(instr)
    labels = _attrs(attrs, ()).dim_labels
    sizes = [lhs.shape[d] for d in labels.input_spatial]
    return evaluate_convolution(instr, _attrs(attrs, _fitted(attrs, sizes)), lhs, rhs)


@custom_call("DynamicConvolutionInputGrad")
def convolution_input_gradient(
    _frame: Frame, instr: Instruction, sizes: Array, gradient: Array, kernel: Array
) -> Value:
    """The gradient of a convolution's input, from its result's.

    Parameters
    ----------
    sizes : s32, the input's, one a dimension.

    References
    ----------
    XLA's dynamic padder, RewriteDynamicConvolutionInputGrad.
    """
    attrs = CustomCall.of(instr)
    labels = _attrs(attrs, ()).dim_labels
    window: list[WindowDim] = []
    for w, d, e in zip(
        attrs.window or (), labels.output_spatial, labels.input_spatial, strict=True
    ):
        n = int(sizes[d])
        extent = (w.size - 1) * w.window_dilation + 1
        low = extent - 1 - _padding_low(attrs, n, w.base_dilation, extent)
        dilated = max(0, (gradient.shape[e] - 1) * w.base_dilation + 1)
        window.append(replace(w, pad_low=low, pad_high=n + extent - 1 - dilated - low))
    return evaluate_convolution(instr, _attrs(attrs, tuple(window)), gradient, kernel)


@custom_call("DynamicConvolutionKernelGrad")
def convolution_kernel_gradient(
    _frame: Frame, instr: Instruction, lhs: Array, gradient: Array
) -> Value:
    """The gradient of a convolution's kernel, from its result's.

    References
    ----------
    XLA's dynamic padder, RewriteDynamicConvolutionKernelGrad.
    """
    attrs = CustomCall.of(instr)
    labels = _attrs(attrs, ()).dim_labels
    window: list[WindowDim] = []
    spatial = zip(labels.input_spatial, labels.kernel_spatial, labels.output_spatial, strict=True)
    for w, (d, e, f) in zip(attrs.window or (), spatial, strict=True):
        n, m, k = lhs.shape[d], gradient.shape[e], instr.shape.dims[f]
        span = (k - 1) * w.stride
        low = _padding_low(attrs, n, w.window_dilation, span + 1)
        high = span + max(0, (m - 1) * w.window_dilation + 1) - n - low
        window.append(replace(w, size=m, pad_low=low, pad_high=high))
    return evaluate_convolution(instr, _attrs(attrs, tuple(window)), lhs, gradient)


@custom_call("DynamicReduceWindowSamePadding")
def reduce_window(frame: Frame, instr: Instruction, operand: Array, initial: Array) -> Value:
    """Reduce the elements in a moving window, at as many positions as the size gives.

    References
    ----------
    XLA's dynamic padder, RewriteDynamicReduceWindowSamePadding.
    """
    window = _fitted(CustomCall.of(instr), operand.shape, same=True)
    return evaluate_reduce_window(frame, instr, Windowed(window=window), operand, initial)


@custom_call("DynamicSelectAndScatterSamePadding")
def select_and_scatter(
    frame: Frame, instr: Instruction, operand: Array, source: Array, initial: Array
) -> Value:
    """Scatter an element for each position of a window to the element selected there.

    References
    ----------
    XLA's dynamic padder, RewriteDynamicSelectAndScatterSamePadding.
    """
    window = _fitted(CustomCall.of(instr), operand.shape, same=True)
    attrs = Windowed(window=window)
    return evaluate_select_and_scatter(frame, instr, attrs, operand, source, initial)


def _fitted(attrs: CustomCall, sizes: Sequence[int], *, same: bool = False) -> Window:
    """The window with the padding that fits some sizes."""
    window: list[WindowDim] = []
    for w, n in zip(attrs.window or (), sizes, strict=True):
        extent = (w.size - 1) * w.window_dilation + 1
        if same or attrs.padding_type == "PADDING_SAME":
            total = _padding_total(n, w.stride, extent)
            window.append(replace(w, pad_low=total // 2, pad_high=total - total // 2))
        else:
            window.append(w)
    return tuple(window)


def _padding_low(attrs: CustomCall, size: int, stride: int, extent: int) -> int:
    """The number of elements that a convolution puts in front of a dimension."""
    same = attrs.padding_type == "PADDING_SAME"
    return _padding_total(size, stride, extent) // 2 if same else 0


def _padding_total(size: int, stride: int, extent: int) -> int:
    """The padding that lets a window of some extent take ceil(size / stride) positions."""
    positions = -(-size // stride)
    return max(0, (positions - 1) * stride + extent - size)


def _attrs(attrs: CustomCall, window: Window) -> Convolution:
    assert attrs.dim_labels
    return Convolution(
        window=window,
        dim_labels=attrs.dim_labels,
        feature_group_count=attrs.feature_group_count,
        batch_group_count=attrs.batch_group_count,
    )


@checked(
    *("DynamicConvolutionForward", "DynamicConvolutionInputGrad", "DynamicConvolutionKernelGrad"),
    note="two arrays of one rank, after s32[rank] sizes in DynamicConvolutionInputGrad",
)
def check_convolution(instr: Instruction, _options: Options | None) -> str:
    """The fault in the ranks of a convolution."""
    attrs = CustomCall.of(instr)
    shapes = [o.shape for o in instr.operands]
    if attrs.custom_call_target == "DynamicConvolutionInputGrad":
        rank = (instr.shape.rank,)
        if len(shapes) != 3 or shapes[0].dims != rank or not shapes[0].element_type.is_integer:
            return f"takes s32[{instr.shape.rank}] sizes, then two arrays"
        shapes = shapes[1:]
    labels, spatial = attrs.dim_labels, instr.shape.rank - 2
    if len(shapes) != 2 or not all(s.is_array and s.rank == spatial + 2 for s in shapes):
        return f"takes two arrays of {spatial + 2} dimensions"
    if labels is None or len(labels.input_spatial) != spatial or len(attrs.window or ()) != spatial:
        return f"needs dim_labels and a window of {spatial} dimensions"
    return ""


@checked("DynamicReduceWindowSamePadding", note="an array and an initial value -> an array")
@checked("DynamicSelectAndScatterSamePadding", note="two arrays and an initial value -> an array")
def check_window(instr: Instruction, _options: Options | None) -> str:
    """The fault in the ranks of arrays over which a window moves."""
    attrs = CustomCall.of(instr)
    shapes = [o.shape for o in instr.operands]
    arrays, initial = shapes[:-1], shapes[-1:]
    count = 1 if attrs.custom_call_target == "DynamicReduceWindowSamePadding" else 2
    rank = instr.shape.rank
    if len(arrays) != count or not all(s.is_array and s.rank == rank for s in arrays):
        return f"takes {counted(count, 'array')} of {rank} dimensions and an initial value"
    if initial[0].rank or len(attrs.window or ()) != rank or len(instr.called) != count:
        return f"needs a scalar, a window of {rank} dimensions and {counted(count, 'computation')}"
    return ""
