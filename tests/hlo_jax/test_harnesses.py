"""The harnesses in JAX's own wheel: functions of `lax` with arguments, on PyHLO and on XLA CPU.

There are thousands, in groups by primitive. One of every fourth group runs always, one of each
group among the slow tests, and all of them with PYHLO_ALL_HARNESSES=1. They run on the interpreter,
or on the engine that PYHLO_HARNESSES_ENGINE names.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

EVERY = 4


def harnesses() -> Iterator[Any]:
    """Parameters: the harnesses that are to run."""
    try:
        from jax._src.internal_test_util import test_harnesses  # noqa: PLC0415
    except ImportError as error:
        reason = f"{error.name} is not installed"
        yield pytest.param(None, marks=pytest.mark.skip(reason=reason))
        return
    groups: dict[str, list[Any]] = {}
    # JAX makes them in the order of sets of types, which another process has in another order.
    for harness in sorted(test_harnesses.all_harnesses, key=lambda each: each.fullname):
        groups.setdefault(harness.group_name, []).append(harness)
    for k, (_name, members) in enumerate(sorted(groups.items())):
        chosen = members if os.environ.get("PYHLO_ALL_HARNESSES") else members[:1]
        marks = [pytest.mark.slow] if k % EVERY or len(chosen) > 1 else []
        for harness in chosen:
            yield pytest.param(harness, marks=marks, id=harness.fullname.replace(" ", "")[:80])


@pytest.mark.parametrize("harness", list(harnesses()))
def test_harness(harness: Any, jax: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = os.environ.get("PYHLO_HARNESSES_ENGINE", "interpreter")
    monkeypatch.setenv("PYHLO_JAX_ENGINE", engine)
    random = np.random.RandomState(0)
    arguments = harness.dyn_args_maker(random)
    try:
        with jax.default_device(jax.devices("cpu")[0]):
            expected = jax.jit(harness.dyn_fun)(*arguments)
    except Exception as error:
        pytest.skip(f"XLA CPU refuses it: {type(error).__name__}")
    found = jax.jit(harness.dyn_fun)(*arguments)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if jax.dtypes.issubdtype(got.dtype, jax.dtypes.prng_key):
            continue
        wide = np.asarray(got), np.asarray(want)
        if got.dtype.kind not in "biufc":  # bfloat16 and the small floats
            wide = wide[0].astype(np.float32), wide[1].astype(np.float32)
        # Where a sum cancels, what is left has the rounding errors of its largest terms.
        largest = np.max(np.abs(wide[1]), initial=0, where=np.isfinite(wide[1]))
        rounding = 2.0**-7 if np.dtype(got.dtype).itemsize < 4 else 2.0**-18
        np.testing.assert_allclose(*wide, rtol=4 * rounding, atol=2 * rounding * largest)
