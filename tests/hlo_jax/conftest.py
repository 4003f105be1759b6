"""JAX with PyHLO as its first backend, and XLA's CPU backend beside it."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

# JAX reads these when it is imported, which harnesses are while tests are being collected.
os.environ.update(JAX_PLATFORMS="pyhlo,cpu", PYHLO_JAX_DEVICES="4")

ENGINES = ("interpreter", "c")


@pytest.fixture(scope="session")
def jax() -> Iterator[Any]:
    """JAX on PyHLO; tests that need it are skipped where it is not installed."""
    module = pytest.importorskip("jax", reason="jax is not installed: pip install 'pyhlo[jax]'")
    assert module.default_backend() == "pyhlo"
    return module


@pytest.fixture(scope="session")
def jnp(jax: Any) -> Any:
    return jax.numpy


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, jax: Any) -> str:
    """Every engine in turn; what was compiled before is forgotten."""
    monkeypatch.setenv("PYHLO_JAX_ENGINE", request.param)
    jax.clear_caches()
    return request.param
