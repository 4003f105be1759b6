"""Keras models whose training, evaluation and prediction steps PyHLO compiles."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from hlo_tf.functions import TensorFunction
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def keras(model: Any) -> Any:
    """Let `fit`, `evaluate` and `predict` of a model run its steps in PyHLO.

    Each step is compiled as with `model.compile(jit_compile=True)`: for each shape of a batch, or
    an error that names the operation. `model.pyhlo_steps` has the compiled functions by their
    names `train`, `test` and `predict`, with `explain`.

    Parameters
    ----------
    model : of Keras 3 on TensorFlow, also with a `train_step` of its own; compiled or not.

    Returns
    -------
    keras.Model
        the same model.
    """
    model.pyhlo_steps = {}
    model.make_train_function = lambda force=False: _make(model, "train", force=force)
    model.make_test_function = lambda force=False: _make(model, "test", force=force)
    model.make_predict_function = lambda force=False: _make(model, "predict", force=force)
    for name in ("train", "test", "predict"):
        setattr(model, f"{name}_function", None)
    return model


def _make(model: Any, name: str, *, force: bool) -> Any:
    made = getattr(model, f"{name}_function")
    if made is not None and not force:
        return made
    if model.distribute_strategy.num_replicas_in_sync > 1:
        text = "a model for several devices can't be compiled by hlo_tf.keras"
        raise tf.errors.UnimplementedError(None, None, text)
    step = TensorFunction(_step(model, name), reduce_retracing=True)
    model.pyhlo_steps[name] = step
    made = _predicted(step) if name == "predict" else _repeated(model, step)
    setattr(model, f"{name}_function", made)
    return made


def _step(model: Any, name: str) -> Callable[[Any], Any]:
    """The model's step for one batch, under the name that errors tell."""
    of_model = getattr(model, f"{name}_step")

    def step(data: Any) -> Any:
        return of_model(data)

    step.__name__ = step.__qualname__ = f"{name}_step"
    return tf.autograph.experimental.do_not_convert(step)


def _repeated(model: Any, step: TensorFunction) -> Callable[[Any], Any]:
    """The steps of one execution, as Keras calls them: the logs of the last are returned."""

    def steps(iterator: Iterable[Any]) -> Any:
        logs: Any = None
        for data in islice(iterator, model.steps_per_execution):
            logs = step(data)
        if logs is None:
            raise StopIteration
        return logs

    return steps


def _joined(*parts: Any) -> Any:
    return tf.concat(parts, 0)


def _predicted(step: TensorFunction) -> Callable[[Any], Any]:
    """The predictions for several batches, one after the other."""

    def predictions(batches: Iterable[Any]) -> Any:
        found = [step(data) for data in batches]
        return tf.nest.map_structure(_joined, *found)

    return predictions
