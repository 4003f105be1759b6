"""Functions that TensorFlow traces give PyHLO's values and XLA's, which are the same."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow: make frontends")

import keras  # noqa: E402
from tf_programs import PROGRAMS  # noqa: E402

import hlo_tf  # noqa: E402

xla = partial(tf.function, jit_compile=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_values_of_xla(name: str) -> None:
    """Each step is run twice, so that variables and states of generators are compared, too."""
    found = []
    for compiled in (hlo_tf.function, xla):
        keras.utils.set_random_seed(0)
        step = PROGRAMS[name](compiled)
        found.append([step(), step()])
    # bf16 keeps three digits of a product.
    loose = 1e-2 if name == "mixed_precision" else 2e-4
    mine, theirs = (list(leaves(value)) for value in found)
    tf.nest.assert_same_structure(found[0], found[1], expand_composites=True)
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=loose, atol=loose / 10)


def leaves(value: Any) -> Iterator[Any]:
    for leaf in tf.nest.flatten(value, expand_composites=True):
        if leaf is not None:
            yield np.asarray(leaf).astype(np.float64) if leaf.dtype == tf.bfloat16 else leaf.numpy()
