"""torch, where it is installed: `make frontends` runs these tests with it."""

from typing import Any

import pytest

import hlo_torch


@pytest.fixture
def torch() -> Any:
    """torch, which has compiled nothing yet."""
    module = pytest.importorskip("torch", reason="torch is not installed: make frontends")
    module._dynamo.reset()
    hlo_torch.forget()
    return module
