"""The examples in the docstrings of packages are run."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("package", ["hlo", "interpreter", "optimizer", "emit_c", "emit_cuda"])
def test_examples_show_what_happens(package: str) -> None:
    found = doctest.testmod(import_module(package))
    assert found.attempted >= 4
    assert found.failed == 0
