"""Batch normalization: its inference, its training and its gradients.

All dimensions but the feature's are summed over. Small floats are computed in f32 and rounded
once.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.fold import added_in_pairs
from interpreter.numbers.widths import narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import BatchNorm
    from hlo.instruction import Instruction

    Array = NDArray[Any]


def _along(feature: Array, attrs: BatchNorm, rank: int) -> Array:
    """A number for each feature, shaped so that it broadcasts to the operand."""
    return np.expand_dims(widened(feature), [d for d in range(rank) if d != attrs.feature_index])


def _others(attrs: BatchNorm, rank: int) -> tuple[int, ...]:
    """The dimensions that are summed over."""
    return tuple(d for d in range(rank) if d != attrs.feature_index)


def _deviation(variance: Array, attrs: BatchNorm) -> Array:
    """The square root of variance + epsilon, in the variance's own type."""
    return np.sqrt(variance + variance.dtype.type(attrs.epsilon))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean over some dimensions, which stay; NaN of no elements, and no warning as NumPy's."""
    count = prod(x.shape[axis] for axis in axes)
    return _sum(x, axes) / x.dtype.type(count)


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    """The sum over some dimensions, which stay."""
    return added_in_pairs(x, axes).sum(axis=axes, keepdims=True)


@evaluates("batch-norm-inference", xla="BatchNormInference")
def evaluate_batch_norm_inference(
    _instr: Instruction,
    attrs: BatchNorm,
    operand: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
) -> Array:
    """Normalise each feature by a given mean and variance.

    Parameters
    ----------
    operand : any rank
    scale, offset, mean, variance : a number for each feature.

    Returns
    -------
    Array
        (operand - mean) / sqrt(variance + epsilon) * scale + offset
    """
    scales, offsets, means, variances = (
        _along(x, attrs, operand.ndim) for x in (scale, offset, mean, variance)
    )
    normal = (widened(operand) - means) / _deviation(variances, attrs)
    return narrowed(normal * scales + offsets, type_of(operand))


@evaluates("batch-norm-training", xla="BatchNormTraining")
def evaluate_batch_norm_training(
    _instr: Instruction, attrs: BatchNorm, operand: Array, scale: Array, offset: Array
) -> tuple[Array, Array, Array]:
    """Normalise each feature by its own mean and variance.

    Returns
    -------
    tuple of Array
        the output, the mean and the variance; the variance is divided by the number of elements,
        not by one less.
    """
    wide, axes = widened(operand), _others(attrs, operand.ndim)
    mean = _mean(wide, axes)
    variance = _mean(np.square(wide - mean), axes)
    normal = (wide - mean) / _deviation(variance, attrs)
    output = normal * _along(scale, attrs, wide.ndim) + _along(offset, attrs, wide.ndim)
    results = (output, mean.squeeze(axes), variance.squeeze(axes))
    operands = (operand, scale, offset)
    output, mean, variance = (
        narrowed(x, type_of(o)) for x, o in zip(results, operands, strict=True)
    )
    return output, mean, variance


@evaluates("batch-norm-grad", xla="BatchNormGrad")
def evaluate_batch_norm_grad(
    _instr: Instruction,
    attrs: BatchNorm,
    operand: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
) -> tuple[Array, Array, Array]:
    """Compute the gradients of batch-norm-training.

    With x the normalised operand and g the gradient of the output, over n elements a feature::

        grad_offset  = sum(g)
        grad_scale   = sum(g x)
        grad_operand = scale / sqrt(variance + epsilon) (g - sum(g) / n - x sum(g x) / n)

    Returns
    -------
    tuple of Array
        the gradients of operand, scale and offset
    """
    axes = _others(attrs, operand.ndim)
    gradient = widened(grad_output)
    scales, means, variances = (_along(x, attrs, operand.ndim) for x in (scale, mean, variance))
    deviation = _deviation(variances, attrs)
    normal = (widened(operand) - means) / deviation
    count = operand.size // max(operand.shape[attrs.feature_index], 1)
    n = gradient.dtype.type(count)
    grad_offset = _sum(gradient, axes)
    grad_scale = _sum(gradient * normal, axes)
    centred = gradient - grad_offset / n - normal * (grad_scale / n)
    grad_operand = scales / deviation * centred
    element_type = type_of(scale)
    return (
        narrowed(grad_operand, type_of(operand)),
        narrowed(grad_scale.squeeze(axes), element_type),
        narrowed(grad_offset.squeeze(axes), element_type),
    )
