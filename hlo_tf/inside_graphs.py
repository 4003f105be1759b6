"""Calls of compiled functions from graphs that TensorFlow runs: functions of `tf.function`.

A node calls back into Python, which runs the program. If a tape may ask for its gradient, the node
runs the forward function, whose further results a second node hands to the gradient's program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo_tf import private
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tf.private import Runner


def called_in_graph(concrete: Any, given: Sequence[Any], run: Runner) -> list[Any]:
    """The flat results of a concrete function, as tensors of the graph that is being built.

    Parameters
    ----------
    given : all flat inputs, captured ones last.
    run : runs a flat function of TensorFlow with eager tensors.
    """
    if not private.could_record():
        return _node(concrete.inference_fn, given, run)
    forward, backward, saved = private.forward_and_backward(concrete)
    count = len(private.flat_outputs(concrete.inference_fn))
    trainable = [
        k
        for k, spec in enumerate(private.flat_outputs(concrete.inference_fn))
        if private.is_trainable(spec)
    ]

    # A variable's value stands for it, for tapes know how to go on from there.
    @tf.custom_gradient
    def differentiable(*_values: Any) -> Any:
        results = _node(forward, given, run)

        def gradient(*changes: Any) -> list[Any]:
            more = [results[s] if isinstance(s, int) else s for s in saved]
            return _gradient(backward, [*(changes[k] for k in trainable), *more], run)

        return results[:count], gradient

    found: Any = differentiable(*map(_value, given))
    return tf.nest.flatten(found)


def _value(tensor: Any) -> Any:
    if tensor.dtype != tf.resource:
        return tensor
    return tf.raw_ops.ReadVariableOp(resource=tensor, dtype=private.dtype_of_variable(tensor))


def _gradient(backward: Any, arguments: Sequence[Any], run: Runner) -> list[Any]:
    """The gradient for each input, or None; sparse ones are made dense."""
    flat = _node(backward.inference_fn, arguments, run)
    packed = tf.nest.pack_sequence_as(backward.structured_outputs, flat, expand_composites=True)
    return [None if g is None else tf.convert_to_tensor(g) for g in packed]


def _node(function: Any, arguments: Sequence[Any], run: Runner) -> list[Any]:
    """The results of a node that runs a flat function."""
    outputs = private.flat_outputs(function)

    def called(*tensors: Any) -> list[Any]:
        return list(run(function, tensors))

    results = tf.py_function(called, list(arguments), [spec.dtype for spec in outputs])
    if not outputs:
        return []  # it is an operation then
    for result, spec in zip(results, outputs, strict=True):
        result.set_shape(spec.shape)
    return list(results)
