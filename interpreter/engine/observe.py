"""Watching an evaluation: keep every value that is computed, and save them.

Anything that takes an `Evaluation` can watch: `evaluate(module, x, observe=print)` prints each one.
A `ValueRecorder` keeps the values under names that say where they arose:

    recorder = Recorder()
    evaluate(module, x, observe=recorder)
    recorder.values["device 0/main/body[2]/add.1"]    # in the third iteration of the loop
    recorder.save("values.npz")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interpreter.engine.frame import Evaluation
    from interpreter.table import Value


def value_path(event: Evaluation) -> str:
    """The path of a value: device, computations with iterations, instruction."""
    path = [c.name if i < 0 else f"{c.name}[{i}]" for c, i in event.path]
    return "/".join([f"device {event.device.number}", *path, event.instr.name])


class ValueRecorder:
    """An observer that keeps every value.

    A computation that one instruction, which is no loop, calls several times leaves the values of
    its last call.

    Attributes
    ----------
    values : by path, in the order in which they arose.
    """

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def __call__(self, event: Evaluation) -> None:
        """Keep one value."""
        self.values[value_path(event)] = event.value

    def save(self, path: str | Path) -> None:
        """Write all arrays to an `.npz` file, under their paths.

        The i-th element of a tuple has `.i` after its path. A type that NumPy has not, such as
        bf16, is written as its bytes, with the type's name in front: `bfloat16:device 0/main/x`.
        """
        arrays: dict[str, Any] = {}
        for name, value in self.values.items():
            for leaf, array in _leaves(name, value):
                known = array.dtype.kind != "V"
                key = leaf if known else f"{array.dtype.name}:{leaf}"
                arrays[key] = array if known else array.view(f"u{array.dtype.itemsize}")
        np.savez(path, **arrays)


def _leaves(name: str, value: Value) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(value, tuple):
        for i, element in enumerate(cast("tuple[Value, ...]", value)):
            yield from _leaves(f"{name}.{i}", element)
    elif value is not None:
        # A view of other bytes needs an array without gaps.
        yield name, np.ascontiguousarray(value).reshape(np.shape(value))
