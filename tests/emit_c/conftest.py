"""Fixtures of several tests of compiled code."""

import pytest

from emit_c.code import processor
from emit_c.executable import calling
from emit_c.executable import runtime as runtimes


@pytest.fixture(params=["trampoline", "ctypes"])
def way(request, monkeypatch):
    """Both ways into C."""
    found = runtimes.runtime()
    if request.param == "ctypes":
        without = runtimes.Runtime(found.threads, None)
        monkeypatch.setattr(calling, "runtime", lambda: without)
    elif found.trampoline is None:
        pytest.skip("Python.h is missing")
    return request.param


@pytest.fixture
def wide(monkeypatch):
    """Emit code for vectors of 64 bytes, by which tiles are chosen, whatever this processor has."""
    monkeypatch.setattr(processor, "here", lambda: processor.Processor(64, 32, sums_bytes=False))
