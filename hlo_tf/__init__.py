"""PyHLO for TensorFlow: compiled functions, Keras, and auto-clustering.

    import hlo_tf

    @hlo_tf.function
    def step(x, y): ...

`hlo_tf.function` is `tf.function(jit_compile=True)` with PyHLO in place of XLA. The files, each of
which needs only those before it: `tensorflow` and `private` (all that is called of TensorFlow and
is not public), `bridge` (a function becomes a module), `program` (a module becomes a program),
`functions` (a program for each signature), `keras_models`, and `clusters` (a folder).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.support.lazily import names_of

if TYPE_CHECKING:
    from hlo_tf.clusters.run import auto_cluster
    from hlo_tf.functions import TensorFunction, explain, function
    from hlo_tf.keras_models import keras

__all__ = ["TensorFunction", "auto_cluster", "explain", "function", "keras"]

# TensorFlow is imported with the first of them.
__getattr__ = names_of(
    __name__,
    {
        "TensorFunction": "hlo_tf.functions",
        "auto_cluster": "hlo_tf.clusters.run",
        "explain": "hlo_tf.functions",
        "function": "hlo_tf.functions",
        "keras": "hlo_tf.keras_models",
    },
)
