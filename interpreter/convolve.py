"""Convolution, in any number of dimensions.

The input is padded and dilated, its windows become the rows of a matrix (a view, until NumPy
copies it for the product), and the kernel becomes the columns. Groups, of features or of the
batch, are a dimension in front, so one batched matrix product does all of them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hlo.errors.error import HloError
from hlo.types.values import PaddingDim
from interpreter.contract import matrix_product, sum_type
from interpreter.conversion import converted
from interpreter.movement import pad
from interpreter.numbers.widths import widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.attributes import Convolution
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.values import Window

    Array = NDArray[Any]

# Rows of windows are made for so many elements at a time: 256 MB of f32.
CHUNK = 1 << 26


@evaluates("convolution", xla="ConvWithGeneralPadding (convolution)")
def evaluate_convolution(instr: Instruction, attrs: Convolution, lhs: Array, rhs: Array) -> Array:
    """Slide a kernel over an input, with a dot product at every position.

    The kernel is not flipped, unless a window dimension says so. With g feature groups, output
    features are cut into g parts, and each sees its part of the input features. With g batch
    groups the batch is cut, and each part has its own output features.

    Parameters
    ----------
    lhs : the input; dimensions as `dim_labels` say.
    rhs : the kernel.

    Returns
    -------
    Array
        spatial sizes di' = window[i].positions(di)

    Raises
    ------
    HloError
        HLO100 for a sparse operand, which is a tuple; one that is an array is whole.
    """
    if isinstance(lhs, tuple) or isinstance(rhs, tuple):
        message = f"{instr.name}: cannot evaluate a convolution with sparsity_config"
        raise HloError("HLO100", message, instr.span)
    labels, window = attrs.dim_labels, attrs.window
    pairs = zip(labels.kernel_spatial, window, strict=True)
    flipped = tuple(d for d, w in pairs if w.reversal)
    # Unknown dimensions have size 1 and no role: they come last and are dropped.
    inputs = lhs.transpose(
        (labels.input_batch, labels.input_feature, *labels.input_spatial, *labels.unknown_input)
    )
    kernel = np.flip(rhs, flipped).transpose(
        (
            labels.kernel_output_feature,
            labels.kernel_input_feature,
            *labels.kernel_spatial,
            *labels.unknown_kernel,
        )
    )
    spatial = slice(2, 2 + len(window))
    inputs = inputs.reshape(*inputs.shape[:2], *inputs.shape[spatial])
    kernel = kernel.reshape(*kernel.shape[:2], *kernel.shape[spatial])
    groups = max(attrs.feature_group_count, attrs.batch_group_count)
    grouped = _grouped(inputs, 0 if attrs.batch_group_count > 1 else 1, groups)
    target = instr.shape.element_type
    between = sum_type(lhs, rhs, target)
    result = _convolve(grouped, _grouped(kernel, 0, groups), window, between)
    result = result if between is target else converted(result, target)
    # (group, batch, spatial, feature) to (batch, group and feature, spatial)
    result = np.moveaxis(result, [0, -1], [1, 2])
    result = result.reshape(result.shape[0], groups * result.shape[2], *result.shape[3:])
    order = (labels.output_batch, labels.output_feature, *labels.output_spatial)
    result = np.expand_dims(result, tuple(range(result.ndim, lhs.ndim)))
    return result.transpose(np.argsort((*order, *labels.unknown_output)))


def _grouped(array: Array, axis: int, groups: int) -> Array:
    """Cut an axis into groups, which become the first dimension."""
    dims = array.shape
    size = dims[axis] // groups
    cut = array.reshape(*dims[:axis], groups, size, *dims[axis + 1 :])
    return np.moveaxis(cut, axis, 0)


def _convolve(inputs: Array, kernel: Array, window: Window, result: ElementType) -> Array:
    """Convolve groups.

    Parameters
    ----------
    inputs : shape (g, n, c, spatial)
    kernel : shape (g, o, c, window)

    Returns
    -------
    Array
        shape (g, n, spatial, o)
    """
    # NumPy cannot make strided views of every narrow type.
    inputs = widened(inputs)
    g, n, c, *sizes = inputs.shape
    none = (PaddingDim(0, 0),) * 3
    padding = tuple(PaddingDim(w.pad_low, w.pad_high, w.base_dilation - 1) for w in window)
    windows = _windows(pad(inputs, np.zeros((), inputs.dtype), none + padding), window, sizes)
    counts, window_sizes = windows.shape[2 : 2 + len(window)], [w.size for w in window]
    depth = c * prod(window_sizes)
    features = kernel.shape[1]
    columns = kernel.reshape(g, features, depth).transpose(0, 2, 1)
    positions = prod(counts)
    exists = None if np.isfinite(kernel).all() else _exists(padding, window, sizes)
    chunk = max(1, CHUNK // max(1, g * positions * depth))
    products = np.empty((g, n, positions, features), result.dtype)
    for i in range(0, n, chunk):
        rows = windows[:, i : i + chunk]
        matrix = rows.reshape(g, rows.shape[1] * positions, depth)
        product = matrix_product(matrix, columns, result, exists)
        products[:, i : i + chunk] = product.reshape(g, rows.shape[1], positions, features)
    return products.reshape(g, n, *counts, features)


def _windows(padded: Array, window: Window, sizes: Sequence[int]) -> Array:
    """The elements under a window, at each of its positions.

    Parameters
    ----------
    padded : shape (g, n, c, padded sizes)
    sizes : without padding.

    Returns
    -------
    Array
        shape (g, n, positions, c, window), a view
    """
    counts = [w.positions(size) for w, size in zip(window, sizes, strict=True)]
    steps = padded.strides[3:]
    return as_strided(
        padded,
        (*padded.shape[:2], *counts, padded.shape[2], *(w.size for w in window)),
        (
            *padded.strides[:2],
            *(s * w.stride for s, w in zip(steps, window, strict=True)),
            padded.strides[2],
            *(s * w.window_dilation for s, w in zip(steps, window, strict=True)),
        ),
        writeable=False,
    )


def _exists(padding: tuple[PaddingDim, ...], window: Window, sizes: Sequence[int]) -> Array:
    """A mask of the window's elements that lie in the input, not in its padding.

    What lies in the padding or between dilated elements is skipped, as XLA's CPU backend does where
    it does not call Eigen: times infinity it would be NaN.

    Returns
    -------
    Array
        shape (positions, window), pred
    """
    padded = pad(np.ones(sizes, np.bool_), np.zeros((), np.bool_), padding)
    seen = _windows(padded[np.newaxis, np.newaxis, np.newaxis], window, sizes)
    return seen.reshape(-1, prod(w.size for w in window))
