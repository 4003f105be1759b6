"""PyHLO for TensorFlow: compiled functions, Keras, and auto-clustering.

    import hlo_tf

    @hlo_tf.function
    def step(x, y): ...

`hlo_tf.function` is `tf.function(jit_compile=True)` with PyHLO in place of XLA. The files, each of
which needs only those before it: `tensorflow` and `private` (all that is called of TensorFlow and
is not public), `bridge` (a function becomes a module), `program` (a module becomes a program),
`function` (a program for each signature) and `keras`.
"""

from __future__ import annotations

from hlo_tf.function import TensorFunction, explain, function
from hlo_tf.keras import keras

__all__ = ["TensorFunction", "explain", "function", "keras"]
