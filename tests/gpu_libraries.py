"""Modules of one call of a GPU's library, as XLA writes them: run, expanded, and refused."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import hlo
import interpreter
from hlo.errors.error import HloError
from optimizer import Log, parse_pipeline


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a value."""
    if not isinstance(value, tuple):
        return [value]
    return [array for part in cast("tuple[Any, ...]", value) for array in flat(part)]


def run(text: str, *arguments: np.ndarray, tolerance: float = 1e-6) -> list[np.ndarray]:
    """The results of a module; with dots and convolutions in place of calls it has the same.

    Parameters
    ----------
    tolerance : as a part of the largest number of each result.
    """
    module = hlo.parse(text)
    expanded = parse_pipeline("custom-call-expander").run(module, Log())
    targets = [i.attrs for i in expanded.instructions() if i.opcode == "custom-call"]
    assert not targets
    expected = flat(interpreter.evaluate(module, *arguments))
    expect_close(flat(interpreter.evaluate(expanded, *arguments)), expected, tolerance)
    return expected


def expect_close(results: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    """Fail if numbers differ by more than a part of the largest one."""
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        wide = wanted.astype(np.complex128)
        largest = np.max(np.abs(wide), initial=0)
        assert np.max(np.abs(result.astype(np.complex128) - wide), initial=0) <= tolerance * largest


def expect_refused(text: str, message: str) -> None:
    """Fail unless the interpreter says why the one call of a module does not fit."""
    module = hlo.parse(text)
    arguments = [
        np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters
    ]
    with pytest.raises(HloError, match=f"HLO122.*{message}"):
        interpreter.evaluate(module, *arguments)
